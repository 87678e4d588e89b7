"""MODULE:FUNCTION and registries are found, and a wrong name gives a clear error."""

from __future__ import annotations

import dataclasses
import pathlib
import sys

import pytest

from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.builders import build_function, build_registered, load_registry
from mallocmuzero_xla.errors import UsageError

MODEL = """
def f(x):
    return x
def plain():
    return f, (1, 2)
def donating():
    return f, [1], {"donate_argnums": 0}
def wrong():
    return f
def wrong_args():
    return f, 1
def number_for_options():
    return f, (1,), 5
def list_for_options():
    return f, (1,), ["abc"]
def unnamed_option():
    return f, (1,), {0: "donate_argnums"}
"""

REGISTRY = """
import types
def f(x):
    return x
PROGRAMS = {"{name}": types.SimpleNamespace(
    name="{name}", chips=("tpu_v4i",), donate_argnums=(0,), build=lambda: (f, (3,)))}
"""

SHARDED = """
PROGRAMS["p"].sharding = types.SimpleNamespace(topologies={})
PROGRAMS["p"].build_over = lambda devices: (f, tuple(devices), {"out_shardings": 5})
"""


@pytest.fixture
def model(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "a_model.py"
    path.write_text(MODEL, encoding="utf-8")
    return str(path)


def test_builder_in_a_file_gives_function_and_arguments(model: str) -> None:
    built = build_function(f"{model}:plain")
    assert built.fn(5) == 5
    assert (built.args, built.jit_options) == ((1, 2), {})


def test_builder_may_give_jit_options(model: str) -> None:
    built = build_function(f"{model}:donating")
    assert (built.args, built.jit_options) == ((1,), {"donate_argnums": 0})


def test_builder_in_a_module_of_the_working_folder_is_found(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pathlib.Path(model).parent)
    assert build_function("a_model:plain").args == (1, 2)


def test_file_takes_the_place_of_no_module_of_python(tmp_path: pathlib.Path) -> None:
    (tmp_path / "types.py").write_text(MODEL, encoding="utf-8")
    with pytest.raises(UsageError, match=r"types\.py: Python has a module types: rename the file"):
        build_function(f"{tmp_path / 'types.py'}:build")
    assert hasattr(sys.modules["types"], "ModuleType")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no_colon", "expected MODULE:FUNCTION"),
        (":f", "expected MODULE:FUNCTION"),
        ("m:", "expected MODULE:FUNCTION"),
        ("/nowhere/m.py:f", "no such file"),
        ("no_such_module_anywhere:f", "cannot import 'no_such_module_anywhere'"),
        ("{folder}:f", "a folder; expected a file such as model.py"),
        ("{model}:absent", "has no function 'absent'"),
        ("{model}:wrong", r"must return \(fn, args\)"),
        ("{model}:wrong_args", "args must be a tuple, not int"),
        ("{model}:number_for_options", "jit_options must be a dictionary .*, not 5"),
        ("{model}:list_for_options", "jit_options must be a dictionary .*, not .'abc'"),
        ("{model}:unnamed_option", "jit_options must be a dictionary .*, not {0: "),
    ],
)
def test_wrong_references_are_usage_errors(
    model: str, monkeypatch: pytest.MonkeyPatch, reference: str, message: str
) -> None:
    folder = pathlib.Path(model).parent / "a_folder_of_files"
    folder.mkdir()
    monkeypatch.chdir(folder.parent)
    with pytest.raises(UsageError, match=message):
        build_function(reference.replace("{model}", model).replace("{folder}", folder.name))


def test_registered_program_carries_its_donated_arguments(tmp_path: pathlib.Path) -> None:
    package = tmp_path / "one_program_zoo"
    package.mkdir()
    (package / "__init__.py").write_text(REGISTRY.replace("{name}", "p"), encoding="utf-8")
    assert list(load_registry(str(package))) == ["p"]
    built = build_registered(str(package), "p", CHIPS["tpu_v6e"])
    assert (built.args, built.jit_options) == ((3,), {"donate_argnums": (0,)})


def test_registered_program_of_several_devices_is_built_over_those_of_the_topology(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chip = dataclasses.replace(CHIPS["tpu_v6e"], topology_name="v6e:2x4")
    monkeypatch.setattr(
        "mallocmuzero_xla.compiler.builders.chip_devices", lambda of: [of.topology_name] * 8
    )
    package = tmp_path / "sharded_zoo"
    package.mkdir()
    sharded = REGISTRY.replace("{name}", "p") + SHARDED
    (package / "__init__.py").write_text(sharded, encoding="utf-8")
    built = build_registered(str(package), "p", chip)
    assert built.args == tuple(["v6e:2x4"] * 8)
    assert built.jit_options == {"donate_argnums": (0,), "out_shardings": 5}


def test_folder_that_is_no_package_is_a_usage_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match="expected the folder of a Python package"):
        load_registry(str(tmp_path))


def test_package_without_programs_is_a_usage_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "empty_zoo").mkdir()
    (tmp_path / "empty_zoo" / "__init__.py").touch()
    with pytest.raises(UsageError, match="has no dictionary PROGRAMS"):
        load_registry(str(tmp_path / "empty_zoo"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def build(): raise ValueError('no weights')", "a_model.py:build: ValueError: no weights"),
        ("def build(:", "a_model.py: SyntaxError"),
        ("import not_there", "a_model.py: ModuleNotFoundError"),
        ("import sys; sys.exit(0)", r"a_model.py: ends the process \(sys.exit\(0\)\): guard"),
        ("def build(): exit()", r"a_model.py:build: ends the process \(sys.exit\(None\)\)"),
    ],
)
def test_what_a_users_model_raises_is_one_line(
    tmp_path: pathlib.Path, source: str, message: str
) -> None:
    path = tmp_path / "a_model.py"
    path.write_text(source, encoding="utf-8")
    with pytest.raises(UsageError, match=message) as raised:
        build_function(f"{path}:build")
    assert "\n" not in str(raised.value)


def test_program_that_is_not_in_the_registry_is_a_usage_error(tmp_path: pathlib.Path) -> None:
    package = tmp_path / "zoo_without"
    package.mkdir()
    (package / "__init__.py").write_text("PROGRAMS = {}", encoding="utf-8")
    with pytest.raises(UsageError, match="zoo_without: no program 'nosuch'"):
        build_registered(str(package), "nosuch", CHIPS["tpu_v6e"])


def test_package_that_cannot_be_imported_is_a_usage_error(tmp_path: pathlib.Path) -> None:
    package = tmp_path / "zoo_broken"
    package.mkdir()
    (package / "__init__.py").write_text("1 / 0", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot import 'zoo_broken': ZeroDivisionError"):
        load_registry(str(package))
