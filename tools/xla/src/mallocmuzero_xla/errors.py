"""Errors a caller can act on; each message is one line saying what would be right."""


class CaptureError(Exception):
    """A capture could not be made."""


class UsageError(CaptureError):
    """The request itself is wrong (the shell front end exits with 2)."""


class MissingCompilerError(UsageError):
    """jax or libtpu is not installed."""


class CompileError(CaptureError):
    """The compiler reported an error; compiling the same input again gives the same error."""


class UnprintableError(CaptureError):
    """The function compiles, but jax cannot print the compiled module."""


class WorkerLostError(CaptureError):
    """The compile process aborted or ran past its time limit."""


class WorkerKilledError(WorkerLostError):
    """The system killed the compile process, most likely for lack of memory."""


class BudgetSpentError(CaptureError):
    """The seconds, trial compiles or whole compiles of the budget are spent."""


class PlacedError(CaptureError):
    """A placed executable cannot be used: it is not for this file, machine or function."""


class FallbackWarning(UserWarning):
    """A function runs as jax.jit compiles it, in place of its placed executable."""


def in_one_line(error: Exception) -> str:
    """Returns the type and message of an exception of foreign code, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:2000]}"
