"""Tests that the documents name only files, headings and packages that exist.

The tests look at every tracked Markdown file, except those of third parties.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import ROOT, tracked_files

LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# A path: names joined by slashes, without wildcards or shell variables.
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?")
# A part of a path that stands for other text, as in `replay/NAME` and `replay/N.games`.
PLACEHOLDER = re.compile(r"[A-Z]+|N\..*")
# A Debian package in the table of docs/dependencies.md: name, groups, purpose.
ROW = re.compile(r"\| ([a-z0-9.+-]+) \| ((?:build|check|run)(?:, (?:build|check|run))*) \|")


FILES = tracked_files()
FOLDERS = {str(parent) for file in FILES for parent in Path(file).parents}
DOCUMENTS = sorted(file for file in FILES if file.endswith(".md"))


def without_code_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yields the number and the text of each line outside of code blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(text: str) -> set[str]:
    """The anchors of a document: those that GitHub gives to headings, and those of <a id=...>."""
    found = set(re.findall(r'<a id="([^"]+)">', text))
    for _, line in without_code_blocks(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if not heading:
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
        anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        repeated = anchor
        count = 0
        while repeated in found:
            count += 1
            repeated = f"{anchor}-{count}"
        found.add(repeated)
    return found


def link_mistake(document: str, target: str) -> str | None:
    """What is wrong with a link of `document` to `target`; None if it resolves."""
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    linked = (ROOT / document).parent / path if path else ROOT / document
    try:
        name = str(linked.resolve().relative_to(ROOT))
    except ValueError:
        return f"{target} is outside of the repository"
    if name not in FILES and name not in FOLDERS:
        return f"{target}: no such file"
    if anchor and name.endswith(".md") and anchor not in anchors((ROOT / name).read_text()):
        return f"{target}: no such heading"
    return None


def path_mistakes(code: str, files: set[str], folders: set[str]) -> list[str]:
    """The paths in `code` that do not exist, of those that begin at the root of the repository.

    A path begins at the root if its first part is a folder of the repository. Folders that a build
    makes are not among them. A C++ file may be named without its suffix.
    """
    mistakes = []
    for word in code.split():
        path = word.removeprefix("./").rstrip("/")
        parts = path.split("/")
        if not PATH.fullmatch(path) or parts[0] not in folders:
            continue
        if any(PLACEHOLDER.fullmatch(part) for part in parts):
            continue
        names = {path, path + ".h", path + ".cc"}
        if not names & files and path not in folders:
            mistakes.append(f"{path}: no such file")
    return mistakes


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_to_a_file_and_a_heading(document: str) -> None:
    # A link may go over the end of a line, so the links are found in the text as a whole.
    lines = dict(without_code_blocks((ROOT / document).read_text()))
    text = "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1))
    mistakes = []
    for link in LINK.finditer(text):
        mistake = link_mistake(document, link[1])
        if mistake:
            mistakes.append(f"{document}:{text.count(chr(10), 0, link.start()) + 1}: {mistake}")
    assert not mistakes, "\n".join(mistakes)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_in_backticks_exists(document: str) -> None:
    mistakes = []
    for number, line in without_code_blocks((ROOT / document).read_text()):
        for code in CODE.findall(line):
            for mistake in path_mistakes(code, FILES, FOLDERS):
                mistakes.append(f"{document}:{number}: {mistake}")
    assert not mistakes, "\n".join(mistakes)


def installed_packages() -> dict[str, set[str]]:
    """The Debian packages of scripts/packages.txt with their groups."""
    installed: dict[str, set[str]] = {}
    for line in (ROOT / "scripts/packages.txt").read_text().splitlines():
        words = line.partition("#")[0].split()
        if words:
            group, package = words
            installed.setdefault(package, set()).add(group)
    return installed


def test_the_table_of_dependencies_lists_the_installed_packages() -> None:
    table = ROW.findall((ROOT / "docs/dependencies.md").read_text())
    assert {package: set(groups.split(", ")) for package, groups in table} == installed_packages()


def test_the_readme_names_every_package_in_its_group() -> None:
    readme = (ROOT / "README.md").read_text()
    section = readme.partition("## Dependencies\n")[2].partition("\n## ")[0]
    listed: dict[str, set[str]] = {}
    for group in ("build", "check", "run"):
        (line,) = re.findall(rf"- {group}\b[^:]*: ((?:.|\n)*?)\.\n", section, re.IGNORECASE)
        for package in CODE.findall(line):
            listed.setdefault(package, set()).add(group)
    assert listed == installed_packages()


def python_packages() -> set[str]:
    """The packages of others that tools/xla depends on and that scripts install, in lower case."""
    project = tomllib.loads((ROOT / "tools/xla/pyproject.toml").read_text())
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        wanted += extra
    for script in filter(Path.is_file, (ROOT / "scripts").iterdir()):
        for line in re.findall(
            r"^ *install_python_packages (.*)", script.read_text(), re.MULTILINE
        ):
            if not line.startswith("-e"):
                wanted += shlex.split(line)
    names = {re.split(r"[<>=!~\[]", word)[0].lower().replace("_", "-") for word in wanted}
    return {name for name in names if not name.startswith("mallocmuzero")}


def test_the_readme_names_every_python_package() -> None:
    section = (ROOT / "README.md").read_text().partition("- Python: ")[2].partition("\n## ")[0]
    named = {name.lower() for name in CODE.findall(section)}
    assert python_packages() <= named
    table = (ROOT / "docs/dependencies.md").read_text().partition("## Python packages")[2].lower()
    assert not [name for name in python_packages() if not re.search(rf"\b{name}\b", table)]


def test_the_index_lists_every_document_once() -> None:
    index = (ROOT / "docs/README.md").read_text()
    listed = re.findall(r"^\| \[[^\]]+\]\((\w[\w-]*\.md)\) \|", index, re.MULTILINE)
    documents = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(documents)
    kinds = re.findall(r"^## (\w[\w-]*)", index, re.MULTILINE)
    assert kinds == ["Tutorials", "How-to", "Reference", "Explanation", "Results"]


def test_the_readme_fits_on_two_screens() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


def test_broken_links_and_paths_are_found() -> None:
    assert link_mistake("README.md", "docs/no-such-document.md") is not None
    assert link_mistake("README.md", "#no-such-heading") is not None
    assert link_mistake("docs/commands.md", "../README.md#quickstart") is None
    files, folders = {"deploy/image/build", "env/rules.h"}, {"deploy", "deploy/image", "env"}
    assert path_mistakes("deploy/no-such-file", files, folders)
    assert path_mistakes("env/rules --flag env/no-such-file", files, folders)
    assert not path_mistakes("deploy/image/build", files, folders)
    assert not path_mistakes("env/rules", files, folders)
    assert not path_mistakes("build/bin/mallocmuzero", files, folders)
    assert not path_mistakes("deploy/*.yaml deploy/NAME", files, folders)
