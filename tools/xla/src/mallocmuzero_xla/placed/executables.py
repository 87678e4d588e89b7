"""Makes files of placed executables that `optimize` has found, and keeps them in the cache."""

from __future__ import annotations

import hashlib
import pathlib
import threading
from collections.abc import Mapping
from typing import Any

from mallocmuzero_xla.artefacts.placed_file import PlacedFile
from mallocmuzero_xla.chips import Chip
from mallocmuzero_xla.compiler.lowering import Traced
from mallocmuzero_xla.compiler.placed_payload import raw_executable
from mallocmuzero_xla.compiler.store import stem_of
from mallocmuzero_xla.compiler.stub import CallNotes, has_stub
from mallocmuzero_xla.errors import CaptureError, PlacedError, in_one_line
from mallocmuzero_xla.placed.packing import calls_as, pack
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
        self._lock = threading.Lock()  # guards _notes and _error
        self._notes: CallNotes | None = None
        self._error: CaptureError | None = None

    @property
    def compiles_whole(self) -> bool:
        """Whether `prepare` compiles the function itself, which takes as long as other compiles."""
        return not has_stub(self._traced.lowered)

    @property
    def savable(self) -> bool:
        """False once `prepare` has found that jax cannot save executables of this function."""
        with self._lock:
            return self._error is None

    def prepare(self, options: Mapping[str, str]) -> None:
        """Compiles in this process, once, for jax's notes on arguments and results (stub.py).

        A child process must have compiled the function to the end under these `options`: the
        compiler may abort the process otherwise. Raises CaptureError if jax cannot save executables
        of this function.
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._notes is not None:
                return
            try:
                given = {**self._own, **options}
                notes = CallNotes(self._traced.lowered, given, lambda: self._compile(given))
                own = raw_executable(notes.compiled)
                pack(self._traced, notes.compiled, own, self._chip.name, {})
            except CaptureError as error:
                self._error = error
                raise
            self._notes = notes

    def takes(self, path: str) -> bool:
        """Whether a file of `keep` is there, and is called as this function is.

        The cache finds results by the text of the program alone.
        """
        try:
            return calls_as(PlacedFile.read(path), self._traced)
        except PlacedError:
            return False

    def keep(self, found: Found) -> pathlib.Path:
        """Writes the file of an executable into the cache and returns its path.

        Raises CaptureError if the module is not one of this function, or cannot be written.
        """
        with self._lock:
            assert self._notes is not None
            self._notes.require(found.module)
            compiled = self._notes.compiled
        file = pack(self._traced, compiled, found.executable, self._chip.name, found.report)
        digest = hashlib.sha256(file.call).hexdigest()[:16]
        path = self._stem.with_name(f"{self._stem.name}-{digest}.placed")
        try:
            file.write(path)
        except OSError as error:
            raise CaptureError(f"{path}: not written ({error})") from error
        return path

    def _compile(self, options: Mapping[str, Any]) -> Any:
        try:
            return self._traced.lowered.compile(compiler_options=dict(options))
        except Exception as error:  # the compiler raises several unrelated types
            raise CaptureError(in_one_line(error)) from error
