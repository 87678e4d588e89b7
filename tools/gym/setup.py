"""Makes the wheel one for a platform and for all Pythons whose extension scripts/gym built."""

from __future__ import annotations

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class _Distribution(Distribution):
    def has_ext_modules(self) -> bool:
        """Whether the files are for one platform."""
        return True


class _BdistWheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        """The extensions of several Pythons are in one wheel, side by side."""
        return ("py3", "none", super().get_tag()[2])


setup(distclass=_Distribution, cmdclass={"bdist_wheel": _BdistWheel})
