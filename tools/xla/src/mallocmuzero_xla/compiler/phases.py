"""Runs phases of the TPU compiler through the phase extension of PJRT's C API.

PHASE_OPTIMIZE makes of a program the scheduled module with all memory spaces, and a module for each
different instruction that becomes machine code by itself. PHASE_LOWER makes machine code for one of
the latter, and chooses its tiles, with which the estimate comes. A process that uses this module
may be aborted by the compiler.
"""

from __future__ import annotations

import ctypes
import functools
import pathlib
from collections.abc import Sequence
from typing import Any, ClassVar

from mallocmuzero_xla.errors import CompileError

PHASE_OPTIMIZE = "phase1_hlo_opts"
PHASE_LOWER = "phase2b_deduped_lowering"

# Places of functions in PJRT_Api, after its size, extensions and version.
_ERROR_DESTROY, _ERROR_MESSAGE, _PLUGIN_INITIALIZE, _TOPOLOGY_CREATE = 0, 1, 3, 82

# PJRT_Extension_Type_PhaseCompile.
_PHASE_COMPILE = 9

_Bytes = ctypes.POINTER(ctypes.c_char)
_Function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class _Arguments(ctypes.Structure):
    """What all structures of arguments begin with."""

    _fields_: ClassVar[Sequence[tuple[str, type[Any]]]] = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
    )

    def __init__(self, **fields: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **fields)


class _Api(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
        ("version", ctypes.c_byte * 24),
        ("functions", _Function * (_TOPOLOGY_CREATE + 1)),
    )


class _Extension(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("get_compiler", _Function),
        ("destroy_compiler", _Function),
        ("run_phase", _Function),
        ("get_phase_names", _Function),
    )


class _ErrorMessage(_Arguments):
    _fields_ = (
        ("error", ctypes.c_void_p),
        ("message", _Bytes),
        ("message_size", ctypes.c_size_t),
    )


class _ErrorDestroy(_Arguments):
    _fields_ = (("error", ctypes.c_void_p),)


class _Topology(_Arguments):
    _fields_ = (
        ("topology_name", ctypes.c_char_p),
        ("topology_name_size", ctypes.c_size_t),
        ("create_options", ctypes.c_void_p),
        ("num_options", ctypes.c_size_t),
        ("topology", ctypes.c_void_p),
    )


class _GetCompiler(_Arguments):
    _fields_ = (("compiler", ctypes.c_void_p),)


class _PhaseNames(_Arguments):
    _fields_ = (
        ("compiler", ctypes.c_void_p),
        ("names", ctypes.POINTER(_Bytes)),
        ("sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("count", ctypes.c_size_t),
    )


class _RunPhase(_Arguments):
    _fields_ = (
        ("compiler", ctypes.c_void_p),
        ("inputs", ctypes.POINTER(ctypes.c_char_p)),
        ("input_sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("input_count", ctypes.c_size_t),
        ("phases", ctypes.POINTER(ctypes.c_char_p)),
        ("phase_sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("phase_count", ctypes.c_size_t),
        ("compile_options", ctypes.c_char_p),
        ("compile_options_size", ctypes.c_size_t),
        ("topology", ctypes.c_void_p),
        ("outputs", ctypes.POINTER(_Bytes)),
        ("output_sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("output_count", ctypes.c_size_t),
    )


class PhaseCompiler:
    """The compiler of one topology. It keeps what phases return until the process ends."""

    def __init__(self, library: pathlib.Path, topology: str) -> None:
        """Loads the library.

        Raises CompileError if the library cannot compile in phases, or not for the topology.
        """
        try:
            self._api = _api(library)
        except (OSError, AttributeError) as error:
            raise CompileError(f"{library}: not loaded ({error})") from error
        self._call(_PLUGIN_INITIALIZE, _Arguments())
        self._extension = self._phase_extension(library)
        name = topology.encode()
        made = _Topology(topology_name=name, topology_name_size=len(name))
        self._call(_TOPOLOGY_CREATE, made)
        self._topology = made.topology
        compiler = _GetCompiler()
        self._check(self._extension.get_compiler(ctypes.byref(compiler)))
        self._compiler = compiler.compiler
        missing = {PHASE_OPTIMIZE, PHASE_LOWER} - set(self.phases())
        if missing:
            raise CompileError(f"{library}: has no phases {', '.join(sorted(missing))}")

    def phases(self) -> list[str]:
        """Returns the names of all phases."""
        found = _PhaseNames(compiler=self._compiler)
        self._check(self._extension.get_phase_names(ctypes.byref(found)))
        return [each.decode() for each in _strings(found.names, found.sizes, found.count)]

    def run(self, phase: str, programs: Sequence[bytes], compile_options: bytes) -> list[bytes]:
        """Runs a phase on serialized PjRtPartialProgramProtos; returns those that it makes.

        Raises CompileError if the compiler refuses.
        """
        name = phase.encode()
        job = _RunPhase(
            compiler=self._compiler,
            inputs=(ctypes.c_char_p * len(programs))(*programs),
            input_sizes=(ctypes.c_size_t * len(programs))(*map(len, programs)),
            input_count=len(programs),
            phases=(ctypes.c_char_p * 1)(name),
            phase_sizes=(ctypes.c_size_t * 1)(len(name)),
            phase_count=1,
            compile_options=compile_options,
            compile_options_size=len(compile_options),
            topology=self._topology,
        )
        self._check(self._extension.run_phase(ctypes.byref(job)))
        return _strings(job.outputs, job.output_sizes, job.output_count)

    def _phase_extension(self, library: pathlib.Path) -> _Extension:
        place = self._api.extension_start
        while place:
            extension = _Extension.from_address(place)
            if extension.type == _PHASE_COMPILE:
                return extension
            place = extension.next
        raise CompileError(f"{library}: cannot compile in phases")

    def _call(self, function: int, arguments: _Arguments) -> None:
        self._check(self._api.functions[function](ctypes.byref(arguments)))

    def _check(self, error: int | None) -> None:
        """Raises CompileError, with the compiler's message, unless `error` is null."""
        if not error:
            return
        found = _ErrorMessage(error=error)
        self._api.functions[_ERROR_MESSAGE](ctypes.byref(found))
        words = ctypes.string_at(found.message, found.message_size).decode(errors="replace")
        self._api.functions[_ERROR_DESTROY](ctypes.byref(_ErrorDestroy(error=error)))
        raise CompileError(" ".join(words.split())[:2000])


@functools.cache
def _api(library: pathlib.Path) -> _Api:
    get_api = ctypes.CDLL(str(library)).GetPjrtApi
    get_api.restype = ctypes.POINTER(_Api)
    found = get_api().contents
    assert isinstance(found, _Api)
    return found


def _strings(pointers: Any, sizes: Any, count: int) -> list[bytes]:
    return [ctypes.string_at(pointers[place], sizes[place]) for place in range(count)]
