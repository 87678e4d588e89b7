"""A registry is captured in the requested order, and a second run continues the first."""

from __future__ import annotations

import dataclasses
import json
import pathlib

import pytest
from capture_zoo import ZooRequest, capture_zoo
from conftest import FakeCompiler
from mallocmuzero_xla.captures.runner import Limits
from mallocmuzero_xla.chips import CHIPS
from mallocmuzero_xla.compiler.variants import parse_variants
from mallocmuzero_xla.errors import UsageError

REGISTRY = """
import types
def program(name, *chips):
    return types.SimpleNamespace(name=name, chips=chips, donate_argnums=(), build=None)
PROGRAMS = {p.name: p for p in (
    program("gpt_a", "tpu_v4i"), program("gpt_b", "tpu_v4i", "tpu_v5e"), program("net", "tpu_v5e"))}
"""


@pytest.fixture
def registry(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setattr("capture_zoo.prepare_environment", lambda: None)
    package = tmp_path / "three_program_zoo"
    package.mkdir()
    (package / "__init__.py").write_text(REGISTRY, encoding="utf-8")
    return package


def request(registry: pathlib.Path, variant_major: bool = False, *only: str) -> ZooRequest:
    return ZooRequest(
        registry=registry,
        chip=CHIPS["tpu_v4i"],
        output=registry.parent / "corpus",
        variants=parse_variants("all_hbm,default"),
        only=only,
        variant_major=variant_major,
    )


def test_programs_of_the_chip_are_captured_one_after_the_other(
    registry: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({})
    assert capture_zoo(request(registry), Limits()) == {}
    assert log.read_text(encoding="utf-8").split() == 2 * ["lower", "all_hbm", "default"]
    corpus = registry.parent / "corpus"
    assert sorted(path.name for path in corpus.iterdir()) == ["gpt_a", "gpt_b"]
    assert (corpus / "gpt_a" / "default.hlo.zst").is_file()


def test_variant_major_order_lowers_each_program_once(
    registry: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({})
    capture_zoo(request(registry, True), Limits())
    expected = ["lower", "all_hbm", "lower", "all_hbm", "default", "default"]
    assert log.read_text(encoding="utf-8").split() == expected


def test_patterns_select_programs(registry: pathlib.Path, fake_compiler: FakeCompiler) -> None:
    fake_compiler({})
    capture_zoo(request(registry, False, "*_b", "x*"), Limits())
    assert [path.name for path in (registry.parent / "corpus").iterdir()] == ["gpt_b"]


def test_folder_of_another_chip_is_refused_and_keeps_its_texts(
    registry: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({})
    capture_zoo(request(registry), Limits())
    log.unlink()
    files = {path: path.read_bytes() for path in (registry.parent / "corpus").rglob("*.*")}
    other = dataclasses.replace(request(registry), chip=CHIPS["tpu_v5e"])
    with pytest.raises(UsageError, match="gpt_b: holds the texts of gpt_b for tpu_v4i"):
        capture_zoo(other, Limits())
    assert {path: path.read_bytes() for path in (registry.parent / "corpus").rglob("*.*")} == files
    assert not log.exists()


def test_complete_programs_are_not_lowered_again(
    registry: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    log = fake_compiler({})
    capture_zoo(request(registry), Limits())
    log.unlink()
    assert capture_zoo(request(registry), Limits()) == {}
    assert not log.exists()


def test_failures_name_program_and_variant_and_spare_the_others(
    registry: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    fake_compiler({"lower": ["abort", "ok"]})
    failures = capture_zoo(request(registry), Limits())
    assert set(failures) == {"gpt_a"}
    assert set(failures["gpt_a"]) == {"all_hbm", "default"}


def test_program_that_cannot_be_lowered_is_reported_once(
    registry: pathlib.Path, fake_compiler: FakeCompiler, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_compiler({"lower": ["error", "ok"]})
    failures = capture_zoo(request(registry), Limits())
    assert failures == {"gpt_a": {"all_hbm": "made up", "default": "made up"}}
    lines = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["gpt_a: made up", "gpt_b all_hbm", "gpt_b default"]
    assert not (registry.parent / "corpus" / "gpt_a").exists()


def test_pattern_that_matches_nothing_is_a_usage_error(
    registry: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    fake_compiler({})
    with pytest.raises(UsageError, match="is for tpu_v4i and matches net"):
        capture_zoo(request(registry, False, "net"), Limits())


def test_program_of_several_devices_is_captured_for_its_topology(
    registry: pathlib.Path, fake_compiler: FakeCompiler
) -> None:
    fake_compiler({})
    package = registry.with_name("sharded_program_zoo")  # python imports each name once
    package.mkdir()
    sharded = "PROGRAMS['gpt_b'].sharding = types.SimpleNamespace(topologies={'tpu_v4i': 'four'})"
    (package / "__init__.py").write_text(f"{REGISTRY}{sharded}\n", encoding="utf-8")
    assert capture_zoo(request(package), Limits()) == {}
    captured = [
        json.loads((package.parent / "corpus" / name / "capture.json").read_text())["topology"]
        for name in ("gpt_a", "gpt_b")
    ]
    assert captured == [CHIPS["tpu_v4i"].topology_name, "four"]
