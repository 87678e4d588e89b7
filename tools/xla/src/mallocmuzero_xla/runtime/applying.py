"""apply(): a function that is compiled as an artefact says where the artefact fits."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import os
import pathlib
import threading
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from mallocmuzero_xla.artefacts.artefact import Artefact, is_folder, load_artefact
from mallocmuzero_xla.artefacts.fitting import Registry, clash_of
from mallocmuzero_xla.compiler.lowering import as_texts, jit_compiler_options, jit_of
from mallocmuzero_xla.compiler.placed_payload import same_tree
from mallocmuzero_xla.environment import recorded_options
from mallocmuzero_xla.errors import PlacedError, UsageError, in_one_line
from mallocmuzero_xla.placed.call import PlacedCall
from mallocmuzero_xla.placed.loading import call_of, load_here, require_options
from mallocmuzero_xla.runtime.call_signature import split_call

_LOG = logging.getLogger("mallocmuzero_xla")

_File = str | os.PathLike[str]
_ONE = (Artefact, str, os.PathLike)


class Result(Protocol):
    """A result of optimize, optimize_many or place."""

    @property
    def registry(self) -> Registry:
        """Returns its artefacts and placed executables."""


_Given = Artefact | Registry | _File | Sequence[Artefact | _File]
Artefacts = _Given | Result


class AppliedFunction:
    """A callable with the signature of jax.jit's function.

    Each new set of shapes, types, shardings and static arguments is lowered once and compared with
    the artefacts. Where one fits, calls run its placed executable or the function compiled with its
    options; else the function as jax.jit compiles it. A line at level WARNING says the reason, once
    for each reason. Inside a transformation of jax the function is traced without options. Any
    thread may call it.

    Attributes:
        artefact: the artefact that the last new call used; None if it used none.
        reason: why that call used none; empty if it used one.
    """

    def __init__(
        self, fn: Callable[..., Any], registry: Registry, reason: str, options: Mapping[str, Any]
    ) -> None:
        """`reason` says why `registry` is empty, if it is; `options` are for jax.jit."""
        self.artefact: Artefact | None = None
        self.reason = ""
        self._plain = jit_of(fn, options)
        self._registry = registry
        self._chosen: dict[Any, Any] = {}
        self._locks: dict[Any, threading.Lock] = {}  # of signatures that a thread chooses for
        self._logged: set[str] = set()
        self.__name__ = getattr(fn, "__name__", "function")
        self.__doc__ = getattr(fn, "__doc__", None)
        if reason:
            self._fall_back(reason)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function."""
        if not len(self._registry):
            return self._plain(*args, **kwargs)
        try:
            call = split_call(self._plain, args, kwargs)
            key = call.signature()
        except Exception as error:  # private names of jax have moved, or jax.jit refuses the call
            self._fall_back(f"the call cannot be described: {in_one_line(error)}")
            return self._plain(*args, **kwargs)
        if key is None:
            return self._plain(*args, **kwargs)
        try:
            chosen = self._chosen.get(key)
        except TypeError:  # a static argument without a hash, which jax.jit refuses
            return self._plain(*args, **kwargs)
        if chosen is None:
            chosen = self._chosen_once(key, args, kwargs)
        if chosen is None:
            # Another call of this signature may work, so an error of jax.jit decides nothing.
            result = self._plain(*args, **kwargs)
            self._chosen[key] = self._plain
            return result
        if isinstance(chosen, PlacedCall):
            result = chosen(*args, **kwargs)
            if chosen.reason is not None:  # which it has logged
                self.artefact, self.reason = None, chosen.reason
            return result
        if chosen is self._plain:
            return chosen(*args, **kwargs)
        return chosen(*call.args, **call.kwargs)

    def prepared(self, args: Sequence[Any]) -> Callable[[], Any]:
        """Returns a call with `args`, which runs what an earlier call like it has chosen."""
        chosen = None
        with contextlib.suppress(Exception):  # the call says what is wrong with it
            call = split_call(self._plain, tuple(args), {})
            chosen = self._chosen.get(call.signature())
        if chosen is None or chosen is self._plain:
            return functools.partial(chosen or self, *args)
        if isinstance(chosen, PlacedCall):
            return chosen.prepared(args)
        return functools.partial(chosen, *call.args)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Binds the first argument to the object of a method, as jax.jit's functions do."""
        return self if owner is None else types.MethodType(self, owner)

    def __getattr__(self, name: str) -> Any:
        """Returns what jax.jit's function has beside: its signature, `trace`, `eval_shape`..."""
        return getattr(_part(self, "_plain"), name)

    def lower(self, *args: Any, **kwargs: Any) -> AppliedLowered:
        """Lowers as jax.jit does; `compile` of the result uses the artefact where it fits."""
        return AppliedLowered(self, self._plain.lower(*args, **kwargs))

    def compiled(self, lowered: Any, given: Mapping[str, Any]) -> Any:
        """Returns the artefact's jax.stages.Compiled for `lowered`, or None.

        `given` are compiler options, which come before those of the artefact.
        """
        call = self._find(lowered, given)
        if not isinstance(call, PlacedCall):
            return call
        compiled = call.compiled_for(lowered)
        if compiled is None:
            self._fall_back("the executable takes its arguments in another tree")
        return compiled

    def _chosen_once(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Chooses for a new signature; other threads with the same one wait for this choice."""
        with self._locks.setdefault(key, threading.Lock()):
            chosen = self._chosen.get(key)
            if chosen is None:
                chosen = self._choose(args, kwargs)
            if chosen is not None:
                self._chosen[key] = chosen
        self._locks.pop(key, None)
        return chosen

    def _choose(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns a PlacedCall, a jax.stages.Compiled, or the function of jax.jit.

        None if the call cannot be lowered.
        """
        try:
            lowered = self._plain.lower(*args, **kwargs)
        except Exception as error:  # jax.jit raises its own error in the call
            self._fall_back(f"cannot be lowered: {in_one_line(error)}")
            return None
        return self._find(lowered, {}) or self._plain

    def _find(self, lowered: Any, given: Mapping[str, Any]) -> Any:
        """Returns a PlacedCall, a jax.stages.Compiled, or None where no artefact is of use."""
        try:
            return self._best(lowered, given)
        except UsageError as error:
            self._fall_back(str(error))
        except Exception as error:  # for example private names of jax have moved
            self._fall_back(f"the artefact cannot be used: {in_one_line(error)}")
        return None

    def _best(self, lowered: Any, given: Mapping[str, Any]) -> Any:
        """Does the work of `_find`; raises what goes wrong."""
        artefacts, reason = self._registry.fitting(lowered)
        reasons = [] if artefacts else [reason]
        for artefact in artefacts:
            call, reason = self._made(artefact, lowered, given)
            if not reason:
                self.artefact, self.reason = artefact, ""
                for each in reasons:
                    self._log(f"runs with an artefact that is not the best: {each}")
                return call
            reasons.append(reason)
        self._fall_back(reasons[0])
        return None

    def _made(
        self, artefact: Artefact, lowered: Any, given: Mapping[str, Any]
    ) -> tuple[PlacedCall | Any, str]:
        """Returns what an artefact makes of a function, and why it is of no use or "".

        The first part is None if the default is the best.
        """
        own = jit_compiler_options(lowered)
        options = artefact.compiler_options
        clash = clash_of(artefact, own)
        if clash:
            return None, clash
        try:
            placed = self._placed(artefact, lowered, {**own, **as_texts(given)})
        except PlacedError as error:
            return None, f"its placed executable cannot run: {error}"
        if placed is not None or not options:
            return placed, ""
        self._miss_options(artefact, {**own, **as_texts(given)})
        try:
            return lowered.compile(compiler_options={**options, **given}), ""
        except Exception as error:  # the compiler raises several unrelated types
            return None, f"does not compile with the options: {in_one_line(error)}"

    def _miss_options(self, artefact: Artefact, own: Mapping[str, str]) -> None:
        """Logs options that every compile of the search had, and that nothing sets here."""
        here = {**recorded_options(), **own}
        for name, value in sorted(artefact.own_options.items()):
            if here.get(name) != value:
                self._log(f"runs without the option {name}={value}, which the search had")

    def _placed(
        self, artefact: Artefact, lowered: Any, own: Mapping[str, str]
    ) -> PlacedCall | None:
        """Loads the placed executable of an artefact; None if the artefact is of options.

        It must have been compiled with the user's `own` options.
        """
        file = self._registry.executable(artefact)
        if file is None:
            return None
        header = file.header
        require_options(header, own)
        loaded = load_here(file)
        if not same_tree(loaded.compiled.out_tree, lowered.out_tree):
            raise PlacedError("it returns its results in another tree than the function")
        return PlacedCall(
            self.__name__, loaded, header.parameters, header.arguments, self._plain, logs=True
        )

    def _fall_back(self, reason: str) -> None:
        """Records and logs why the last new call used no artefact."""
        self.artefact, self.reason = None, reason
        self._log(f"runs as jax.jit compiles it: {reason}")

    def _log(self, line: str) -> None:
        if line not in self._logged:
            self._logged.add(line)
            _LOG.warning("%s %s", self.__name__, line)


class AppliedLowered:
    """A lowered function: a jax.stages.Lowered whose `compile` uses the artefact where it fits."""

    def __init__(self, function: AppliedFunction, lowered: Any) -> None:
        self._function = function
        self._lowered = lowered

    def __getattr__(self, name: str) -> Any:
        return getattr(_part(self, "_lowered"), name)

    def compile(self, compiler_options: Mapping[str, Any] | None = None) -> Any:
        """Returns a jax.stages.Compiled; `compiler_options` come before those of the artefact."""
        tuned = self._function.compiled(self._lowered, compiler_options or {})
        return tuned or self._lowered.compile(compiler_options=compiler_options)


def _part(whole: object, name: str) -> Any:
    """Returns a part that other attributes come from; `copy` asks before there is one."""
    if name not in vars(whole):
        raise AttributeError(name)
    return vars(whole)[name]


def apply(fn: Callable[..., Any], artefacts: Artefacts, **jit_options: Any) -> Any:
    """Returns jax.jit(fn, **jit_options), compiled with options where an artefact fits.

    Nothing that is wrong with an artefact raises. The function then runs as jax.jit compiles it,
    and one line of the log (logger "mallocmuzero_xla", level WARNING) says why. Without
    `jit_options`, a single artefact with a placed executable brings those about donated and static
    arguments.

    A placed executable is unpickled, which runs code of its author: apply only artefacts from a
    trusted source.

    Args:
        fn: a function, or a result of jax.jit, then without `jit_options`.
        artefacts: an artefact, its file, a sequence of artefacts and files, a folder of files, a
            Registry, or the result of a search.
        jit_options: keyword arguments of jax.jit; those of the search.

    Returns:
        An AppliedFunction; for a single artefact with a placed executable, a PlacedCall.

    Raises UsageError if `artefacts` is something else, or jax.jit refuses `jit_options`.
    """
    given = _given(artefacts)
    try:
        registry = _registry_of(given)
        if len(registry) == 1:
            (artefact,) = registry
            file = registry.executable(artefact)
            if file is not None:
                return call_of(file, fn, jit_options, check=True, artefact=artefact)
    except (UsageError, PlacedError) as error:
        return AppliedFunction(fn, Registry(), str(error), jit_options)
    reason = "" if len(registry) else _no_artefact(given)
    return AppliedFunction(fn, registry, reason, jit_options)


def _given(artefacts: Any) -> _Given:
    """Takes the registry of a result; raises UsageError for what can be no artefacts."""
    given: Any = getattr(artefacts, "registry", artefacts)
    if isinstance(given, (Registry, *_ONE)):
        return given
    several = list(given) if isinstance(given, Iterable) else [given]
    for each in several:
        if not isinstance(each, _ONE):
            raise UsageError(
                f"artefacts has a {type(each).__name__}: expected an artefact, its file, a folder, "
                f"several artefacts and files, a Registry, or the result of a search"
            )
    return several


def _registry_of(artefacts: _Given) -> Registry:
    if isinstance(artefacts, Registry):
        return artefacts
    if isinstance(artefacts, Artefact):
        return Registry([artefacts])
    if isinstance(artefacts, str | os.PathLike):
        path = pathlib.Path(artefacts)
        if is_folder(path):
            return registry_in(path)
        return Registry([load_artefact(path)], path.parent)
    given = (each if isinstance(each, Artefact) else _at(each) for each in artefacts)
    return Registry(each for each in given if each is not None)


def _at(path: _File) -> Artefact | None:
    """Returns the artefact of a file, with the whole path of its executable; None as `_read`."""
    artefact = _read(path)
    if artefact is None or artefact.executable is None:
        return artefact
    file = pathlib.Path(path).absolute().parent / artefact.executable.file
    executable = dataclasses.replace(artefact.executable, file=str(file))
    return dataclasses.replace(artefact, executable=executable)


def _read(path: _File) -> Artefact | None:
    """Returns the artefact of a file; logs why if there is none, and returns None."""
    try:
        return load_artefact(path)
    except UsageError as error:
        _LOG.warning("%s; not used", error)
        return None


def _no_artefact(artefacts: Artefacts) -> str:
    where = f"{os.fspath(artefacts)}: " if isinstance(artefacts, str | os.PathLike) else ""
    return f"{where}there is no artefact"


def load_registry(folder: str | os.PathLike[str]) -> Registry:
    """Reads every artefact, a file *.json, of a folder; logs and passes over other JSON files.

    Logs that there is no artefact, also where there is no such folder.
    """
    registry = registry_in(folder)
    if not len(registry):
        _LOG.warning("%s", _no_artefact(folder))
    return registry


def registry_in(folder: _File) -> Registry:
    """Does the work of load_registry, for callers that say themselves that there is no artefact."""
    found = (_read(path) for path in sorted(pathlib.Path(folder).glob("*.json")))
    return Registry((each for each in found if each is not None), folder)
