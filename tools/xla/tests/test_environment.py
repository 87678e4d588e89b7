"""The environment is prepared for ahead-of-time compiles, and nothing else changes."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import sys
import tomllib

import pytest

from mallocmuzero_xla import environment
from mallocmuzero_xla.commands import cli
from mallocmuzero_xla.environment import recorded_settings
from mallocmuzero_xla.errors import MissingCompilerError

NAME = "TPU_ACCELERATOR_TYPE"

REQUIRE = environment.require_compiler


@pytest.fixture(autouse=True)
def devices(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A machine's devices, and an environment that a test cannot leave its settings in."""
    monkeypatch.setattr(environment, "require_compiler", lambda: None)
    monkeypatch.setattr(environment, "_DEVICES", tmp_path)
    monkeypatch.setattr(os, "environ", {})
    return tmp_path


def test_machine_without_a_tpu_is_given_a_type_that_libtpu_knows() -> None:
    environment.prepare_environment()
    assert os.environ[NAME] == "v4-8"
    assert environment.child_environment()[NAME] == "v4-8"


@pytest.mark.parametrize("device", ["accel0", "vfio/0"])
def test_machine_with_a_tpu_is_given_none(devices: pathlib.Path, device: str) -> None:
    (devices / device).parent.mkdir(exist_ok=True)
    (devices / device).touch()
    environment.prepare_environment()
    assert NAME not in os.environ


def test_program_on_a_tpu_host_still_finds_its_other_hosts(devices: pathlib.Path) -> None:
    (devices / "accel0").touch()
    environment.prepare_environment()
    # jax.distributed.initialize() takes the first as a sign that there is no metadata service, and
    # the second as the list of the program's hosts.
    names = ("TPU_SKIP_MDS_QUERY", "TPU_WORKER_HOSTNAMES")
    assert not set(names) & set(os.environ)
    # A compile process has no other hosts.
    assert [environment.child_environment()[name] for name in names] == ["1", "localhost"]


def test_machine_without_a_tpu_is_not_asked_for_metadata() -> None:
    environment.prepare_environment()
    assert os.environ["TPU_SKIP_MDS_QUERY"] == "1"
    assert os.environ["TPU_WORKER_HOSTNAMES"] == "localhost"


def test_command_prepares_the_environment_before_it_builds_the_function(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "require_compiler", lambda: None)
    model = tmp_path / "model_of_environment.py"
    model.write_text(
        "import os\ndef build():\n    raise ValueError(os.environ.get('TPU_WORKER_HOSTNAMES'))\n",
        encoding="utf-8",
    )
    assert cli.main(["optimize", f"{model}:build"]) == 2
    assert "ValueError: localhost" in capsys.readouterr().err


def test_variables_that_jax_and_libtpu_set_on_a_tpu_host_are_not_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "libtpu").mkdir()
    (tmp_path / "libtpu/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "libtpu", raising=False)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    added = " --xla_tpu_use_enhanced_launch_barrier=true"
    monkeypatch.setenv("LIBTPU_INIT_ARGS", added)
    monkeypatch.setenv("TPU_LIBRARY_PATH", f"{tmp_path}/libtpu/libtpu.so")
    assert recorded_settings() == {}
    monkeypatch.setenv("LIBTPU_INIT_ARGS", f"--xla_a=1{added}")
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/nightly/libtpu.so")
    assert recorded_settings() == {
        "LIBTPU_INIT_ARGS": "--xla_a=1",
        "TPU_LIBRARY_PATH": "/nightly/libtpu.so",
    }


def test_type_that_the_user_sets_stays() -> None:
    os.environ[NAME] = "v5litepod-8"
    environment.prepare_environment()
    assert os.environ[NAME] == "v5litepod-8"


def test_a_package_without_a_version_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "libtpu":  # installed as libtpu-nightly
            raise importlib.metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(
        MissingCompilerError, match=r"libtpu is not installed .*`pip install libtpu`"
    ):
        environment.compiler_versions()


@pytest.mark.parametrize(
    ("version", "old"), [("0.4.38", True), ("0.9.2", True), ("0.10", False), ("1.0.dev1", False)]
)
def test_a_jax_that_is_too_old_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, version: str, old: bool
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    if not old:
        REQUIRE()
        return
    with pytest.raises(MissingCompilerError, match=rf"^jax {version} is too old: .* 0\.10 or "):
        REQUIRE()


def test_the_oldest_jax_is_that_of_the_package() -> None:
    file = pathlib.Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    oldest = ".".join(map(str, environment._OLDEST_JAX))
    assert f"jax>={oldest}" in project["optional-dependencies"]["compiler"]
