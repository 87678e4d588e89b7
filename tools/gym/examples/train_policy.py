"""Trains a small policy on programs of the training split, with NumPy alone.

    python train_policy.py [--chip tpu_v6e] [--updates 60] [--games 64] [--seed 0]

The policy is a network with one hidden layer, on brief observations. It learns by policy gradients
(REINFORCE with a learned baseline, REINFORCE being Williams 1992). The script prints the mean gain
against the compiler's placement before and after, on programs of the training and of the validation
split.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt
from mallocmuzero_gym import CorpusProgram, MallocVectorEnv, load_programs, observation_blocks

Array = npt.NDArray[Any]

HIDDEN, STEPS, DISCOUNT, LEARNING_RATE, ENTROPY = 64, 64, 0.95, 3e-3, 0.01


class Policy:
    """A network of one hidden layer: logits of the three actions, and a value as fourth output."""

    def __init__(self, inputs: int, random: np.random.Generator) -> None:
        self.weights = [
            random.normal(0, inputs**-0.5, (inputs + 1, HIDDEN)),
            random.normal(0, 0.01, (HIDDEN + 1, 4)),
        ]
        self._moments = [(np.zeros_like(w), np.zeros_like(w)) for w in self.weights]
        self._updates = 0

    def __call__(self, rows: Array, masks: Array) -> tuple[Array, Array, tuple[Array, Array]]:
        """Returns probabilities of the legal actions, values, and what `learn` needs."""
        inputs = np.hstack([rows, np.ones((len(rows), 1))])
        hidden = np.hstack([np.tanh(inputs @ self.weights[0]), np.ones((len(rows), 1))])
        outputs = hidden @ self.weights[1]
        odds = np.where(masks, np.exp(outputs[:, :3] - outputs[:, :3].max(1, keepdims=True)), 0)
        return odds / odds.sum(1, keepdims=True), outputs[:, 3], (inputs, hidden)

    def learn(self, kept: tuple[Array, Array], gradient: Array) -> None:
        """Changes the weights by one step of Adam, for a gradient by the outputs: [rows, 4]."""
        inputs, hidden = kept
        back = (gradient @ self.weights[1].T)[:, :-1] * (1 - hidden[:, :-1] ** 2)
        self._updates += 1
        for layer, by_weights in enumerate((inputs.T @ back, hidden.T @ gradient)):
            first, second = self._moments[layer]
            first += 0.1 * (by_weights - first)
            second += 0.01 * (by_weights**2 - second)
            unbiased = first / (1 - 0.9**self._updates)
            spread = np.sqrt(second / (1 - 0.99**self._updates)) + 1e-8
            self.weights[layer] -= LEARNING_RATE * unbiased / spread


def draw(probabilities: Array, random: np.random.Generator) -> Array:
    """Returns an action for each row."""
    drawn: Array = (probabilities.cumsum(1) > random.random((len(probabilities), 1))).argmax(1)
    return drawn


def train(envs: MallocVectorEnv, policy: Policy, updates: int, random: np.random.Generator) -> None:
    """Plays STEPS steps of all games for each update, and learns from them."""
    rows, info = envs.reset(seed=int(random.integers(2**31)))
    for _ in range(updates):
        steps = []
        for _ in range(STEPS):
            masks = info["action_mask"]
            playing = masks.any(1)  # the others start anew in this step
            probabilities, values, _ = policy(rows, np.where(playing[:, None], masks, 1))
            actions = draw(probabilities, random)
            following, rewards, ended, _, info = envs.step(actions)
            steps.append((rows, masks, actions, rewards, ended, playing, values))
            rows = following
        _, tail, _ = policy(rows, np.ones((len(rows), 3)))
        # Rewards are shares of a program's cycles, and a decision saves some thousandths.
        returns, targets = np.where(info["action_mask"].any(1), tail, 0), []
        for *_, rewards, ended, playing, _ in reversed(steps):
            returns = np.where(playing, 100 * rewards + DISCOUNT * np.where(ended, 0, returns), 0)
            targets.append(returns)
        chosen = np.concatenate([step[5] for step in steps])
        x, masks, actions = (np.concatenate([step[k] for step in steps])[chosen] for k in range(3))
        target = np.concatenate(targets[::-1])[chosen]
        probabilities, values, kept = policy(x, masks)
        advantages = target - values
        advantages /= advantages.std() + 1e-8
        logs = np.log(np.maximum(probabilities, 1e-12))
        entropy = -(probabilities * logs).sum(1, keepdims=True)
        by_logits = (probabilities - np.eye(3)[actions]) * advantages[:, None]
        by_logits += ENTROPY * probabilities * (logs + entropy)
        by_values = 0.1 * (values - target)[:, None]
        policy.learn(kept, np.hstack([by_logits, by_values]) / len(x))


def mean_gain(programs: list[CorpusProgram], policy: Policy | None, seed: int) -> float:
    """Returns the mean over the programs of the gain of four games; None plays at random."""
    random = np.random.default_rng(seed)
    gains = []
    for program in programs:
        envs = MallocVectorEnv(4, program=program, observation="brief", flat=True)
        rows, info = envs.reset(seed=seed)
        gain = np.full(4, np.nan)
        while np.isnan(gain).any():
            masks = np.where(info["action_mask"].any(1, keepdims=True), info["action_mask"], 1)
            odds = masks / masks.sum(1, keepdims=True) if policy is None else policy(rows, masks)[0]
            rows, _, ended, _, info = envs.step(draw(odds, random))
            gain = np.where(ended & np.isnan(gain), info["gain"], gain)
        gains.append(gain.mean())
    return float(np.mean(gains))


def main() -> None:
    """Trains and prints the gains."""
    parser = argparse.ArgumentParser(description="Train a small policy.")
    parser.add_argument("--chip", default="tpu_v6e")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--games", type=int, default=64, help="that are played at the same time")
    parser.add_argument("--programs", type=int, help="use only the first ones of the split")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    random = np.random.default_rng(arguments.seed)
    learned_from = load_programs("train", arguments.chip)[: arguments.programs]
    held_out = load_programs("validation", arguments.chip)
    envs = MallocVectorEnv(arguments.games, learned_from, observation="brief", flat=True)
    policy = Policy(sum(block.size for block in observation_blocks("brief")), random)
    train(envs, policy, arguments.updates, random)
    print(f"mean gain against the compiler's placement, {arguments.chip}")
    for split, programs in (("train", learned_from), ("validation", held_out)):
        before = mean_gain(programs, None, arguments.seed)
        after = mean_gain(programs, policy, arguments.seed)
        print(f"{split}: random {100 * before:.1f} %, policy {100 * after:.1f} %")


if __name__ == "__main__":
    main()
