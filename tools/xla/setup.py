"""Makes the wheel one for a platform if it holds the binary, which scripts/wheel adds."""

from __future__ import annotations

import pathlib

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

_BINARY = pathlib.Path(__file__).parent / "src" / "mallocmuzero_xla" / "bin" / "mallocmuzero"


class _Distribution(Distribution):
    def has_ext_modules(self) -> bool:
        """Whether the files are for one platform."""
        return _BINARY.is_file()


class _BdistWheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        """Any Python 3: the binary does not link Python."""
        return ("py3", "none", super().get_tag()[2])


setup(distclass=_Distribution, cmdclass={"bdist_wheel": _BdistWheel})
