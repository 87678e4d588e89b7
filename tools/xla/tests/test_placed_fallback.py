"""A placed executable that does not fit, or is damaged, gives way to the function.

The tests use CPU devices. The placed executable is that of another function, so the result shows
which one runs.
"""

from __future__ import annotations

import pathlib
import warnings
import zipfile
from typing import Any

import pytest
from placed_world import (
    add,
    multiply,
    needs_jax,
    on_cpu,
    placed_add,
    shape,
    swapped,
    threes,
    traced_and_compiled,
)

from mallocmuzero_xla import FallbackWarning, PlacedError, load_placed
from mallocmuzero_xla.compiler.placed_payload import raw_executable
from mallocmuzero_xla.placed.packing import pack

pytestmark = needs_jax


@pytest.fixture(autouse=True)
def cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu(monkeypatch)
    warnings.simplefilter("error", FallbackWarning)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "f.placed"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"versions": {"jax": "0.0.1"}}, r"made with jax 0\.0\.1, here is \d.*: install that"),
        ({"versions": {"libtpu": "0.0.1"}}, r"made with libtpu 0\.0\.1, here is none"),
        ({"platform": "tpu", "versions": {}}, "no tpu here"),
        ({"device_kind": "TPU v6 lite"}, "placed for TPU v6 lite, here is cpu"),
        ({"devices": [{"id": 17}]}, "placed for device 17, which this process does not have"),
        (
            {"devices": [{"id": n, "coords": [n], "core_on_chip": 0} for n in (0, 1)]},
            ".*here it is",
        ),
        ({"text_sha256": "0"}, "the function, or its jit options, are not those"),
    ],
)
def test_what_does_not_fit_is_run_by_the_function_with_one_warning(
    path: pathlib.Path, changes: dict[str, Any], reason: str
) -> None:
    placed_add(path, **changes)
    with pytest.warns(FallbackWarning, match=f"^add: {reason}") as caught:
        call = load_placed(path, add)
        assert call(threes(), threes()).tolist() == [6.0] * 4
        assert call(threes(3), threes(3)).tolist() == [6.0] * 3
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert call.compiled is None
    if "text_sha256" not in changes:
        with pytest.raises(PlacedError, match=reason):
            load_placed(path)


def test_compiler_of_another_build_is_another_compiler(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed_add(path, build="cl/1")
    monkeypatch.setattr("mallocmuzero_xla.placed.loading.build_of", lambda _: "cl/2")
    with pytest.raises(PlacedError, match="made by a compiler built from cl/1, here is cl/2"):
        load_placed(path)


def test_function_that_has_changed_is_run_as_it_is_now(path: pathlib.Path) -> None:
    placed_add(path)
    subtract: Any = lambda x, y: x - y  # noqa: E731
    with pytest.warns(FallbackWarning, match="are not those that were placed"):
        assert load_placed(path, subtract)(threes(), threes()).tolist() == [0.0] * 4
    assert load_placed(path, subtract, check=False)(threes(), threes()).tolist() == [9.0] * 4


def test_arguments_in_other_layouts_are_refused(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jax._src.layout import Layout

    placed_add(path)
    column = Layout(major_to_minor=(1, 0), tiling=((8, 128),))
    monkeypatch.setattr(Layout, "from_pjrt_layout", lambda _: column)
    with pytest.raises(PlacedError, match=r"has its arguments in .*1, 0.*, expected "):
        load_placed(path)


def cut(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def flip(path: pathlib.Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def replace_call(path: pathlib.Path) -> None:
    with zipfile.ZipFile(path) as archive:
        header = archive.read("header.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", header)
        archive.writestr("call.pickle", b"something else")


def raise_format(path: pathlib.Path) -> None:
    with zipfile.ZipFile(path) as archive:
        header, call = archive.read("header.json"), archive.read("call.pickle")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", header.replace(b'"format": 2', b'"format": 3'))
        archive.writestr("call.pickle", call)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut, "not a placed executable, or damaged"),
        (flip, "damaged"),
        (replace_call, "call.pickle is not what was written"),
        (raise_format, "has format 3, expected 2"),
        (pathlib.Path.unlink, "no such file"),
    ],
)
def test_damaged_file_is_not_unpickled(path: pathlib.Path, damage: Any, reason: str) -> None:
    placed_add(path)
    damage(path)
    with pytest.warns(FallbackWarning, match=reason) as caught:
        call = load_placed(path, add)
    assert len(caught) == 1
    assert call(threes(), threes()).tolist() == [6.0] * 4
    with pytest.raises(PlacedError, match=reason) as error:
        load_placed(path)
    assert str(error.value).count(str(path)) == 1


def test_executable_that_the_runtime_refuses_is_a_reason(path: pathlib.Path) -> None:
    traced, compiled = traced_and_compiled(add, (shape(4), shape(4)))
    own = raw_executable(compiled)
    pack(traced, compiled, own[: len(own) // 2], "tpu_v6e", {}).write(path)
    with pytest.warns(FallbackWarning, match="add: cannot be loaded: "):
        call = load_placed(path, add)
    assert call(threes(), threes()).tolist() == [6.0] * 4


def test_function_that_returns_another_tree_is_another_function(path: pathlib.Path) -> None:
    # The text of the program has no None, so that it is the same.
    def returning(tree: Any, operation: Any) -> Any:
        def step(x: Any, y: Any) -> Any:
            return tree(operation(x, y))

        return step

    before = returning(lambda result: (result,), add)
    other = returning(lambda result: (result,), multiply)
    swapped(before, other, (shape(4), shape(4))).write(path)
    assert load_placed(path, before)(threes(), threes())[0].tolist() == [9.0] * 4
    after = returning(lambda result: (result, None), add)
    with pytest.warns(FallbackWarning, match="returns its results in another tree"):
        call = load_placed(path, after)
    assert len(call(threes(), threes())) == 2
