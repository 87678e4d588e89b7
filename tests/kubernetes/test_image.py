"""Tests of deploy/image/build that need none of its tools."""

from __future__ import annotations

import pathlib
import subprocess

import chart

BUILD = chart.ROOT / "deploy" / "image" / "build"


def build(
    folder: pathlib.Path,
    *arguments: pathlib.Path | str,
    version: str = "mallocmuzero 0 (commit 0123abc)",
) -> subprocess.CompletedProcess[str]:
    """Runs the script with tools that end at once, and with executables that print `version`."""
    tools = folder / "tools"
    executables = folder / "made" / "bin"
    for each in (tools, executables):
        each.mkdir(parents=True, exist_ok=True)
    for file in (executables / "mallocmuzero-agent", executables / "mallocmuzero"):
        file.write_text(f"#!/bin/sh\necho '{version}'\n")
    # mmdebstrap reads its sources from the standard input.
    for file in (tools / "mmdebstrap", tools / "umoci"):
        file.write_text("#!/bin/sh\ncat >&2\necho no Debian >&2\nexit 1\n")
    for file in (*tools.iterdir(), *executables.iterdir()):
        file.chmod(0o755)
    return subprocess.run(
        [BUILD, "--build", executables.parent, *arguments],
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


def test_a_folder_that_is_no_layout_is_not_replaced(tmp_path: pathlib.Path) -> None:
    layout = tmp_path / "a build"
    layout.mkdir()
    # An empty folder may become a layout.
    assert "no Debian" in build(tmp_path, layout).stderr
    (layout / "work").write_text("of a week")
    done = build(tmp_path, layout)
    assert done.returncode == 1
    assert f"{layout}: is no OCI layout, and what is in it is not replaced" in done.stderr
    assert (layout / "work").read_text() == "of a week"
    (layout / "oci-layout").write_text("{}")
    assert "no Debian" in build(tmp_path, layout).stderr


def test_executables_that_do_not_say_their_commit_make_no_image(tmp_path: pathlib.Path) -> None:
    # The list of what is in the image would name no version of them.
    done = build(tmp_path, tmp_path / "layout", version="mallocmuzero 0")
    assert done.returncode == 1
    assert "its executables do not say their commit" in done.stderr


def test_packages_of_a_snapshot_are_taken_though_its_lists_have_expired(
    tmp_path: pathlib.Path,
) -> None:
    sources = build(tmp_path, tmp_path / "layout").stderr
    assert "deb http://deb.debian.org/debian bookworm main" in sources
    assert "check-valid-until" not in sources
    sources = build(tmp_path, tmp_path / "layout", "--snapshot", "20261124T000000Z").stderr
    assert sources.count("deb [check-valid-until=no] http://snapshot.debian.org/") == 3


def test_arguments_that_are_wrong_are_named(tmp_path: pathlib.Path) -> None:
    done = build(tmp_path, "layout", "--snapshot")
    assert done.returncode == 1
    assert "image: --snapshot: a value expected" in done.stderr
    done = build(tmp_path, "one", "two")
    assert done.returncode == 1
    assert "image: one LAYOUT expected, found one and two" in done.stderr


def test_a_slash_behind_the_folder_is_no_part_of_its_name(tmp_path: pathlib.Path) -> None:
    # The list of what is in the image would get the name of a hidden file in the layout.
    layout = tmp_path / "layout"
    layout.mkdir()
    (layout / "work").touch()
    assert f"image: {layout}: is no OCI layout" in build(tmp_path, f"{layout}/").stderr
