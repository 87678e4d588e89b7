"""optimize_many(): finds options for several functions within one budget."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mallocmuzero_xla.artefacts.fitting import Registry
from mallocmuzero_xla.budget import Budget, parse_duration
from mallocmuzero_xla.errors import CaptureError, UsageError
from mallocmuzero_xla.search.optimize import Optimized, optimize


@dataclasses.dataclass(frozen=True)
class OptimizedMany:
    """The results of several functions.

    Attributes:
        results: by name.
        failures: reasons by name, each a sentence, of functions without a result or an answer.
    """

    results: dict[str, Optimized]
    failures: dict[str, str]

    @property
    def registry(self) -> Registry:
        """Returns the artefacts and placed executables of all results, for `apply`."""
        results = self.results.values()
        return Registry(
            (result.artefact for result in results),
            unsaved=[
                (result.artefact, result.executable)
                for result in results
                if result.executable is not None
            ],
        )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes an artefact NAME.json for each result into `folder`, which `apply` takes.

        A placed executable goes beside its artefact, as NAME.placed.
        """
        for name, result in self.results.items():
            result.save(pathlib.Path(folder) / f"{name}.json")

    def summary(self) -> str:
        """Returns a line for each function."""
        lines = {name: result.summary() for name, result in self.results.items()}
        lines |= {name: f"failed: {reason}" for name, reason in self.failures.items()}
        return "\n".join(f"{name}: {line}" for name, line in lines.items())


def optimize_many(
    functions: Mapping[str, tuple[Any, ...]],
    budget: str | float = "5m",
    *,
    on_progress: Callable[[str], None] | None = None,
    **options: Any,
) -> OptimizedMany:
    """Calls `optimize` for each function; the budget is for all of them.

    Each function gets an equal share of the time that is left, so the time that one does not use
    is for the others. A cached result is an answer if its search had nearly an equal share of the
    whole budget. A function that fails does not end the call. A search that ends before an answer
    is a failure, too. Ctrl-C ends the search of the function at hand, and the call, which returns
    what there is. Before the first result it raises KeyboardInterrupt.

    Args:
        functions: by name, (fn, args) or (fn, args, jit_options), as builders return them.
        budget: time for all, such as "5m".
        on_progress: gets each line of progress, which begins with the name of the function.
        options: further keyword arguments of `optimize`.

    Raises UsageError if a name cannot be that of a file, or an entry is something else or has an
    option that is given for all, or if all functions fail for the same wrong request, such as a
    chip that is not known.
    """
    whole = Budget(parse_duration(budget))
    entries = {name: _checked(name, entry) for name, entry in functions.items()}
    for name, (_, _, jit_options) in entries.items():
        twice = jit_options.keys() & {*options, "budget", "on_progress"}
        if twice:
            raise UsageError(f"{name!r}: {min(twice)} is given for all functions")
    many = OptimizedMany({}, {})
    wrong: list[UsageError] = []
    interrupted = False
    for index, (name, (fn, args, jit_options)) in enumerate(entries.items()):
        if interrupted:
            many.failures[name] = "not searched: Ctrl-C came before"
            continue
        share = whole.remaining() / (len(entries) - index)
        if share < 1:
            many.failures[name] = "the budget is spent: grant more, or call again to go on"
            continue
        granted = Budget(share, asked=whole.seconds / len(entries))
        tell = _prefixed(name, on_progress) if on_progress else None
        try:
            found = optimize(fn, *args, budget=granted, on_progress=tell, **options, **jit_options)
        except (CaptureError, OSError) as error:
            many.failures[name] = str(error)
            wrong += [error] if isinstance(error, UsageError) else []
        except KeyboardInterrupt:
            if not many.results:
                raise
            many.failures[name] = "Ctrl-C came before it had a result"
            interrupted = True
        else:
            interrupted = bool(found.report["interrupted"])
            if not found.undecided:
                many.results[name] = found
            elif interrupted and not many.results:
                raise KeyboardInterrupt
            else:
                many.failures[name] = found.summary()
    if 0 < len(wrong) == len(entries) and len(set(map(str, wrong))) == 1:
        raise wrong[0]
    return many


def _checked(name: Any, entry: Any) -> tuple[Any, Sequence[Any], Mapping[str, Any]]:
    """Returns function, arguments and jit options; raises UsageError for anything else."""
    if not isinstance(name, str) or not name or pathlib.Path(name).name != name:
        raise UsageError(f"{name!r}: expected a name for a file")
    if not isinstance(entry, tuple | list) or len(entry) not in (2, 3):
        raise UsageError(f"{name!r}: expected (fn, args) or (fn, args, options)")
    fn, args, jit_options = (*entry, {})[:3]
    if not isinstance(args, tuple | list):
        # An array would become one argument for each of its rows.
        raise UsageError(f"{name!r}: args must be a tuple, not {type(args).__name__}")
    if not isinstance(jit_options, Mapping):
        raise UsageError(
            f"{name!r}: options must be a dictionary, not {type(jit_options).__name__}"
        )
    return fn, args, jit_options


def _prefixed(name: str, tell: Callable[[str], None]) -> Callable[[str], None]:
    return lambda line: tell(f"{name}: {line}")
