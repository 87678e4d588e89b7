"""A callable that runs a placed executable, or the plain function where it cannot."""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from mallocmuzero_xla.artefacts.artefact import Artefact
from mallocmuzero_xla.compiler.lowering import plain_text_of
from mallocmuzero_xla.compiler.placed_payload import LoadedCall
from mallocmuzero_xla.compiler.tracing import is_traced
from mallocmuzero_xla.errors import FallbackWarning, PlacedError

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
    another device. The first time it gives a FallbackWarning with the reason. Without a function it
    raises PlacedError instead, and settings and weak types do not matter. Under jax.disable_jit the
    function runs line by line, without a warning.

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
    ) -> None:
        """The arguments are fields of PlacedHeader; `jitted` is None or a result of jax.jit."""
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
        self._same_program = {self._weak: True}  # by the weak types of calls
        self._parameters = {parameter: index for index, parameter in enumerate(parameters)}
        self._wanted = frozenset(range(arguments))
        self._jitted = jitted
        self._settings = _settings()
        self._warned = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function."""
        if self.compiled is None:
            assert self._jitted is not None  # load_placed checks this
            return self._jitted(*args, **kwargs)
        if self._jitted is not None and self._other_settings():
            return self._jitted(*args, **kwargs)
        if self._jitted is not None and self._belongs_elsewhere((args, kwargs)):
            self.fall_back("called under another default device than it was placed for")
            return self._jitted(*args, **kwargs)
        try:
            dynamic = self._dynamic(args, kwargs) if kwargs or self._static else args
            if self._jitted is not None:
                self._check_weak_types(dynamic)
            return self.compiled(*dynamic)
        except (TypeError, ValueError, _OtherArgumentsError) as error:
            # jax raises this before it runs anything, so no argument has been donated.
            reason = " ".join(str(error).split())[:500]
        self.fall_back(f"called with what it was not placed for: {reason}")
        assert self._jitted is not None
        return self._jitted(*args, **kwargs)

    def prepared(self, args: Sequence[Any]) -> Callable[[], Any]:
        """Returns a call with `args`, which are like those of the calls before.

        If all of these have run the executable, the call runs it without further checks.
        """
        if self.compiled is None or self.reason is not None:
            return functools.partial(self, *args)
        dynamic = self._dynamic(tuple(args), {}) if self._static else args
        return functools.partial(self.compiled, *dynamic)

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

    def _belongs_elsewhere(self, arguments: Any) -> bool:
        """Whether jax.jit would run the function on another device, by its default device.

        Only arguments that are committed to no device go there.
        """
        import jax

        chosen = jax.config.jax_default_device
        if chosen is None or self._loaded is None or len(self._loaded.devices) > 1:
            return False
        default = jax.devices(chosen)[0] if isinstance(chosen, str) else chosen
        if default in self._loaded.devices:
            return False
        return not any(getattr(leaf, "committed", False) for leaf in jax.tree.leaves(arguments))

    def fall_back(self, reason: str, depth: int = 2) -> None:
        """Records the reason for a fallback; warns once, or raises PlacedError without a function.

        The warning points to the user's line, `depth` calls above.
        """
        self.reason = reason
        if self._jitted is None:
            raise PlacedError(f"{self.__name__}: {reason}")
        if not self._warned:
            self._warned = True
            message = f"{self.__name__}: {reason}; runs as jax.jit compiles it"
            warnings.warn(message, FallbackWarning, stacklevel=depth + 1)

    def _check_weak_types(self, dynamic: Sequence[Any]) -> None:
        """Raises _OtherArgumentsError if the weak types of a call make another program.

        The executable would take the arguments, but the function's results may have other types.
        Trees of another size are left to jax.
        """
        import jax

        found = tuple(_is_weak(leaf) for leaf in jax.tree.leaves(dynamic))
        if len(found) != len(self._weak) or self._is_same_program(found):
            return
        place = next(at for at, weak in enumerate(self._weak) if weak != found[at])
        number, array = "a Python number", "an array"
        given, wanted = (number, array) if found[place] else (array, number)
        raise _OtherArgumentsError(
            f"array argument {place} has the type of {given}, placed with that of {wanted}"
        )

    def _is_same_program(self, weak: tuple[bool, ...]) -> bool:
        """Whether the function is the same program under other weak types; it is traced once."""
        known = self._same_program.get(weak)
        if known is None:
            try:
                known = self._traced(weak) == self._traced(self._weak)
            except Exception:  # jax.jit raises its own error in the call
                known = False
            self._same_program[weak] = known
        return known

    def _traced(self, weak: tuple[bool, ...]) -> str:
        """Returns the StableHLO of the function under some weak types."""
        import jax

        assert self._loaded is not None
        leaves = [
            jax.ShapeDtypeStruct(info.shape, info.dtype, weak_type=each)
            for info, each in zip(self._loaded.infos, weak, strict=True)
        ]
        args, kwargs = self._loaded.arguments(leaves)
        jitted: Any = self._jitted
        return plain_text_of(jitted.lower(*args, **kwargs))

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


def _is_weak(leaf: Any) -> bool:
    """Whether an argument has a weak type, as a Python number and what is computed of it."""
    import jax

    kind = leaf if isinstance(leaf, jax.Array) else jax.typeof(leaf)
    return bool(getattr(kind, "weak_type", False))


class _OtherArgumentsError(Exception):
    """The arguments are not those that were placed."""
