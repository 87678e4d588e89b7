"""mallocGame as Gymnasium environments, and its corpus as a data set.

Importing the package registers the environment "mallocmuzero/Malloc-v0".
"""

from __future__ import annotations

import gymnasium

from mallocmuzero_gym.locations import extension_folder

_folder = extension_folder()
if _folder is not None:
    __path__.append(str(_folder))

from mallocmuzero_gym._game import Program, Snapshot  # noqa: E402
from mallocmuzero_gym.corpus import (  # noqa: E402
    SPLITS,
    CorpusProgram,
    find_programs,
    load_programs,
)
from mallocmuzero_gym.environment import COPY, DROP, NO_COPY, MallocEnv  # noqa: E402
from mallocmuzero_gym.observations import Block, observation_blocks  # noqa: E402
from mallocmuzero_gym.trials import Trial, load_trials  # noqa: E402
from mallocmuzero_gym.vector_environment import MallocVectorEnv  # noqa: E402

__all__ = [
    "COPY",
    "DROP",
    "NO_COPY",
    "SPLITS",
    "Block",
    "CorpusProgram",
    "MallocEnv",
    "MallocVectorEnv",
    "Program",
    "Snapshot",
    "Trial",
    "find_programs",
    "load_programs",
    "load_trials",
    "observation_blocks",
]

gymnasium.register(
    "mallocmuzero/Malloc-v0",
    entry_point="mallocmuzero_gym.environment:MallocEnv",
    vector_entry_point="mallocmuzero_gym.vector_environment:MallocVectorEnv",
)
