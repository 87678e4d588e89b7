"""Power cuts, which drop what was not synced, and disks that hang.

Both need power_cut.c, which is preloaded into the process whose disk is to suffer.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import pathlib
import random
import shutil
import time

from fault import Fault
from loopback_cluster import Cluster
from preload import check_loaded, compile_library, environment_of
from roles import Role

SOURCE = pathlib.Path(__file__).with_name("power_cut.c")

# A disk that hangs for longer must show in the output of `status`. A shard notices it 5 s after it
# has begun to use the disk, and it uses the disk once games come or are drawn.
SHOWN_SECONDS = 20.0


class Library:
    """power_cut.c, compiled."""

    def __init__(self, folder: pathlib.Path, compiler: str) -> None:
        self.path = compile_library(SOURCE, folder, compiler)
        self._key_of = ctypes.CDLL(str(self.path)).FaultsKeyOf
        self._key_of.restype = ctypes.c_bool

    def key_of(self, path: pathlib.Path) -> str:
        """Returns the name that the record has for a file or folder."""
        key = ctypes.create_string_buffer(64)
        if not self._key_of(os.fsencode(path), key):
            raise FileNotFoundError(path)
        return key.value.decode()


@dataclasses.dataclass
class Present:
    """The files of a disk as a process sees them, synced or not."""

    folders: list[pathlib.Path]
    keys: dict[pathlib.Path, str]

    def entries(self, folder: pathlib.Path) -> dict[str, str]:
        """Returns the keys of a folder's files by name."""
        return {path.name: key for path, key in self.keys.items() if path.parent == folder}


class Disk:
    """A folder whose disk can lose power or hang.

    The record of what was synced is in a folder of its own, on another disk.
    """

    def __init__(self, library: Library, folder: pathlib.Path, record: pathlib.Path) -> None:
        self._library = library
        self.folder = folder
        self._record = record
        self._hang = record / "hang"
        record.mkdir(parents=True)
        folder.mkdir(parents=True, exist_ok=True)
        self.sync_all()

    def environment(self) -> dict[str, str]:
        """Returns the environment variables of a process that uses this disk."""
        return environment_of(self._library.path) | {
            "FAULTS_FOLDER": str(self.folder),
            "FAULTS_SYNCED": str(self._record),
            "FAULTS_HANG": str(self._hang),
        }

    def check(self, role: Role) -> None:
        """Notes a failure if the process of the role uses the disk without the library."""
        check_loaded(role, self._library.path)

    def hang(self) -> None:
        self._hang.touch()

    def answer(self) -> None:
        self._hang.unlink(missing_ok=True)

    def sync_all(self) -> None:
        """Records that everything in the folder is synced. No process may use the folder."""
        for name in ("files", "folders"):
            shutil.rmtree(self._record / name, ignore_errors=True)
            (self._record / name).mkdir()
        present = self._look()
        for folder in present.folders:
            lines = [f"{key} {name}\n" for name, key in present.entries(folder).items()]
            self._list_of(folder).write_text("".join(lines))
        for path, key in present.keys.items():
            if not path.is_symlink():
                shutil.copyfile(path, self._record / "files" / key)

    def lose_power(self, rand: random.Random, share: float) -> None:
        """Leaves what a power cut could have left. No process may use the folder.

        Synced bytes and synced entries of folders stay. A disk may write the rest in any order, so
        each folder and file is as it was at its last sync or, with a chance of `share`, as it was
        written; a file may also be written in part.
        """
        present = self._look()
        left: list[tuple[pathlib.Path, str]] = []
        for folder in present.folders:
            is_written = rand.random() < share
            entries = present.entries(folder) if is_written else self._synced_entries(folder)
            left += [(folder / name, key) for name, key in entries.items()]
        old = self.folder / "before-the-cut"
        old.mkdir()
        for path, key in present.keys.items():
            path.rename(old / key)
        written = {key: rand.random() < share for key in set(present.keys.values())}
        for path, key in left:
            if (old / key).is_symlink() or (written.get(key) and rand.random() < 0.5):
                os.link(old / key, path, follow_symlinks=False)
            else:
                self._restore(path, key)
                if written.get(key):
                    write_part(path, old / key, rand)
        shutil.rmtree(old)
        self.sync_all()

    def _restore(self, path: pathlib.Path, key: str) -> None:
        synced = self._record / "files" / key
        if synced.exists():
            shutil.copyfile(synced, path)
        else:
            path.touch()

    def _look(self) -> Present:
        present = Present([], {})
        for place, _, _ in os.walk(self.folder):
            folder = pathlib.Path(place)
            present.folders.append(folder)
            for path in folder.iterdir():
                if path.is_symlink() or not path.is_dir():
                    present.keys[path] = self._library.key_of(path)
        return present

    def _list_of(self, folder: pathlib.Path) -> pathlib.Path:
        return self._record / "folders" / self._library.key_of(folder)

    def _synced_entries(self, folder: pathlib.Path) -> dict[str, str]:
        entries: dict[str, str] = {}
        file = self._list_of(folder)
        for line in file.read_text().splitlines() if file.exists() else []:
            key, _, name = line.partition(" ")
            entries[name] = key
        return entries


def write_part(path: pathlib.Path, written: pathlib.Path, rand: random.Random) -> None:
    """Appends a part of the bytes by which a written file is longer than its synced form."""
    synced_bytes = path.stat().st_size
    more = written.stat().st_size - synced_bytes
    if more <= 0:
        return
    with written.open("rb") as source, path.open("ab") as target:
        source.seek(synced_bytes)
        target.write(source.read(rand.randrange(more + 1)))


class PowerCut(Fault):
    """kill -9 and the loss of what was not synced; the process starts again later."""

    def __init__(self, role: Role, disk: Disk, rand: random.Random) -> None:
        # Apart, since only some shards promise to lose nothing.
        self.kind = f"power cut of {role.name}"
        self._role = role
        self._disk = disk
        self._random = rand
        self.victim = role.name
        self.seconds = rand.uniform(0.1, 2)

    def begin(self) -> None:
        self._disk.check(self._role)
        self._role.kill()
        # Half of the time nothing unsynced is left.
        self._disk.lose_power(self._random, self._random.choice([0.0, 0.5]))

    def end(self) -> None:
        self._role.start()


class HangingDisk(Fault):
    """Writes and syncs take as long as the fault does."""

    kind = "hanging disk"

    def __init__(self, cluster: Cluster, role: Role, disk: Disk, seconds: float) -> None:
        self._cluster = cluster
        self._role = role
        self._disk = disk
        self.victim = role.name
        self.seconds = seconds
        self._begin = 0.0

    def begin(self) -> None:
        self._disk.check(self._role)
        self._begin = time.monotonic()
        self._disk.hang()

    def end(self) -> None:
        try:
            if self._role in self._cluster.shards:
                self._check_status()
        finally:
            self._disk.answer()

    def _check_status(self) -> None:
        seconds = time.monotonic() - self._begin
        if seconds < SHOWN_SECONDS:
            return
        trouble = self._cluster.trouble_of(self._role.name)
        # A process that does not answer in time on a busy machine proves nothing.
        if trouble is not None and "disk" not in trouble:
            self._role.unexpected.append(
                f"{self._role.name}: status did not show a disk that hung for {seconds:.0f} s"
            )
