"""Tests that the commands and the Python of the documents work as far as a test can know.

Commands of this repository must exist, with their flags. Blocks that are marked `<!-- runs -->` are
run in whole. The binary is MALLOCMUZERO_BINARY, or build/bin/mallocmuzero.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT, Block, Command, blocks, commands, split_commands, tracked_files

FILES = tracked_files()
# The changelog also names commands of earlier versions.
DOCUMENTS = sorted(
    file
    for file in FILES
    if file.endswith(".md") and not file.startswith(("third_party/", "CHANGELOG"))
)
BINARY = Path(os.environ.get("MALLOCMUZERO_BINARY", ROOT / "build/bin/mallocmuzero"))
FLAG = re.compile(r"--?[A-Za-z][\w-]*")
REQUIRED = re.compile(r"^ +(?:-\w,)?(--[\w-]+).*\bREQUIRED\b", re.MULTILINE)

# A package that protoc generates; docs/serve.md says how.
GENERATED = "mallocmuzero.v1"

# The folders that a marked block may read.
SCRATCH_LINKS = ("workloads", "model", "tests", "bench", "hardware")
RUN_SECONDS = 600  # on a busy machine


@functools.cache
def shown_help(executable: str, subcommands: tuple[str, ...]) -> str | None:
    """The help of a command; None if there is no such command."""
    if executable == "mallocmuzero-xla":
        line = [sys.executable, "-m", "mallocmuzero_xla.commands.cli"]
    else:
        line = [str(BINARY.with_name(executable))]
    done = subprocess.run(
        [*line, *subcommands, "--help"], capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def flags_of(words: tuple[str, ...]) -> list[str]:
    """The flags among the words of a command, without values."""
    return [word.partition("=")[0] for word in words if FLAG.fullmatch(word.partition("=")[0])]


def subcommands_of(help_text: str) -> set[str]:
    """The subcommands that a help text lists."""
    listed = re.search(r"^Subcommands:\n((?: .*\n?)+)", help_text, re.MULTILINE)
    if listed:
        return set(re.findall(r"^  ([\w-]+)", listed[1], re.MULTILINE))
    return set(re.findall(r"^    ([\w-]+) {2,}", help_text, re.MULTILINE))


def own_command_mistakes(command: Command) -> list[str]:
    """What is wrong with a call of one of the executables of this repository."""
    executable = command.words[0].rpartition("/")[2]
    words = list(command.words[1:])
    path: tuple[str, ...] = ()
    text = shown_help(executable, path)
    assert text is not None, f"{executable} --help fails"
    while words and words[0] in subcommands_of(text):
        path = (*path, words.pop(0))
        below = shown_help(executable, path)
        if below is None:
            return [f"no command {' '.join(path)}"]
        text = below
    if words and not path and re.fullmatch(r"[a-z-]+", words[0]) and not words[0].startswith("-"):
        return [f"no command {words[0]}"]
    known = set(FLAG.findall(text))
    mistakes = [f"no flag {flag}" for flag in flags_of(tuple(words)) if flag not in known]
    complete = not command.inline and "..." not in command.words and "--help" not in words
    if complete and path:
        given = flags_of(tuple(words))
        missing = [flag for flag in REQUIRED.findall(text) if flag not in given]
        mistakes += [f"{flag} is missing" for flag in missing]
    return mistakes


def files_named_in(path: str, text: str) -> set[str]:
    """The files of the repository that a script starts or imports."""
    named = set()
    for word in re.findall(r"[\w./-]+", text):
        name = word.removeprefix("root/").lstrip("/")
        if name in FILES and Path(name).suffix in {"", ".py", ".sh"}:
            named.add(name)
    for module in re.findall(r"^(?:from|import) ([\w.]+)", text, re.MULTILINE):
        for folder in (Path(path).parent, Path("tools/xla/src")):
            name = str((folder / module.replace(".", "/")).with_suffix(".py"))
            if name in FILES:
                named.add(name)
    return named


def text_with_named_files(path: str) -> str:
    """The text of a script, and of the files that it starts or imports."""
    texts: dict[str, str] = {}
    todo = {path}
    while todo:
        name = todo.pop()
        texts[name] = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        todo |= files_named_in(name, texts[name]) - texts.keys()
    return "".join(texts.values())


def script_mistakes(path: str, words: tuple[str, ...]) -> list[str]:
    """What is wrong with a call of a script: it must exist and know the flags."""
    if path not in FILES:
        return [] if (ROOT / path).is_dir() else [f"{path}: no such file"]
    text = text_with_named_files(path)
    return [f"{path} has no flag {flag}" for flag in flags_of(words) if flag not in text]


def python_mistakes(words: tuple[str, ...]) -> list[str]:
    """What is wrong with a call of Python with a file of this repository."""
    if not words or words[0].startswith("-") or "/" not in words[0]:
        return []
    return script_mistakes(words[0], words[1:])


@functools.cache
def cmake_names() -> str:
    files = [file for file in FILES if file.endswith(("CMakeLists.txt", ".cmake"))]
    return "".join((ROOT / file).read_text(encoding="utf-8") for file in files)


def cmake_mistakes(words: tuple[str, ...]) -> list[str]:
    """The options and presets that the build does not have."""
    mistakes = []
    for word in words:
        option = re.match(r"-D(MALLOCMUZERO_\w+)=", word)
        if option and option[1] not in cmake_names():
            mistakes.append(f"no option {option[1]}")
    presets = (ROOT / "CMakePresets.json").read_text(encoding="utf-8")
    for flag, preset in itertools.pairwise(words):
        if flag == "--preset" and f'"{preset}"' not in presets:
            mistakes.append(f"no preset {preset}")
    return mistakes


def mistakes_of(command: Command) -> list[str]:
    """What is wrong with a command; empty for a command of another software."""
    first, *rest = command.words
    name = first.rpartition("/")[2]
    if name in {"mallocmuzero", "mallocmuzero-agent", "mallocmuzero-xla"}:
        return own_command_mistakes(command)
    if first.startswith(("scripts/", "workloads/")):
        return script_mistakes(first, tuple(rest))
    if name in {"python", "python3"}:
        return python_mistakes(tuple(rest))
    if name == "cmake":
        return cmake_mistakes(tuple(rest))
    return []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_exists_with_its_flags(document: str) -> None:
    mistakes = [
        f"{command}: {mistake}"
        for command in commands(document)
        for mistake in mistakes_of(command)
    ]
    assert not mistakes, "\n".join(mistakes)


BLOCKS = [block for document in DOCUMENTS for block in blocks(document)]
PYTHON = [block for block in BLOCKS if block.language == "python"]


def imports_of(tree: ast.Module) -> list[tuple[str, str]]:
    """Module and name of each import; the name is empty for a module."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
    return found


def keyword_mistakes(tree: ast.Module) -> list[str]:
    """The keyword arguments that a function of mallocmuzero_xla does not have.

    Its functions hand further arguments to jax.jit, and optimize_many to optimize.
    """
    import mallocmuzero_xla

    jax = importlib.import_module("jax") if importlib.util.find_spec("jax") else None
    mistakes = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        function = getattr(mallocmuzero_xla, node.func.id, None)
        if not inspect.isfunction(function):
            continue
        parameters = dict(inspect.signature(function).parameters)
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
            if jax is None:
                continue
            parameters |= inspect.signature(jax.jit).parameters
            if node.func.id == "optimize_many":
                parameters |= inspect.signature(mallocmuzero_xla.optimize).parameters
        given = [keyword.arg for keyword in node.keywords if keyword.arg]
        mistakes += [f"{node.func.id} has no {name}" for name in given if name not in parameters]
    return mistakes


def test_keyword_arguments_of_our_functions_and_of_jit_are_known() -> None:
    pytest.importorskip("jax")
    call = ast.parse('optimize(f, x, budgets="5m", placed=True, donate_argnums=0)')
    assert keyword_mistakes(call) == ["optimize has no budgets"]


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: f"{block.document}:{block.line}")
def test_python_compiles_and_imports_what_exists(block: Block) -> None:
    tree = ast.parse(block.text)
    mistakes = keyword_mistakes(tree)
    for module, name in imports_of(tree):
        root = module.partition(".")[0]
        if importlib.util.find_spec(root) is None or module.startswith(GENERATED):
            continue  # a package that this environment lacks
        imported = importlib.import_module(module)
        if name and not hasattr(imported, name):
            mistakes.append(f"{module} has no {name}")
    assert not mistakes, f"{block.document}:{block.line}: {mistakes}"


MARKED = [block for block in BLOCKS if block.runs]


@pytest.mark.parametrize("block", MARKED, ids=lambda block: f"{block.document}:{block.line}")
def test_marked_block_runs(block: Block, tmp_path: Path) -> None:
    if block.language == "python":
        pytest.importorskip("jax")
        from mallocmuzero_xla.compiler.builders import build_function

        assert block.name.endswith(".py")
        (tmp_path / block.name).write_text(block.text, encoding="utf-8")
        built = build_function(f"{tmp_path / block.name}:build")
        assert built.args
        return
    for name in SCRATCH_LINKS:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/bin").symlink_to(BINARY.parent)
    # A block may write beside the pictures of the documents.
    for folder in {Path(file).parent for file in FILES if file.startswith("docs/")}:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    path = f"{BINARY.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.as_run],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        check=True,
        timeout=RUN_SECONDS,
    )


@pytest.mark.parametrize("executable", ["mallocmuzero", "mallocmuzero-xla"])
def test_every_command_is_documented(executable: str) -> None:
    text = shown_help(executable, ())
    assert text is not None
    documented = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    # A row may name several commands: `mallocmuzero replay`, `learner`, `actor`.
    missing = [
        name for name in subcommands_of(text) if not re.search(rf"[`\s]{name}\b", documented)
    ]
    assert subcommands_of(text)
    assert not missing


def test_every_public_name_of_the_package_is_documented() -> None:
    import mallocmuzero_xla

    documents = ("tools/xla/README.md", "docs/artefact.md")
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in documents)
    assert not [name for name in mallocmuzero_xla.__all__ if not re.search(rf"\b{name}\b", text)]


def test_marked_blocks_are_found() -> None:
    documents = {block.document for block in MARKED}
    assert {"docs/first-result.md", "docs/how-it-works.md", "docs/training.md"} <= documents
    (first_run,) = [block for block in MARKED if block.document == "docs/training.md"]
    assert "--budget 10m" in first_run.text
    assert "--iterations 1" in first_run.as_run


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("mallocmuzero no-such-command", "no command no-such-command"),
        ("mallocmuzero map --no-such-flag 1", "no flag --no-such-flag"),
        ("mallocmuzero bench game --no-such-flag", "no flag --no-such-flag"),
        ("mallocmuzero map --program p.program", "--output is missing"),
        ("build/bin/mallocmuzero-agent train --no-such-flag", "no flag --no-such-flag"),
        ("mallocmuzero-xla optimize m.py:f --no-such-flag", "no flag --no-such-flag"),
        ("mallocmuzero-xla no-such-command", "no command no-such-command"),
        ("scripts/no-such-script", "scripts/no-such-script: no such file"),
        ("scripts/faults --no-such-flag", "scripts/faults has no flag --no-such-flag"),
        ("python bench/no_such_file.py", "bench/no_such_file.py: no such file"),
        ("cmake -B build -DMALLOCMUZERO_NO_SUCH=1", "no option MALLOCMUZERO_NO_SUCH"),
        ("cmake --preset no-such-preset", "no preset no-such-preset"),
    ],
)
def test_wrong_commands_are_found(line: str, mistake: str) -> None:
    (words,) = split_commands(line)
    assert mistake in mistakes_of(Command("x.md", 1, words))


def test_lines_are_split_into_commands() -> None:
    line = "$ A=1 scripts/setup build && cmake --preset release > log | tail -1  # a remark"
    assert list(split_commands(line)) == [
        ("scripts/setup", "build"),
        ("cmake", "--preset", "release"),
        ("tail", "-1"),
    ]
