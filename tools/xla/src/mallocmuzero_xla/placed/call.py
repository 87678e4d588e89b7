"""A callable that runs a placed executable, or the plain function where it cannot."""

from __future__ import annotations

import functools
import inspect
import logging
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from mallocmuzero_xla.artefacts.artefact import Artefact
from mallocmuzero_xla.compiler.lowering import plain_text_of, result_types
from mallocmuzero_xla.compiler.placed_payload import LoadedCall
from mallocmuzero_xla.compiler.tracing import is_traced, mesh_devices
from mallocmuzero_xla.errors import FallbackWarning, PlacedError

_LOG = logging.getLogger("mallocmuzero_xla")

# Settings of jax that change a traced program, by name, with their words in a reason.
_SETTINGS = {
    "jax_default_matmul_precision": "precision of products",
    "jax_enable_x64": "jax_enable_x64",
    "jax_default_prng_impl": "jax_default_prng_impl",
    "jax_threefry_partitionable": "jax_threefry_partitionable",
}

_ANY_ARGUMENTS = inspect.signature(lambda *args, **kwargs: (args, kwargs))


class PlacedCall:
    """A callable with the signature of the placed function.

    It runs the function itself, through jax.jit, if shapes, types, trees, shardings or static
    arguments differ from those it was placed with, or within a transformation of jax, or under
    another setting of jax (_SETTINGS) than it was loaded under, or with arguments that belong on
    other devices. The first time it gives a FallbackWarning with the reason. A call that `apply`
    made logs each reason once instead, at level WARNING. Without a function it raises PlacedError,
    and settings and weak types do not matter. Under jax.disable_jit the function runs line by line,
    and nothing is reported.

    Results are as those of jax.jit: weak where these are, and committed to a device if an argument
    is.

    Attributes:
        compiled: the placed executable as a jax.stages.Compiled; None if it could not be loaded.
        reason: the last reason to run the function itself; None before the first.
        artefact: the artefact that `apply` found the executable by; None if it could not be loaded,
            or was loaded without an artefact.
    """

    def __init__(
        self,
        name: str,
        loaded: LoadedCall | None,
        parameters: Sequence[str],
        arguments: int,
        jitted: Callable[..., Any] | None,
        logs: bool = False,
    ) -> None:
        """Most arguments are fields of PlacedHeader; `jitted` is None or a result of jax.jit.

        `logs`: whether reasons go to the log, in the place of a warning.
        """
        self.compiled = loaded.compiled if loaded else None
        self.reason: str | None = None
        self.artefact: Artefact | None = None
        self.__name__ = name
        if jitted is not None:
            self.__wrapped__ = jitted  # which has the signature
            self.__doc__ = jitted.__doc__
        else:
            self.__signature__ = _ANY_ARGUMENTS
        self._static = loaded.static if loaded else {}
        self._loaded = loaded
        self._weak = loaded.weak if loaded else ()
        # The weak types of results, by those of arguments. The value is None for another program.
        self._weak_results: dict[tuple[bool, ...], tuple[bool, ...] | None] = {}
        self._executables: dict[tuple[bool, tuple[bool, ...] | None], Any] = {}
        self._parameters = {parameter: index for index, parameter in enumerate(parameters)}
        self._wanted = frozenset(range(arguments))
        self._jitted = jitted
        self._settings = _settings()
        self._logs = logs
        self._told: set[str] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function."""
        if self.compiled is None:
            assert self._jitted is not None  # load_placed checks this
            return self._jitted(*args, **kwargs)
        if self._jitted is not None and self._other_settings():
            return self._jitted(*args, **kwargs)
        try:
            dynamic = self._dynamic(args, kwargs) if kwargs or self._static else args
            leaves = _leaves(dynamic)
            stays = _has_committed(leaves)
            other = "" if stays or self._jitted is None else self._belongs_elsewhere()
            if not other:
                return self._executable(stays, self._weak_types(leaves))(*dynamic)
            reason = f"called under another {other} than it was placed for"
        except (TypeError, ValueError, _OtherArgumentsError) as error:
            # jax raises this before it runs anything, so no argument has been donated.
            words = " ".join(str(error).split())[:500]
            reason = f"called with what it was not placed for: {words}"
        self.fall_back(reason)
        assert self._jitted is not None
        return self._jitted(*args, **kwargs)

    def prepared(self, args: Sequence[Any]) -> Callable[[], Any]:
        """Returns a call with `args`, which are like those of the calls before.

        If all of these have run the executable, the call runs it without further checks.
        """
        if self.compiled is None or self.reason is not None:
            return functools.partial(self, *args)
        dynamic = self._dynamic(tuple(args), {}) if self._static else args
        leaves = _leaves(dynamic)
        executable = self._executable(_has_committed(leaves), self._weak_types(leaves))
        return functools.partial(executable, *dynamic)

    def compiled_for(self, lowered: Any) -> Any:
        """Returns the executable as the jax.stages.Compiled of a jax.stages.Lowered, or None.

        None if the trees of arguments or results differ. `lowered` is the same program.
        """
        compiled = self.compiled
        trees = (lowered.in_tree, lowered.out_tree)
        if compiled is None or (compiled.in_tree, compiled.out_tree) != trees:
            return None
        return self._executable(*result_types(lowered))

    def _executable(self, committed: bool, weak: tuple[bool, ...] | None) -> Any:
        """Returns the executable with results as those of jax.jit (LoadedCall.with_results)."""
        key = (committed, weak)
        found = self._executables.get(key)
        if found is None:
            assert self._loaded is not None  # the caller has checked this
            found = self._executables[key] = self._loaded.with_results(*key)
        return found

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Binds the first argument to the object of a method, as jax.jit's functions do."""
        return self if owner is None else types.MethodType(self, owner)

    def _other_settings(self) -> bool:
        """Whether jax's state demands the function itself.

        Falls back inside another jax.jit, and if settings have changed.
        """
        import jax

        if jax.config.jax_disable_jit:
            return True
        if is_traced():
            self.fall_back("called inside a transformation of jax", depth=3)
            return True
        now = _settings()
        if now == self._settings:
            return False
        pairs = zip(_SETTINGS.values(), self._settings, now, strict=True)
        name = next(words for words, loaded, here in pairs if loaded != here)
        self.fall_back(f"called under another {name} than it was loaded under", depth=3)
        return True

    def _belongs_elsewhere(self) -> str:
        """Returns what would make jax.jit run the function on other devices, or "".

        Only arguments that are committed to no device go there.
        """
        import jax

        if self._loaded is None or len(self._loaded.devices) > 1:
            return ""
        mesh = mesh_devices()
        if mesh is not None:
            return "" if mesh == set(self._loaded.devices) else "mesh"
        chosen = jax.config.jax_default_device
        if chosen is None:
            return ""
        default = jax.devices(chosen)[0] if isinstance(chosen, str) else chosen
        return "" if default in self._loaded.devices else "default device"

    def fall_back(self, reason: str, depth: int = 2) -> None:
        """Records and reports the reason for a fallback; raises PlacedError without a function.

        A warning points to the user's line, `depth` calls above.
        """
        self.reason = reason
        if self._jitted is None:
            raise PlacedError(f"{self.__name__}: {reason}")
        if reason in self._told or (self._told and not self._logs):
            return
        self._told.add(reason)
        if self._logs:
            _LOG.warning("%s runs as jax.jit compiles it: %s", self.__name__, reason)
            return
        message = f"{self.__name__}: {reason}; runs as jax.jit compiles it"
        warnings.warn(message, FallbackWarning, stacklevel=depth + 1)

    def _weak_types(self, leaves: Sequence[Any]) -> tuple[bool, ...] | None:
        """Returns of each result whether jax.jit would give it a weak type; None as compiled.

        Raises _OtherArgumentsError if the weak types of the arguments make another program. The
        executable would take them, but its results may have other types. Trees of another size are
        left to jax.
        """
        if self._jitted is None:
            return None
        found = tuple(_is_weak(leaf) for leaf in leaves)
        if found == self._weak or len(found) != len(self._weak):
            return None
        if found not in self._weak_results:
            self._weak_results[found] = self._results_under(found)
        results = self._weak_results[found]
        if results is not None:
            return results
        place = next(at for at, weak in enumerate(self._weak) if weak != found[at])
        number, array = "a Python number", "an array"
        given, wanted = (number, array) if found[place] else (array, number)
        raise _OtherArgumentsError(
            f"array argument {place} has the type of {given}, placed with that of {wanted}"
        )

    def _results_under(self, weak: tuple[bool, ...]) -> tuple[bool, ...] | None:
        """Returns the weak types of results under those of arguments, by tracing.

        None if the program is another one than that which was placed.
        """
        try:
            traced = self._traced(weak)
            same = plain_text_of(traced) == plain_text_of(self._traced(self._weak))
            return result_types(traced)[1] if same else None
        except Exception:  # jax.jit raises its own error in the call
            return None

    def _traced(self, weak: tuple[bool, ...]) -> Any:
        """Returns the function lowered under some weak types: a jax.stages.Lowered."""
        import jax

        assert self._loaded is not None
        leaves = [
            jax.ShapeDtypeStruct(info.shape, info.dtype, weak_type=each)
            for info, each in zip(self._loaded.infos, weak, strict=True)
        ]
        args, kwargs = self._loaded.arguments(leaves)
        jitted: Any = self._jitted
        return jitted.lower(*args, **kwargs)

    def _dynamic(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Returns the arguments that are not static, in order of position."""
        slots = dict(enumerate(args))
        for name, value in kwargs.items():
            position = self._parameters.get(name)
            if position is None or position in slots:
                raise _OtherArgumentsError(f"argument {name!r}")
            slots[position] = value
        if slots.keys() != self._wanted:
            raise _OtherArgumentsError(f"{len(slots)} arguments in place of {len(self._wanted)}")
        for position, wanted in self._static.items():
            given = slots.pop(position)
            if type(given) is not type(wanted) or given != wanted:
                raise _OtherArgumentsError(
                    f"static argument {position} is {given!r}, placed with {wanted!r}"
                )
        return [slots[position] for position in sorted(slots)]


def _settings() -> tuple[Any, ...]:
    """Returns the values of _SETTINGS in this thread."""
    import jax

    return tuple(getattr(jax.config, name, None) for name in _SETTINGS)


def _has_committed(leaves: Sequence[Any]) -> bool:
    """Whether one of the arrays is committed to its device: jax must not move it to another."""
    import jax

    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
    return any(not isinstance(each, jax.core.Tracer) and each.committed for each in arrays)


def _leaves(tree: Any) -> list[Any]:
    import jax

    return list(jax.tree.leaves(tree))


def _is_weak(leaf: Any) -> bool:
    """Whether an argument has a weak type, as a Python number and what is computed of it."""
    import jax

    kind = leaf if isinstance(leaf, jax.Array) else jax.typeof(leaf)
    return bool(getattr(kind, "weak_type", False))


class _OtherArgumentsError(Exception):
    """The arguments are not those that were placed."""
