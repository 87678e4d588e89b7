"""Finds how much memory instructions should have for themselves, and tensors be left with.

A higher limit of scoped memory may make instructions faster, and leaves less for tensors.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator
from fractions import Fraction

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.errors import BudgetSpentError, CompileError, WorkerLostError
from mallocmuzero_xla.looker import Looker
from mallocmuzero_xla.lowering import LoweredProgram
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.scoped_limit import OPTION, with_options
from mallocmuzero_xla.store import CaptureStore
from mallocmuzero_xla.variants import DEFAULT, Variant
from mallocmuzero_xla.verified import Verified

# Limits that are tried, as shares of the chip's own: higher ones until one is slower by more than
# the tolerance than the one before; lower ones likewise if no higher one was faster; then those to
# either side of the best.
_ABOVE = (Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4))
_BELOW = (Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
_TOLERANCE = 0.002
_FINER = Fraction(1, 4)


@dataclasses.dataclass(frozen=True)
class Default:
    """A program as the compiler makes it under one limit, without any overrides.

    Attributes:
        options: compiler options that set the limit; empty for the compiler's own.
        cycles: the compiler's estimate.
        seconds: that the compile took, be it now or earlier.
    """

    options: dict[str, str]
    cycles: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Tuned:
    """What a search for a limit found.

    Attributes:
        default: under the chip's own limit.
        best: under the best, which may be the chip's own.
        compiles: that it took.
        interrupted: whether Ctrl-C ended it.
    """

    default: Default
    best: Default
    compiles: int
    interrupted: bool = False


class LimitSearch:
    """Finds the limit under which the compiler itself makes a program fastest; call `run` once.

    For chips whose tensors and instructions share VMEM: where tensors have CMEM there is nothing to
    trade, and the compiler's own limit is all the VMEM that there is.
    """

    def __init__(
        self,
        program: LoweredProgram,
        captures: pathlib.Path,
        looker: Looker,
        chip: Chip,
        binary: Binary,
        progress: LoopProgress,
    ) -> None:
        """`program` is the one that `looker` compiles.

        What is compiled is kept below `captures`, in a folder for each limit.
        """
        self._program = program
        self._captures = captures
        self._looker = looker
        self._chip = chip
        self._binary = binary
        self._progress = progress
        self._found: dict[int, Default] = {}

    def compile_default(self) -> Default:
        """Compiles under the chip's own limit, be the time what it may; raises as `run` does."""
        own = self._chip.scoped_vmem_kib
        if own not in self._found:
            self._found[own] = self._compile({}, Budget())
        return self._found[own]

    def run(self, seconds: float) -> Tuned:
        """Tries limits for `seconds`, after the chip's own, which takes what it takes.

        Ctrl-C ends it with what has been found. Raises CompileError or WorkerLostError if the
        program does not compile under the chip's own.
        """
        own = self._chip.scoped_vmem_kib
        default = self.compile_default()
        interrupted = False
        try:
            if seconds > 0:
                self._try_others(own, Budget(seconds))
        except KeyboardInterrupt:
            interrupted = True
        best = self._found[self._best()]
        return Tuned(default, best, self._looker.compiles, interrupted)

    def _try_others(self, own: int, budget: Budget) -> None:
        default = self._found[own]
        for kib in self._candidates(own):
            if budget.remaining() < max(default.seconds, self._looker.slowest_compile):
                break
            try:
                self._found[kib] = self._compile({OPTION: str(kib)}, budget)
            except BudgetSpentError:
                break
            except (CompileError, WorkerLostError) as error:
                self._progress.note(f"scoped memory up to {kib / 1024:g} MiB: {error}")
            else:
                gain = 1 - self._cycles(kib) / default.cycles
                self._progress.note(f"scoped memory up to {kib / 1024:g} MiB: {gain:.2%} compiled")

    def cycles_by_limit(self) -> dict[int, float]:
        """Returns what has been compiled, by limit in KiB."""
        return {kib: found.cycles for kib, found in self._found.items()}

    def _candidates(self, own: int) -> Iterator[int]:
        """Yields limits to try; what comes next depends on what was found."""
        tried = {own}
        for side in (_ABOVE, _BELOW):
            last = own
            for kib in (int(own * share) for share in side):
                if not self._leaves_room(kib):
                    break
                tried.add(kib)
                yield kib
                if kib not in self._found:
                    continue  # refused, which says nothing about the next
                if self._cycles(kib) > (1 + _TOLERANCE) * self._cycles(last):
                    break
                last = kib
            if self._best() != own:
                break
        best, step = self._best(), int(own * _FINER)
        for kib in (best - step, best + step):
            if kib > 0 and kib not in tried and self._leaves_room(kib):
                yield kib

    def _best(self) -> int:
        return min(self._found, key=self._cycles)

    def _leaves_room(self, kib: int) -> bool:
        return kib < (self._chip.shared_vmem_kib or 0)

    def _cycles(self, kib: int) -> float:
        return self._found[kib].cycles if kib in self._found else float("inf")

    def _compile(self, options: dict[str, str], budget: Budget) -> Default:
        program = with_options(self._program, options)
        store = CaptureStore(self._captures / program.sha256, program.function, self._chip)
        store.begin(program)
        variant = Variant(DEFAULT)
        if store.has(variant):
            text = store.read(variant)
        else:
            text = self._looker.compile(options, budget)
            store.add_text(variant, text, self._looker.last_compile)
        cycles = self._binary.module_cycles(text, self._chip.name)
        return Default(options, cycles, store.seconds(variant))


def limit_alone(best: Default, verified: Verified) -> Verified:
    """Returns what the loop reports, with a limit and nothing else in place of what it found."""
    return dataclasses.replace(
        verified,
        options=best.options,
        optimized_cycles=best.cycles,
        predicted_cycles=best.cycles,
        kept=[],
        mapping=None,
        program=None,
    )
