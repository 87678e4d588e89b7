"""The packages of mallocmuzero_xla have an order, which docs/architecture.md lists."""

from __future__ import annotations

import ast
import pathlib

import pytest

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "src" / "mallocmuzero_xla"

# Each package imports those before it. Modules that are in no package import no package.
ORDER = ("", "compiler", "captures", "artefacts", "placed", "runtime", "search", "commands")

MODULES = sorted(
    path.relative_to(SOURCES)
    for path in SOURCES.rglob("*.py")
    if path.name not in ("__init__.py", "__main__.py")
)


def package_of(path: pathlib.Path) -> str:
    """Returns the package of a module, by its path below SOURCES."""
    return "" if path.parent == pathlib.Path() else path.parts[0]


def imported(source: str) -> set[str]:
    """Returns the packages that a module imports, also within functions."""
    packages: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            first, *rest = node.module.split(".")
            if first == "mallocmuzero_xla":
                names = rest[:1] or [name.name for name in node.names]
                packages.update(name for name in names if name in ORDER)
    return packages


def test_each_module_is_in_a_known_package() -> None:
    assert {package_of(path) for path in MODULES} == set(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_imports_no_later_package(path: pathlib.Path) -> None:
    later = set(ORDER[ORDER.index(package_of(path)) + 1 :])
    assert not imported((SOURCES / path).read_text()) & later


def test_imports_within_functions_count() -> None:
    source = "def f():\n    from mallocmuzero_xla.search.optimize import optimize\n"
    assert imported(source) == {"search"}
    assert imported("from mallocmuzero_xla import commands, errors\n") == {"commands"}
