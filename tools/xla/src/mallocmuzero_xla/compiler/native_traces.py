"""Keeps stack traces of jaxlib's C++ code off the stderr of a user's process."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
from collections.abc import Iterator

# A line of jaxlib's log, and the trace below it.
_TRACE = re.compile(
    rb"^E\d{4} [^\n]*\n\*\*\* Begin stack trace \*\*\*\n.*?^\*\*\* End stack trace \*\*\*\n+",
    re.DOTALL | re.MULTILINE,
)

_lock = threading.Lock()  # guards file descriptor 2


@contextlib.contextmanager
def without_native_traces() -> Iterator[None]:
    """Leaves out the stack traces that jaxlib logs; other output to stderr comes at the end.

    jaxlib logs an error and its trace before it raises the error. The level of its log is fixed
    when the user imports jax. Use it around a short call.
    """
    with _lock, tempfile.TemporaryFile() as log:
        try:
            stderr = os.dup(2)
        except OSError:  # closed
            yield
            return
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            log.seek(0)
            rest = _TRACE.sub(b"", log.read())
            with contextlib.suppress(OSError):
                os.write(2, rest)
