"""Remembers the compiler's estimates, and writes them into texts that have none.

The compiler estimates an instruction from what it computes, the shapes and layouts of its operands
and results, and the memories that they are in. A trial compile has all of that but no estimates. If
the same instruction with the same memories was in a whole compile under the same limit of scoped
memory, its estimate is known. Settings and overrides do not change it.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import re
from collections.abc import Iterable, Iterator

_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%([\w.\-]+) = ")
_COMPUTATION = re.compile(r"(?:ENTRY )?%([\w.\-]+) (?:\(.*)?\{$")
_NAME = re.compile(r"%[\w.\-]+")
_CALLED = re.compile(r"\b([a-z_]+)=%([\w.\-]+)")
_FUSED = ("calls", "to_apply")
# Attributes that do not change an instruction's estimate; the first of them follows all others.
_ATTRIBUTES = re.compile(
    r", (?:sharding|frontend_attributes|metadata|backend_config|control-predecessors)=\{"
)
_ESTIMATE = re.compile(r'"estimated_cycles":"(-?\d+)"')
_COMMENT = re.compile(r"/\*.*?\*/")
_SPACE = re.compile(r"S\(\d+\)")
_CONFIG = "backend_config={"

# The end of an asynchronous instruction, which the compiler and the binary print differently.
_DONE = re.compile(r"^[\w\-]+-done\(")

# Callers of computations whose instructions have estimates of their own.
_CALLERS = re.compile(r"(?:while|conditional|call)\(")

# The memories of the result and of each operand.
_Memories = tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class Filled:
    """A text with estimates from other compiles.

    Attributes:
        text: the module.
        guessed: names of the instructions that have not been seen with these memories. They have
            the estimate under the most similar memories. Without any, they have that of another
            instruction of the same name, or none.
    """

    text: str
    guessed: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class _Found:
    """An instruction outside of fusions: its line, name, identity and memories."""

    number: int
    name: str
    digest: str
    memories: _Memories
    line: str


class Estimates:
    """The estimates of one program's whole compiles under one limit of scoped memory."""

    def __init__(self) -> None:
        # None for instructions that have no estimate, such as bitcasts.
        self._cycles: dict[str, dict[_Memories, int | None]] = {}
        self._named: dict[str, int | None] = {}

    def learn(self, text: str) -> None:
        """Remembers the estimates of a whole compile."""
        for found in _instructions(text):
            cycles = _estimate(found)
            # It counts more than that of the instruction alone, whose tiles may not have compiled.
            self._cycles.setdefault(found.digest, {})[found.memories] = cycles
            self._named[found.name] = cycles

    def knows_alone(self, text: str) -> bool:
        """Whether the estimate of an instruction that is alone in a module is known."""
        found = _alone(text)
        return found.memories in self._cycles.get(found.digest, {})

    def learn_alone(self, text: str, cycles: int | None) -> None:
        """Remembers the estimate of an instruction that is alone in a module."""
        found = _alone(text)
        self._cycles.setdefault(found.digest, {}).setdefault(found.memories, cycles)

    def compare(self, text: str) -> tuple[int, int]:
        """Returns how many estimates of a whole compile are known, and how many of them differ."""
        known = differ = 0
        for found in _instructions(text):
            cycles = self._cycles.get(found.digest, {}).get(found.memories)
            if cycles is not None:
                known += 1
                differ += cycles != _estimate(found)
        return known, differ

    def fill(self, text: str) -> Filled:
        """Returns the text of a trial compile with estimates."""
        lines, guessed = text.splitlines(), []
        for found in _instructions(text):
            known = self._cycles.get(found.digest, {})
            if found.memories not in known:
                guessed.append(found.name)
            nearest = known.get(_nearest(found.memories, known))
            cycles = nearest if known else self._named.get(found.name)
            if cycles is not None:
                lines[found.number] = _with_estimate(found.line, cycles)
        return Filled("\n".join(lines), tuple(guessed))


def estimates_by_name(text: str) -> dict[str, int]:
    """Returns the estimates in the text of a compile, by the name of the instruction."""
    found = ((each.name, _estimate(each)) for each in _instructions(text))
    return {name: cycles for name, cycles in found if cycles is not None}


def identities(text: str) -> dict[str, str]:
    """Returns what each instruction is, by name: what it computes, and a number among its equals.

    An instruction has the same identity in other programs, whatever its name, memories and, for
    parameters, number are.
    """
    count: collections.Counter[str] = collections.Counter()
    found = {}
    for each in _instructions(text):
        _, shape, rest = _parts(each.line)
        is_parameter = rest.startswith("parameter(")
        digest = _digest(_SPACE.sub("", shape)) if is_parameter else each.digest
        count[digest] += 1
        found[each.name] = f"{digest[:16]}.{count[digest]}"
    return found


def matching(module: str, alone: Iterable[str]) -> list[bool]:
    """Returns of each module of an instruction alone whether `module` has this instruction."""
    known = {(found.digest, found.memories) for found in _instructions(module)}
    instructions = map(_alone, alone)
    return [(found.digest, found.memories) in known for found in instructions]


def _alone(text: str) -> _Found:
    """Returns the result of a module: the last instruction of the last computation."""
    *_, found = _instructions(text)
    return found


def _estimate(found: _Found) -> int | None:
    match = _ESTIMATE.search(found.line)
    return int(match.group(1)) if match else None


def _nearest(memories: _Memories, known: dict[_Memories, int | None]) -> _Memories:
    """Returns the known memories that differ for the fewest shapes."""

    def distance(other: _Memories) -> int:
        return sum(one != two for one, two in zip(memories, other, strict=False))

    return memories if memories in known else min(known, key=distance, default=memories)


class _Module:
    """The instructions of a module's text, by computation."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, list[tuple[int, str]]] = {}
        self._digests: dict[str, str] = {}
        current: list[tuple[int, str]] = []
        for number, line in enumerate(text.splitlines()):
            header = _COMPUTATION.match(line)
            if header:
                current = self._lines.setdefault(header.group(1), [])
            elif _INSTRUCTION.match(line):
                current.append((number, line))

    def instructions(self) -> Iterator[_Found]:
        """Yields the instructions of all computations that no fusion calls."""
        every = (line for lines in self._lines.values() for _, line in lines)
        calls = (found for line in every for found in _CALLED.findall(line))
        fused = {name for kind, name in calls if kind in _FUSED}
        for name, lines in self._lines.items():
            if name in fused:
                continue
            shapes: dict[str, str] = {}
            for number, line in lines:
                found, shape, rest = _parts(line)
                shapes[found] = shape
                if not _CALLERS.match(rest):
                    those = (shape, *(shapes.get(each, "") for each in _operands(rest)))
                    bare = tuple(_SPACE.sub("", each) for each in those)
                    memories = tuple(tuple(_SPACE.findall(each)) for each in those)
                    what = _NAME.sub("%", self._with_digests(_DONE.sub("done(", rest)))
                    yield _Found(number, found, _digest((what, bare)), memories, line)

    def _with_digests(self, rest: str) -> str:
        return _CALLED.sub(lambda found: f"{found[1]}={self._digest_of(found[2])}", rest)

    def _digest_of(self, name: str) -> str:
        """Returns a digest of a computation's result.

        Names, memories and the order of instructions do not change it: modules of an instruction
        alone have another order.
        """
        if name not in self._digests:
            values: dict[str, str] = {}
            result = ""
            for _, line in self._lines.get(name, []):
                found, shape, rest = _parts(line)
                text = self._with_digests(rest)
                text = _NAME.sub(lambda name: values.get(name[0], "%"), text)
                values[f"%{found}"] = _digest(_SPACE.sub("", f"{shape} {text}"))
                if line.lstrip().startswith("ROOT "):
                    result = values[f"%{found}"]
            self._digests[name] = result
        return self._digests[name]


def _instructions(text: str) -> Iterator[_Found]:
    return _Module(text).instructions()


def _parts(line: str) -> tuple[str, str, str]:
    """Returns name, shape, and the opcode with operands and attributes."""
    match = _INSTRUCTION.match(line)
    assert match is not None
    text = _COMMENT.sub("", line[match.end() :])
    cut = _ATTRIBUTES.search(text)
    text = text[: cut.start()] if cut else text
    end = _end_of_shape(text)
    return match.group(1), text[:end], text[end + 1 :]


def _end_of_shape(text: str) -> int:
    """Returns the place of the space after the shape, which may be a tuple."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "({[") - (letter in ")}]")
        if letter == " " and depth == 0:
            return place
    return len(text)


def _operands(rest: str) -> list[str]:
    inside = rest[rest.find("(") : rest.find(")") + 1]
    return [name[1:] for name in _NAME.findall(inside)]


def _digest(parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _with_estimate(line: str, cycles: int) -> str:
    config = f'"window_config":{{"estimated_cycles":"{cycles}"}}'
    place = line.find(_CONFIG)
    if place < 0:
        return f"{line}, {_CONFIG}{config}}}"
    place += len(_CONFIG)
    return f"{line[:place]}{config}{'' if line[place] == '}' else ','}{line[place:]}"
