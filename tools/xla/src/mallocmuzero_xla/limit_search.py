"""Finds the limit of scoped memory under which a program is fastest.

A higher limit may make instructions faster, but leaves less memory for tensors.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator
from fractions import Fraction

from mallocmuzero_xla.binary import Binary
from mallocmuzero_xla.budget import Budget
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.errors import (
    BudgetSpentError,
    CaptureError,
    CompileError,
    WorkerLostError,
)
from mallocmuzero_xla.lowering import LoweredProgram
from mallocmuzero_xla.progress import LoopProgress
from mallocmuzero_xla.scoped_limit import OPTION, with_options
from mallocmuzero_xla.store import CaptureStore
from mallocmuzero_xla.trial_compiler import TrialCompiler
from mallocmuzero_xla.variants import DEFAULT, Variant
from mallocmuzero_xla.verified import Verified

# Limits to try, as multiples of the chip's own. First the higher ones, until one is slower than its
# predecessor by more than the tolerance. If none of them helps, the lower ones in the same way.
# Last, the limits a finer step to either side of the best.
_ABOVE = (Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4))
_BELOW = (Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
_TOLERANCE = 0.002
_FINER = Fraction(1, 4)


@dataclasses.dataclass(frozen=True)
class Default:
    """The compiler's own result under one limit, without overrides.

    Attributes:
        options: compiler options that set the limit; empty for the compiler's own.
        cycles: the compiler's estimate.
        seconds: duration of the compile, in this run or an earlier one.
    """

    options: dict[str, str]
    cycles: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class Tuned:
    """The outcome of a search for a limit.

    Attributes:
        default: the result under the chip's own limit; if the program does not compile under it,
            under the first other limit that works.
        best: the result under the best limit, which may be the chip's own.
        compiles: the number of compiles.
        interrupted: whether Ctrl-C ended the search.
        default_error: why the program does not compile under the chip's own limit; None if it does.
    """

    default: Default
    best: Default
    compiles: int
    interrupted: bool = False
    default_error: str | None = None


class LimitSearch:
    """Finds the limit under which the compiler itself makes a program fastest; call `run` once.

    For chips whose tensors and instructions share VMEM. Where tensors live in CMEM, the compiler's
    own limit is the whole VMEM already.
    """

    def __init__(
        self,
        program: LoweredProgram,
        captures: pathlib.Path,
        compiler: TrialCompiler,
        chip: Chip,
        binary: Binary,
        progress: LoopProgress,
    ) -> None:
        """`program` is the one that `compiler` compiles.

        The texts are kept below `captures`, in one folder for each limit.
        """
        self._program = program
        self._captures = captures
        self._compiler = compiler
        self._chip = chip
        self._binary = binary
        self._progress = progress
        self._found: dict[int, Default] = {}
        self._default_error: str | None = None

    def compile_default(self) -> Default:
        """Compiles under the chip's own limit, or else under the first other one that works.

        Has no time limit; raises as `run` does.
        """
        own = self._chip.scoped_vmem_kib
        if not self._found:
            try:
                self._found[own] = self._compile({}, Budget())
            except (CompileError, WorkerLostError) as error:
                self._default_error = str(error)
                self._progress.note(
                    f"the default does not compile ({error}); trying other limits of scoped memory"
                )
                self._compile_first(own, error)
        return next(iter(self._found.values()))

    def _compile_first(self, own: int, error: CaptureError) -> None:
        """Compiles under other limits until one works; raises `error` if none does."""
        for kib in (int(own * share) for share in (*_ABOVE, *_BELOW)):
            if self._leaves_room(kib):
                with contextlib.suppress(CompileError, WorkerLostError):
                    self._found[kib] = self._compile({OPTION: str(kib)}, Budget())
                    return
        raise error

    def run(self, seconds: float) -> Tuned:
        """Compiles under the chip's own limit, then tries others for `seconds`.

        Ctrl-C ends the search with the best so far. Raises CompileError or WorkerLostError if the
        program compiles under no limit.
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
        return Tuned(default, best, self._compiler.compiles, interrupted, self._default_error)

    def _try_others(self, own: int, budget: Budget) -> None:
        default = self.compile_default()
        for kib in self._candidates(own):
            if kib in self._found:
                continue
            if budget.remaining() < max(default.seconds, self._compiler.slowest_compile):
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
        """Returns the cycles of each compiled limit, by limit in KiB."""
        return {kib: found.cycles for kib, found in self._found.items()}

    def _candidates(self, own: int) -> Iterator[int]:
        """Yields limits to try; each depends on the results of those before it."""
        tried = {own}
        for side in (_ABOVE, _BELOW):
            last = own
            for kib in (int(own * share) for share in side):
                if not self._leaves_room(kib):
                    break
                tried.add(kib)
                yield kib
                if kib not in self._found:
                    continue  # refused; the next may still compile
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
            text = self._compiler.compile(options, budget)
            store.add_text(variant, text, self._compiler.last_compile)
        cycles = self._binary.module_cycles(text, self._chip.name)
        return Default(options, cycles, store.seconds(variant))


def limit_alone(best: Default, verified: Verified) -> Verified:
    """Returns the loop's report with only the limit as its options."""
    return dataclasses.replace(
        verified,
        options=best.options,
        optimized_cycles=best.cycles,
        predicted_cycles=best.cycles,
        kept=[],
        mapping=None,
        program=None,
    )
