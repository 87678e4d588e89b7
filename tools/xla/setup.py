"""Makes the wheel one for a platform if it holds the binary, which scripts/wheel adds."""

from __future__ import annotations

import pathlib

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

_BINARY = pathlib.Path(__file__).parent / "src" / "mallocmuzero_xla" / "bin" / "mallocmuzero"


class _BdistWheel(bdist_wheel):
    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = not _BINARY.is_file()

    def get_tag(self) -> tuple[str, str, str]:
        """Any Python 3: the binary does not link Python."""
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"bdist_wheel": _BdistWheel})
