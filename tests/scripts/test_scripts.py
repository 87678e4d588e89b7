"""Runs scripts of scripts/ on a made-up tree, with made-up tools that fail."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Scripts source this instead of scripts/venv.sh: Python packages are there.
VENV = 'venv="$root/build/venv"\ninstall_python_packages() { :; }\n'


class Tree:
    """A checkout in a folder with a space in its name, and a folder of tools ahead in PATH."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.root = folder / "a checkout"
        self.tools = folder / "tools"
        self.venv = self.root / "build/venv/bin"
        for made in (self.root / "scripts", self.tools, self.venv):
            made.mkdir(parents=True)
        (self.root / "scripts/venv.sh").write_text(VENV)

    def add(self, *names: str) -> None:
        for name in names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def tool(self, path: pathlib.Path, text: str) -> None:
        """Makes a program in bash."""
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def run(
        self, script: str, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / script, *arguments],
            cwd=self.root.parent,
            env=os.environ | {"PATH": f"{self.tools}:{os.environ['PATH']}"} | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
        )


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> Tree:
    return Tree(tmp_path)


def test_setup_fails_without_its_list_of_packages(tree: Tree) -> None:
    tree.add("scripts/setup")
    assert tree.run("scripts/setup").returncode != 0


@pytest.mark.parametrize("script", ["fuzz", "kubernetes-tools", "lint", "setup"])
def test_an_unknown_argument_is_refused_before_anything_is_done(tree: Tree, script: str) -> None:
    tree.add(f"scripts/{script}")
    ran = tree.run(f"scripts/{script}", "--help")
    assert ran.returncode != 0
    assert ran.stdout == ""
    assert "'--help'" in ran.stderr and "expected" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert not (tree.root / "build/kubernetes").exists()


def test_quickstart_says_why_a_command_has_failed(tree: Tree) -> None:
    tree.add("scripts/quickstart")
    tree.tool(tree.root / "scripts/setup", "exit 0")
    tree.tool(tree.tools / "cmake", "exit 0")
    (tree.root / "build/bin").mkdir()
    tree.tool(
        tree.root / "build/bin/mallocmuzero",
        'case "$*" in *greedy*) echo "mallocmuzero: no room" >&2; exit 1 ;; esac\n'
        "echo 'a line of progress' >&2\n"
        'echo \'{"total_cycles":1e6, "default_cycles":2e6, "end":0}\'',
    )
    ran = tree.run("scripts/quickstart")
    assert ran.returncode != 0
    assert "all_hbm           1.000 Mcycles    50.00 %" in ran.stdout
    assert ran.stderr.splitlines()[-1] == "mallocmuzero: no room"


def test_gym_builds_for_no_other_python_than_the_one_that_is_named(tree: Tree) -> None:
    tree.add("scripts/gym", "scripts/pythons.sh")
    (tree.root / "build/build.ninja").touch()
    folder = tree.root / "build/python/mallocmuzero_gym"
    folder.mkdir(parents=True)
    (folder / "_game.older.so").touch()
    tree.tool(tree.venv / "python", "echo nanobind")
    tree.tool(
        tree.tools / "cmake",
        f"printf '%s\\n' \"$@\" >>'{tree.root}/calls'\ntouch '{folder}/_game.so'",
    )
    assert tree.run("scripts/gym", "no-such-python").returncode != 0
    assert not (tree.root / "calls").exists()
    assert tree.run("scripts/gym").stdout == "build/python/mallocmuzero_gym/_game.so\n"
    assert "-DMALLOCMUZERO_NANOBIND=nanobind" in (tree.root / "calls").read_text().splitlines()
    tree.tool(tree.venv / "python", "exit 1")
    (tree.root / "calls").unlink()
    assert tree.run("scripts/gym").returncode != 0
    assert not (tree.root / "calls").exists()


@pytest.mark.parametrize("folder", ["", "tools/"])
def test_test_wheel_finds_all_pythons_that_are_named(tree: Tree, folder: str) -> None:
    """It runs them in another folder, and with the PATH of the environment before."""
    tree.add("scripts/test-wheel", "scripts/pythons.sh")
    tree.tool(tree.tools / "git", "exit 0")
    make = 'mkdir "$1"; touch "$1/a-py3-none-manylinux_2_35_x86_64.whl"; echo "$1"/*'
    tree.tool(tree.root / "scripts/wheel", make)
    for name in ("python3.12", "python3.13"):
        tree.tool(
            tree.tools / name,
            'if [ "$1" = -c ]; then realpath "$0"; exit; fi\n'
            'mkdir -p "$3/bin"\n'
            "for tool in pip mallocmuzero python; do\n"
            f'  printf \'#!/bin/bash\\necho {name}\\n\' >"$3/bin/$tool"; chmod +x "$3/bin/$tool"\n'
            "done",
        )
    ran = tree.run("scripts/test-wheel", f"{folder}python3.12", f"{folder}python3.13")
    assert ran.returncode == 0, ran.stderr
    told = [line for line in ran.stdout.splitlines() if "import to map" in line]
    assert [line.partition(":")[0] for line in told] == ["python3.12", "python3.13"]


def test_lint_fails_if_git_does_not_list_the_files(tree: Tree) -> None:
    tree.add("scripts/lint", "scripts/packages.txt", "README.md", ".clang-tidy")
    (tree.root / "build/compile_commands.json").write_text("[]")
    for tool in (tree.tools / "clang-format-14", tree.venv / "ruff", tree.venv / "python"):
        tree.tool(tool, "exit 0")
    tree.tool(tree.tools / "git", "echo 'fatal: dubious ownership' >&2; exit 128")
    ran = tree.run("scripts/lint")
    assert ran.returncode != 0
    assert "lint: passed" not in ran.stdout


def test_lint_fails_if_git_does_not_tell_what_has_changed(tree: Tree) -> None:
    tree.add("scripts/lint", "scripts/packages.txt", "README.md", ".clang-tidy")
    (tree.root / "build/compile_commands.json").write_text("[]")
    (tree.root / "a.h").touch()
    for tool in (tree.tools / "clang-format-14", tree.venv / "ruff", tree.venv / "python"):
        tree.tool(tool, "exit 0")
    git = 'case "$1" in ls-files) echo a.h ;; log) exit 128 ;; esac'
    tree.tool(tree.tools / "git", git)
    ran = tree.run("scripts/lint", "--quick")
    assert ran.returncode != 0
    assert "lint: passed" not in ran.stdout


def test_lint_checks_a_file_again_that_changes_while_it_is_checked(tree: Tree) -> None:
    tree.add("scripts/lint", "scripts/packages.txt", "README.md", ".clang-tidy")
    (tree.root / "build/compile_commands.json").write_text("[]")
    for name in ("a.h", "a.cc"):
        (tree.root / name).touch()
        os.utime(tree.root / name, (1e9, 1e9))
    os.utime(tree.root / ".clang-tidy", (1e9, 1e9))
    for tool in (tree.tools / "clang-format-14", tree.venv / "ruff"):
        tree.tool(tool, "exit 0")
    tree.tool(tree.tools / "git", "echo a.h; echo a.cc")
    tree.tool(tree.venv / "python", f"echo '\"{tree.root}/a.cc\"'")
    change = "sleep 0.1; touch a.cc"
    tree.tool(tree.venv / "clang-tidy", change)
    assert "lint: clang-tidy on 1 files" in tree.run("scripts/lint").stdout
    tree.tool(tree.venv / "clang-tidy", "exit 0")
    assert "lint: clang-tidy on 1 files" in tree.run("scripts/lint").stdout
    assert "lint: clang-tidy on 0 files" in tree.run("scripts/lint").stdout


def test_try_newest_finds_a_model_by_a_relative_path(tree: Tree) -> None:
    tree.add("scripts/try-newest", "tools/xla/tested-versions.txt")
    tree.tool(tree.root / "scripts/wheel", "echo a.whl")
    tree.tool(
        tree.tools / "python3",
        "mkdir -p venv/bin\n"
        "for name in pip python mallocmuzero-xla; do\n"
        "  printf '#!/bin/bash\\n' >venv/bin/$name; chmod +x venv/bin/$name\n"
        "done\n"
        'echo \'cat "${2%:*}" >/dev/null && [ "${2##*:}" = build ]\' >>venv/bin/mallocmuzero-xla',
    )
    (tree.root.parent / "mine.py").touch()
    ran = tree.run("scripts/try-newest", MODEL="mine.py:build")
    assert "| optimize | exit 0 | exit 0," in ran.stdout, ran.stderr
    assert ran.returncode == 0


def test_wheel_takes_a_binary_by_a_relative_path(tree: Tree) -> None:
    tree.add("scripts/wheel", "LICENSE")
    tree.tool(tree.root / "scripts/licences", "echo licences")
    package = tree.root / "tools/xla"
    (package / "src/mallocmuzero_xla").mkdir(parents=True)
    for name in ("README.md", "pyproject.toml", "setup.py"):
        (package / name).touch()
    tree.tool(tree.root.parent / "binary", "exit 0")
    tree.tool(tree.tools / "strip", 'cp "$3" "$2"')
    tree.tool(tree.venv / "python", 'cat >/dev/null; [ -x "$2" ] && echo {}')
    make = 'mkdir -p "${@: -2:1}"; touch "${@: -2:1}/mallocmuzero_xla-1.whl"'
    tree.tool(tree.venv / "pip", make)
    tree.tool(tree.venv / "auditwheel", make)
    ran = tree.run("scripts/wheel", "out", MALLOCMUZERO_BINARY="binary")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "out/mallocmuzero_xla-1.whl\n"


def test_licences_names_a_package_that_is_not_there(tree: Tree) -> None:
    tree.add("scripts/licences")
    ran = tree.run("scripts/licences", "libc6", "no-such-package")
    assert ran.returncode == 1
    assert ran.stdout.startswith("== libc6\n")
    assert ran.stderr.endswith("copyright: apt-get install no-such-package\n")


def test_sources_inside_of_another_repository_have_no_commit(tmp_path: pathlib.Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "m"], check=True)
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p VERSION 1 LANGUAGES NONE)\n"
        f"include({ROOT}/cmake/BuildInfo.cmake)\n"
    )
    command = ["cmake", "-S", str(sources), "-B", str(tmp_path / "build")]
    subprocess.run(command, check=True, capture_output=True)
    info = (tmp_path / "build/generated/build_info.h").read_text()
    assert 'kGitCommit[] = ""' in info, info


def test_import_captures_imports_complete_captures_and_names_the_others(tree: Tree) -> None:
    tree.add("workloads/import-captures")
    tree.tool(tree.tools / "binary", f"printf '%s\\n' \"$@\" >>'{tree.root}/calls'")
    words = ("workloads/import-captures", "my captures", "out")
    binary = str(tree.tools / "binary")
    ran = tree.run(*words, MALLOCMUZERO_BINARY=binary)
    assert ran.returncode == 2
    assert ran.stderr == (
        "import-captures: my captures: no folder CHIP/PROGRAM with captures in it\n"
    )
    captures = tree.root.parent / "my captures/tpu_v6e"
    for program in ("bare", "whole"):
        (captures / program).mkdir(parents=True)
        for variant in ("all_hbm", "default"):
            (captures / program / f"{variant}.hlo.zst").touch()
    (captures / "whole/sample_0.hlo.zst").touch()
    ran = tree.run(*words, MALLOCMUZERO_BINARY=binary)
    assert ran.returncode == 0
    assert ran.stderr.splitlines() == [
        "tpu_v6e/bare: no sample to fit a latency table to, left out",
        "tpu_v6e/whole: 1 samples",
    ]
    calls = (tree.root / "calls").read_text().splitlines()
    assert calls[-1] == "out/tpu_v6e/whole.program"
    assert "my captures/tpu_v6e/whole/sample_0.hlo.zst" in calls


def test_storm_serve_takes_a_binary_by_a_relative_path(tree: Tree) -> None:
    tree.add("scripts/storm-serve")
    serve = 'if [ "$1" = serve ]; then echo "listens on" >&2; exec sleep 60; fi'
    tree.tool(tree.root.parent / "binary", serve)
    ran = tree.run("scripts/storm-serve", MALLOCMUZERO_BINARY="binary")
    assert ran.returncode == 0, ran.stderr


def test_wheel_installs_what_the_package_imports(tree: Tree) -> None:
    tree.add("scripts/wheel")
    recorded = 'venv="$root/build/venv"\ninstall_python_packages() { printf "%s\\n" "$@"; exit; }\n'
    (tree.root / "scripts/venv.sh").write_text(recorded)
    tree.tool(tree.root.parent / "binary", "exit 0")
    ran = tree.run("scripts/wheel", MALLOCMUZERO_BINARY="binary")
    project = tomllib.loads((ROOT / "tools/xla/pyproject.toml").read_text())["project"]
    assert set(project["dependencies"]) <= set(ran.stdout.splitlines()), ran.stderr


def test_packages_are_installed_again_after_a_change_of_what_a_package_needs(tree: Tree) -> None:
    tree.add("scripts/venv.sh", "tools/xla/pyproject.toml", "tools/gym/pyproject.toml")
    tree.tool(
        tree.root / "scripts/install",
        'root="$(cd "$(dirname "$0")/.." && pwd)"\n'
        '. "$root/scripts/venv.sh"\n'
        "install_python_packages -e tools/gym",
    )
    tree.tool(tree.venv / "pip", f"echo called >>'{tree.root}/calls'")
    for name in ("xla", "gym"):
        os.utime(tree.root / f"tools/{name}/pyproject.toml", (1e9, 1e9))

    def calls() -> int:
        assert tree.run("scripts/install").returncode == 0
        return len((tree.root / "calls").read_text().splitlines())

    assert calls() == 1
    assert calls() == 1
    os.utime(tree.root / "tools/gym/pyproject.toml", (4e9, 4e9))
    assert calls() == 2


def test_kubernetes_tools_does_not_keep_schemas_of_a_download_that_failed(tree: Tree) -> None:
    tree.add("scripts/kubernetes-tools")
    tree.tool(
        tree.tools / "go",
        'case "$*" in\n'
        "  *jobset*) exit 1 ;;\n"
        "  'mod download'*) printf '{\\n\\t\"Dir\": \"/sources\",\\n}\\n' ;;\n"
        "esac",
    )
    tree.tool(tree.venv / "python", f"printf '%s\\n' \"$@\" >>'{tree.root}/calls'")
    ran = tree.run("scripts/kubernetes-tools")
    assert ran.returncode != 0
    assert not (tree.root / "calls").exists()
    assert not list((tree.root / "build/kubernetes").glob("schemas-*"))
    go = tree.tools / "go"
    go.write_text(go.read_text().replace("*jobset*", "*nothing*"))
    assert tree.run("scripts/kubernetes-tools").returncode == 0
    assert "/sources/config/components/crd/bases" in (tree.root / "calls").read_text()
    assert list((tree.root / "build/kubernetes").glob("schemas-*"))


def test_a_storage_server_that_was_built_in_part_is_built_again(tree: Tree) -> None:
    tree.add("tests/export/build_s3_server")
    build = 'if [ "$1" = build ]; then echo half >"$3"; chmod +x "$3"; exit 1; fi'
    tree.tool(tree.tools / "go", build)
    assert tree.run("tests/export/build_s3_server").returncode != 0
    tree.tool(tree.tools / "go", build.replace("half", "whole").replace("exit 1", "exit 0"))
    ran = tree.run("tests/export/build_s3_server")
    assert ran.returncode == 0
    assert pathlib.Path(ran.stdout.strip()).read_text() == "whole\n"


@pytest.fixture
def python_tree(tree: Tree) -> Tree:
    """A tree whose type checks and tests in Python all pass, except those of tests/docs."""
    tree.add("scripts/test-python")
    script = (tree.root / "scripts/test-python").read_text()
    for folder in re.findall(r'cd "\$root/([^"]+)"', script):
        (tree.root / folder).mkdir(parents=True, exist_ok=True)
    for name in ("test-wheel", "test-gym"):
        tree.tool(tree.root / "scripts" / name, f"echo {name} has run")
    for name in ("mypy", "pytest", "python"):
        tree.tool(tree.venv / name, 'echo "${0##*/} in ${PWD#*checkout/}"; [[ "$PWD" != */docs ]]')
    return tree


def test_test_python_runs_all_parts_and_names_those_that_fail(python_tree: Tree) -> None:
    ran = python_tree.run("scripts/test-python")
    assert ran.returncode != 0
    assert [line for line in ran.stdout.splitlines() if "failed" in line] == [
        "test-python: docs failed"
    ]
    for line in ("test-wheel has run", "test-gym has run", "pytest in tools/xla", "== scripts"):
        assert line in ran.stdout
    assert "pytest in tests/docs" not in ran.stdout  # its type check has failed before


def test_test_python_runs_in_its_own_folder(python_tree: Tree) -> None:
    ran = subprocess.run(
        ["bash", "test-python"],
        cwd=python_tree.root / "scripts",
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert "test-wheel has run" in ran.stdout, ran.stderr
    assert "pytest in tools/xla" in ran.stdout, ran.stderr


def test_test_python_runs_the_parts_that_are_named(python_tree: Tree) -> None:
    ran = python_tree.run("scripts/test-python", "gym", "workloads")
    assert ran.returncode == 0
    assert ran.stdout == "== gym\ntest-gym has run\n== workloads\npytest in workloads\n"
    ran = python_tree.run("scripts/test-python", "gym", "nosuch")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "no part nosuch; one of wheel gym tools_xla" in ran.stderr


def threaded_tests() -> set[str]:
    """The tests of C++ of which a source, or the source that it tests, starts threads."""
    listed = ["git", "ls-files", "*CMakeLists.txt"]
    paths = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    found = set()
    for cmake in (ROOT / path for path in paths.splitlines()):
        for name, body in re.findall(r"mmz_test\((\w+)(.*?)\)\n", cmake.read_text(), re.DOTALL):
            tests = [cmake.parent / word for word in body.split() if word.endswith("_test.cc")]
            tested = [
                test.with_name(test.name.replace("_test.cc", suffix))
                for test in tests
                for suffix in (".cc", ".h")
            ]
            sources = [path.read_text() for path in (*tests, *tested) if path.exists()]
            if any("std::thread" in source for source in sources):
                found.add(name)
    return found


def test_sanitize_builds_all_tests_with_threads() -> None:
    script = (ROOT / "scripts/sanitize").read_text()
    (built,) = re.findall(r"targets=\(\n(.*?)\)", script, re.DOTALL)
    assert threaded_tests() <= set(built.split())


def test_the_types_of_all_commands_of_bench_are_checked() -> None:
    scripts = [(ROOT / "scripts" / name).read_text() for name in ("test-python", "test-gym")]
    checked = set(re.findall(r"\w+\.py", "\n".join(scripts)))
    commands = {path.name for path in ROOT.glob("bench/*/*.py") if "__main__" in path.read_text()}
    assert commands <= checked
