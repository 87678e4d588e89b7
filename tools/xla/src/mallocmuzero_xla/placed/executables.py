"""Makes files of placed executables that `optimize` has found, and keeps them in the cache."""

from __future__ import annotations

import hashlib
import pathlib
import threading
from collections.abc import Mapping
from typing import Any

from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import Traced
from mallocmuzero_xla.compiler.placed_payload import check_entry, raw_executable
from mallocmuzero_xla.compiler.store import stem_of
from mallocmuzero_xla.errors import CaptureError, in_one_line
from mallocmuzero_xla.placed.packing import pack
from mallocmuzero_xla.placed.place_search import Found


class Executables:
    """The executables of one function. `prepare` comes first; any thread may call the methods."""

    def __init__(
        self, traced: Traced, chip: Chip, compiler_options: Mapping[str, Any], cache: pathlib.Path
    ) -> None:
        """`compiler_options` are the user's; files go below the folder `cache`."""
        self._traced = traced
        self._chip = chip
        self._own = dict(compiler_options)
        program = traced.program
        self._stem = cache / "placed" / chip.name / f"{stem_of(program)}-{program.sha256}"
        self._lock = threading.Lock()  # guards _compiled and _error
        self._compiled: Any = None
        self._error: CaptureError | None = None

    def prepare(self, options: Mapping[str, str]) -> None:
        """Compiles the function in this process, once, for jax's notes on arguments and results.

        A child process must have compiled it under these `options`: the compiler may abort the
        process otherwise. Raises CaptureError if jax cannot save executables of this function.
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._compiled is not None:
                return
            try:
                compiled = self._compile(options)
                pack(self._traced, compiled, raw_executable(compiled), self._chip.name, {})
            except CaptureError as error:
                self._error = error
                raise
            self._compiled = compiled

    def keep(self, found: Found) -> pathlib.Path:
        """Writes the file of an executable into the cache and returns its path.

        Raises CaptureError if the module is not one of this function, or cannot be written.
        """
        assert self._compiled is not None
        check_entry(self._compiled, found.module)
        file = pack(self._traced, self._compiled, found.executable, self._chip.name, found.report)
        digest = hashlib.sha256(file.call).hexdigest()[:16]
        path = self._stem.with_name(f"{self._stem.name}-{digest}.placed")
        try:
            file.write(path)
        except OSError as error:
            raise CaptureError(f"{path}: not written ({error})") from error
        return path

    def _compile(self, options: Mapping[str, str]) -> Any:
        try:
            return self._traced.lowered.compile(compiler_options={**self._own, **options})
        except Exception as error:  # the compiler raises several unrelated types
            raise CaptureError(in_one_line(error)) from error
