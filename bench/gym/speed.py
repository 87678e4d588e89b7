"""Measures how many decisions a second the environments of tools/gym play from Python.

    python bench/gym/speed.py [--seconds 2] [--games 256] [--threads 1,2] [--program NAME]

It prints a table in Markdown. The player always takes the first legal action. Steps that only start
a finished game anew are no decisions. `decisions a second of CPU` divides by the processor time of
all threads; on an idle machine with one thread it is the same as `decisions a second`.
"""

from __future__ import annotations

import argparse
import functools
import platform
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import mallocmuzero_gym
import numpy as np
from mallocmuzero_gym import MallocEnv, MallocVectorEnv

_ROUNDS = 5


def play_single(env: gymnasium.Env[Any, Any], seconds: float) -> int:
    """Plays for some seconds; returns the number of decisions."""
    decisions = 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        _, info = env.reset(seed=0)
        terminated = False
        while not terminated:
            _, _, terminated, _, info = env.step(int(info["action_mask"].argmax()))
            decisions += 1
    return decisions


def play_vector(envs: MallocVectorEnv, seconds: float) -> int:
    """The same for many games."""
    decisions = 0
    _, info = envs.reset(seed=0)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(10):
            masks = info["action_mask"]
            actions = masks.argmax(axis=1)
            decisions += int(masks.any(axis=1).sum())
            *_, info = envs.step(actions)
    return decisions


def measure(play: Callable[[float], int], seconds: float) -> tuple[float, float]:
    """Returns decisions a second, and decisions a second of CPU: the medians of some rounds."""
    play(seconds / 10)
    rates = []
    for _ in range(_ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        decisions = play(seconds / _ROUNDS)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        rates.append((decisions / wall, decisions / cpu))
    by_wall, by_cpu = np.median(np.array(rates), axis=0)
    return float(by_wall), float(by_cpu)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Measure decisions a second from Python.")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row")
    parser.add_argument("--games", type=int, default=256, help="of a vector environment")
    parser.add_argument("--threads", default="1,2", help="of a vector environment, as a list")
    parser.add_argument("--program", default=mallocmuzero_gym.environment.DEFAULT_PROGRAM)
    arguments = parser.parse_args()

    print(
        f"{arguments.program}; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"Gymnasium {gymnasium.__version__}\n\n"
        "| environment | observation | decisions a second | decisions a second of CPU |\n"
        "| --- | --- | ---: | ---: |"
    )
    for observation, flat in (("full", False), ("full", True), ("brief", False), ("brief", True)):
        what = f"{observation}, {'one array' if flat else 'dictionary'}"
        options = {"program": arguments.program, "observation": observation, "flat": flat}
        made = gymnasium.make("mallocmuzero/Malloc-v0", disable_env_checker=True, **options)
        for name, env in (("gymnasium.make", made), ("MallocEnv", MallocEnv(**options))):
            print_row(name, what, measure(functools.partial(play_single, env), arguments.seconds))
    for observation in ("full", "brief"):
        for threads in map(int, arguments.threads.split(",")):
            for copy in (True, False):
                envs = MallocVectorEnv(
                    arguments.games,
                    program=arguments.program,
                    observation=observation,
                    flat=True,
                    copy=copy,
                    threads=threads,
                )
                what = f"{observation}, {'copied' if copy else 'not copied'}"
                name = f"MallocVectorEnv, {arguments.games} games, {threads} thread(s)"
                rates = measure(functools.partial(play_vector, envs), arguments.seconds)
                print_row(name, what, rates)


def print_row(name: str, observation: str, rates: tuple[float, float]) -> None:
    """Prints one row of the table."""
    print(f"| {name} | {observation} | {rates[0]:,.0f} | {rates[1]:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
