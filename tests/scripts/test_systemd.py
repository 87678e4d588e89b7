"""Checks the unit of deploy/systemd: by systemd itself, and against the documents and examples."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy/systemd/mallocmuzero@.service"
# The learner always saves before it ends: docs/operations.md.
LEARNER_STOP_SECONDS = 75


def value_of(key: str) -> str:
    values = re.findall(rf"^{key}=(.*)$", UNIT.read_text(), re.MULTILINE)
    assert len(values) == 1, f"{key}: {values}"
    return str(values[0])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_knows_all_settings(tmp_path: pathlib.Path) -> None:
    # The executable need not be there.
    program = value_of("ExecStart").split()[0]
    unit = tmp_path / UNIT.name.replace("@", "@replay-a")
    unit.write_text(UNIT.read_text().replace(program, "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, check=False, text=True
    )
    # Other units of the machine may be wrong.
    assert [line for line in done.stderr.splitlines() if unit.name in line] == []


def test_a_role_starts_again_and_has_time_to_stop() -> None:
    assert value_of("Restart") == "always"
    assert value_of("StartLimitIntervalSec") == "0"
    assert int(value_of("TimeoutStopSec")) >= LEARNER_STOP_SECONDS
    # `up` stops its processes in order, so SIGTERM is for it alone.
    assert value_of("KillMode") == "mixed"


def test_its_folders_are_those_of_the_examples() -> None:
    written = value_of("WorkingDirectory")
    assert value_of("StateDirectory") == pathlib.Path(written).name
    configuration = (ROOT / "deploy/cluster/many-machines.textproto").read_text()
    folders = re.findall(r'(?:data_dir|run_dir|spool_dir): "(.*)"', configuration)
    assert folders and all(folder.startswith(f"{written}/") for folder in folders)
    files = re.findall(r'_file: "(.*)"', configuration)
    settings = pathlib.Path(value_of("EnvironmentFile")).parent
    assert files and {pathlib.Path(file).parent for file in files} == {settings}
    # The document installs the files that the unit reads.
    text = (ROOT / "docs/operations.md").read_text()
    assert f"{settings}/cluster.textproto\n" in text
    assert value_of("Environment") == f"CONFIG={settings}/cluster.textproto"
    assert f"> {settings}/replay-a.env" in text
