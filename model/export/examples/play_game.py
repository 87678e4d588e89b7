"""Plays a whole game with the networks of an export, without search.

    python play_game.py EXPORT --program FILE [--mallocmuzero PATH] [--output MAPPING]

`mallocmuzero play` has the rules: it writes observations and takes actions. The networks choose the
actions: at each decision the legal action with the highest logit of the policy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from typing import Any

import numpy as np
from exported_networks import Networks, load_export


def choose(networks: Networks, decision: dict[str, Any]) -> int:
    """Returns the number of the action for one decision."""
    observation = np.array([decision["observation"]], dtype=np.float32)
    latent = networks.run("representation", observation=observation)["latent"]
    logits = networks.run("prediction", latent=latent)["policy_logits"][0]
    order = [action for action in networks.manifest["action_order"] if action in decision["legal"]]
    # If several logits are equal, max takes the first action.
    return int(max(order, key=lambda action: float(logits[action])))


def play(networks: Networks, command: list[str]) -> dict[str, Any]:
    """Plays the game of a command `mallocmuzero play`; returns the end of the game."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as game:
        assert game.stdin is not None and game.stdout is not None
        for text in game.stdout:
            line = json.loads(text)
            if "end" in line:
                end: dict[str, Any] = line["end"]
                return end
            game.stdin.write(f"{choose(networks, line['decision'])}\n")
    raise SystemExit(f"mallocmuzero play ended with exit code {game.returncode}")


def main() -> None:
    """Plays one game and prints its end as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("export", help="the folder that `mallocmuzero export` wrote")
    parser.add_argument("--program", required=True, help="the program file that is played")
    parser.add_argument("--mallocmuzero", default="mallocmuzero", help="the binary")
    parser.add_argument("--output", help="the mapping file to write at the end")
    flags = parser.parse_args()
    command = [flags.mallocmuzero, "play", "--program", flags.program]
    if flags.output:
        command += ["--output", flags.output]
    print(json.dumps(play(load_export(flags.export), command)))


if __name__ == "__main__":
    main()
