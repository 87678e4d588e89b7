"""Makes the wheel one for a platform and for the Pythons whose extension scripts/gym built."""

from __future__ import annotations

import pathlib

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

# Such as _game.cpython-311-x86_64-linux-gnu.so.
_PACKAGE = pathlib.Path(__file__).parent / "src" / "mallocmuzero_gym"
_EXTENSIONS = list(_PACKAGE.glob("_game.cpython-*.so"))


class _Distribution(Distribution):
    def has_ext_modules(self) -> bool:
        """Whether the files are for one platform."""
        return True


class _BdistWheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        """The extensions of several Pythons are in one wheel, side by side.

        An editable installation has none, and finds those of build/python.
        """
        pythons = sorted({"cp" + each.name.split("-")[1] for each in _EXTENSIONS})
        return (".".join(pythons) or "py3", "none", super().get_tag()[2])


setup(distclass=_Distribution, cmdclass={"bdist_wheel": _BdistWheel})
