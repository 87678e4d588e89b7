"""Exports to and from a real server with an S3 API: rclone against SeaweedFS.

MALLOCMUZERO_S3_SERVER names SeaweedFS's binary, weed; without it these tests are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import CHECKPOINT, run

SERVER = os.environ.get("MALLOCMUZERO_S3_SERVER", "")
KEY = "test-key"
SECRET = "test-secret"

pytestmark = pytest.mark.skipif(not SERVER, reason="MALLOCMUZERO_S3_SERVER is not set")


def free_ports(count: int) -> list[int]:
    """Returns ports that are free, as are those 10000 higher, which the server uses as well."""
    ports: list[int] = []
    candidate = 12000 + os.getpid() % 8000
    with contextlib.ExitStack() as stack:
        while len(ports) < count:
            candidate += 1
            with contextlib.suppress(OSError):
                for port in (candidate, candidate + 10000):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
                ports.append(candidate)
    return ports


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Waits until the server answers; any HTTP status will do."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=1)
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"no answer from {url}")


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bucket on a server that runs during the tests."""
    folder = tmp_path_factory.mktemp("s3")
    (folder / "data").mkdir()
    identity = {
        "name": "tester",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}), "utf-8")
    master, volume, filer, s3 = free_ports(4)
    command = [SERVER, "server", "-s3", "-ip=127.0.0.1", f"-dir={folder / 'data'}"]
    command += [f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}"]
    command += [
        f"-s3.port={s3}",
        f"-s3.config={folder / 's3.json'}",
        "-master.volumeSizeLimitMB=64",
    ]
    patch = pytest.MonkeyPatch()
    patch.setenv("AWS_ACCESS_KEY_ID", KEY)
    patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3}")
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{s3}/", server)
        options = ["--s3-env-auth", "--s3-provider=Other", "--config=/dev/null"]
        options.append(f"--s3-endpoint=http://127.0.0.1:{s3}")
        # rclone itself fails if this variable is set.
        environment = {k: v for k, v in os.environ.items() if k != "AWS_CA_BUNDLE"}
        for command in (["mkdir", ":s3:exports"], ["copyto", str(CHECKPOINT), ":s3:exports/net"]):
            subprocess.run(["rclone", *command, *options], check=True, env=environment)
        yield "s3://exports"
    finally:
        server.terminate()
        server.wait()
        patch.undo()


def export(checkpoint: Path | str, output: Path | str) -> subprocess.CompletedProcess[str]:
    return run("export", "--checkpoint", checkpoint, "--format", "onnx", "--output", output)


def test_an_export_comes_back_as_it_went(bucket: str, tmp_path: Path) -> None:
    assert export(CHECKPOINT, tmp_path / "here").returncode == 0
    done = export(f"{bucket}/net", f"{bucket}/first")
    assert done.returncode == 0, done.stderr
    done = run("fetch", "--export", f"{bucket}/first", "--output", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == names
    for name in names:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_objects_are_not_written_over(bucket: str) -> None:
    assert export(CHECKPOINT, f"{bucket}/second").returncode == 0
    done = export(CHECKPOINT, f"{bucket}/second")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "there are objects below this name" in done.stderr


def test_what_is_not_there_is_named(bucket: str, tmp_path: Path) -> None:
    done = run("fetch", "--export", f"{bucket}/none", "--output", tmp_path / "out")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    done = export(f"{bucket}/none", tmp_path / "out")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "there is no such object" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_wrong_keys_are_an_error_of_one_line(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    done = export(CHECKPOINT, f"{bucket}/third")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert "rclone exited with code" in done.stderr
    assert "wrong" not in done.stderr
