"""Splits the arguments of a call into static and other ones, and describes both."""

from __future__ import annotations

import dataclasses
from typing import Any

from mallocmuzero_xla.compiler.lowering import static_names, static_positions
from mallocmuzero_xla.compiler.tracing import is_traced, trace_context


@dataclasses.dataclass(frozen=True)
class SplitCall:
    """The arguments of one call of a function of jax.jit.

    Attributes:
        args, kwargs: the arguments that are not static, as a jax.stages.Compiled takes them.
        static: the static ones, by position or name.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: tuple[tuple[int | str, Any], ...]

    def signature(self) -> Any:
        """Returns what a compile depends on, hashable if the static arguments are.

        None where only jax.jit can run the function: inside a transformation of jax, and under
        jax.disable_jit.
        """
        import jax

        if jax.config.jax_disable_jit or is_traced():
            return None
        leaves, tree = jax.tree.flatten((self.args, self.kwargs))
        kinds: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, jax.core.Tracer):
                return None
            if isinstance(leaf, jax.Array):
                kinds.append((leaf.aval, *(_place(leaf) if leaf.committed else ())))
            elif hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
                kinds.append((tuple(leaf.shape), leaf.dtype))
            else:  # a number: its value is an input of the program
                kinds.append(type(leaf))
        # 2 == 2.0 == True in Python, but they make different programs.
        static = tuple((place, type(value), value) for place, value in self.static)
        return tree, tuple(kinds), static, trace_context()


def _place(array: Any) -> tuple[Any, Any]:
    """Returns the sharding and the layout of a committed array: jax moves only other arrays."""
    found = getattr(array, "format", None)  # absent in random keys
    return array.sharding, found.layout if found is not None else None


def split_call(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> SplitCall:
    """Splits the arguments of `jitted`, a result of jax.jit."""
    positions, names = static_positions(jitted, len(args)), static_names(jitted)
    if not positions and not names:
        return SplitCall(args, kwargs, ())
    by_position = [(index, args[index]) for index in sorted(positions)]
    by_name = [(name, kwargs[name]) for name in sorted(names & kwargs.keys())]
    return SplitCall(
        tuple(arg for index, arg in enumerate(args) if index not in positions),
        {name: value for name, value in kwargs.items() if name not in names},
        (*by_position, *by_name),
    )
