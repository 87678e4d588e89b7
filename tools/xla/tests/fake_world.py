"""A fake compiler and a fake binary for the closed loop: both follow one world file.

The world says how each override changes the program's cycles, which overrides the compiler
refuses, and where the latency table is wrong. A text is JSON: the requested overrides, and whether
it is of a whole compile.

Run with the world's path, then "trial", "compile" or "phase" for a compile process, or a subcommand
of the binary with its arguments.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import sys
import time
from typing import Any

from fake_lowered import base_options_of, write_lowered

# World, all by override: `cycles` it adds; `hidden` cycles it adds that only a compile shows;
# `together` "a b" adds when both are there; `refused`, `nameless`, `aborts`, `breaks` (only whole
# compiles), `hangs`; `slow_compiles` seconds; `promised` gains; `items` by mapping name (default:
# all of `promised`).
# `strict`: overrides that fail the compile. `moves`: by mapping, all_fast or all_hbm; `mismatched`:
# tensors that are not as wanted, with the override that helps; `late`: overrides that make the
# program wait for a copy, with the override that starts it earlier and the cycles that it saves.
# `default_fails`: the message of all compiles without a limit of scoped memory.
# `kills_default`: the system kills the process of a whole compile of the default.
# `solved`: the cycles of each solver's mapping; `corpus`: program names. A limit of scoped
# memory of N KiB counts as an override limit_N; everything in HBM under it costs what
# all_hbm_under_N says, and nothing else. Under the chip's own limit it is all_hbm_under_own.
# `phases`: compiles in phases work; "exact" if they show `hidden` cycles, "blind" if not.
# `placed`: by limit ("own" or KiB), the cycles of each placed module, or why it is refused.
# `modelled`: cycles of instructions without an estimate; `modelled_by`: those that each override
# adds. Both are a part of the cycles above.

_PLACED = b"module of "

# Seeds below this are of single calls (placed_rounds.py).
_SEEDS_OF_A_SEARCH = 1_000_000


def read_text(path: str) -> dict[str, Any]:
    content = pathlib.Path(path).read_bytes()
    if content.startswith(b"\x28\xb5\x2f\xfd"):
        import zstandard  # late, as all imports that a call of the binary can do without

        content = zstandard.ZstdDecompressor().decompress(content)
    return dict(json.loads(content))


def cycles(world: dict[str, Any], asked: list[str], tables: set[str]) -> float:
    """Prices a placement; hidden costs only where `tables` has them."""
    total = float(world["default"] + sum(world["cycles"].get(name, 0) for name in asked))
    total += sum(wait for _, wait in late_copies(world, asked))
    for pair, cost in world.get("together", {}).items():
        total += cost if set(pair.split()) <= set(asked) else 0
    return total + float(sum(world.get("hidden", {}).get(name, 0) for name in tables & set(asked)))


def price(world: dict[str, Any], total: float, asked: list[str]) -> dict[str, float]:
    """Returns the reply of `simulate`: the cycles, and where they come from."""
    waits = float(sum(wait for _, wait in late_copies(world, asked)))
    by_override = world.get("modelled_by", {})
    modelled = float(world.get("modelled", 0) + sum(by_override.get(name, 0) for name in asked))
    return {
        "total_cycles": total,
        "estimated_cycles": total - waits - modelled,
        "stall_cycles": waits,
        "modelled_cycles": modelled,
    }


def late_copies(world: dict[str, Any], asked: list[str]) -> list[tuple[str, float]]:
    """Returns the late copies: the override that starts each earlier, and the cycles of waiting."""
    late = world.get("late", {})
    return [late[name] for name in asked if name in late and late[name][0] not in asked]


def answer_jobs(world: dict[str, Any], action: str) -> None:
    """The compile process, or the process of trial compiles."""
    log = pathlib.Path(world["log"])
    for line in sys.stdin:
        job = json.loads(line)
        reply: dict[str, Any] = {
            "error": None,
            "usage": False,
            "seconds": 0.5,
            "peak_mebibytes": 1,
            "lost": False,
        }
        if job["action"] == "lower":
            write_lowered(pathlib.Path(job["output"]), world["sha256"])
        else:
            asked = re.findall(r"overrides \{ (\w+) \}", " ".join(job["options"].values()))
            own = base_options_of(pathlib.Path(job["program"]))
            limit = {**own, **job["options"]}.get("xla_tpu_scoped_vmem_limit_kib")
            asked += [f"limit_{limit}"] if limit else []
            asked += set_by(world, job["options"])
            unset = unknown_settings(world, job["options"])
            if action != "phase" or "phases" in world:
                with log.open("a", encoding="utf-8") as stream:
                    stream.write(" ".join([action, *sorted(asked), *unset]) + "\n")
            if any(name.endswith("memory_space_assignment") for name in job["options"]):
                asked = [f"all_hbm_under_{limit or 'own'}"]
            if action == "compile" and not asked and world.get("kills_default"):
                os.kill(os.getpid(), signal.SIGKILL)
            if action == "phase" and "phases" not in world:
                reply["error"] = "CompileError: cannot compile in phases"
            elif not limit and "default_fails" in world:
                reply["error"] = world["default_fails"]
            elif unset:
                name = unset[0].partition("=")[0]
                reply["error"] = f"INVALID_ARGUMENT: No such compile option: '{name}'"
            else:
                reply |= run(world, action, asked, job["output"])
        print(json.dumps(reply), flush=True)


def set_by(world: dict[str, Any], options: dict[str, str]) -> list[str]:
    """Returns the overrides that settings stand for."""
    settings = world.get("settings", {})
    return [name for name, text in settings.items() if text in map("=".join, options.items())]


def unknown_settings(world: dict[str, Any], options: dict[str, str]) -> list[str]:
    """Returns the options, as name=value, that this compiler does not have."""
    names = {text.partition("=")[0] for text in world.get("settings", {}).values()}
    known = re.compile("|".join(("overrides", "space_assignment$", "scoped_vmem", *names)))
    return sorted("=".join(pair) for pair in options.items() if not known.search(pair[0]))


def run(world: dict[str, Any], action: str, asked: list[str], output: str) -> dict[str, Any]:
    """Refuses, aborts, hangs or writes a text."""
    for name in asked:
        if name in world.get("aborts", []) or (
            action == "compile" and name in world.get("breaks", [])
        ):
            if action == "trial":
                return {"error": "the compile process ended (status -6)", "lost": True}
            print("F0000 llo.cc:1] Check failed: made up", file=sys.stderr, flush=True)
            os.abort()
        if name in world.get("hangs", []):
            with pathlib.Path(world["log"]).with_name("hangs").open("a", encoding="utf-8") as hangs:
                hangs.write(".")
            time.sleep(600)
        if name in world.get("nameless", []):
            return {"error": "JaxRuntimeError: INTERNAL: something is wrong"}
        if name in world.get("refused", []):
            where = f"instruction 'user_of_{name}' operand 0, defining instruction '{name}'"
            return {"error": f"MSA strict override failed for {where}: Out of alternate memory"}
    if action == "compile" and asked:
        time.sleep(world.get("slow_compiles", 0))
    shown = action == "compile" or (action == "phase" and world["phases"] == "exact")
    text = json.dumps({"asked": asked, "compiled": shown})
    if action == "phase":
        folder = pathlib.Path(output)
        folder.mkdir(exist_ok=True)
        (folder / "module.hlo").write_text(text, encoding="utf-8")
        return {}
    content = text.encode()
    if action == "compile":
        import zstandard

        content = zstandard.compress(content)
    pathlib.Path(output).write_bytes(content)
    return {}


def comes_in(world: dict[str, Any], name: str) -> bool:
    """Whether an override is to bring its tensor into fast memory."""
    return name in world.get("moves", {}).get("all_fast", [])


def item(world: dict[str, Any], name: str) -> dict[str, Any]:
    strict = " pin_in_alternate_memory" if name in world.get("refused", []) else ""
    return {
        "id": name,
        "kind": "assign_first" if comes_in(world, name) else "keep_value",
        "accesses": [list(world["promised"]).index(name)],
        "bytes": 1,
        "bytes_moved": 1,
        "instruction": name,
        "gain_cycles": world["promised"][name],
        "tensor_overrides": [f"overrides {{ {name} }}{strict}"],
        "sort_overrides": [],
        "strict": world.get("strict", {}).get(name, ""),
    }


def place(world: dict[str, Any], flags: dict[str, list[str]]) -> dict[str, Any]:
    """The binary's `optimize`: compiles one more placed module than the flags name."""
    options = dict(text.split("=") for text in flags.get("--option", []))
    limit = options.get("xla_tpu_scoped_vmem_limit_kib", "own")
    asked = read_text(flags["--default"][0])["asked"]
    default = cycles(world, asked, set(asked))
    done = len(flags.get("--placed", []))
    all_found = world.get("placed", {}).get(limit, [])
    log_seed(world, "placed", flags)
    output = pathlib.Path(flags["--output"][0])
    output.mkdir()
    found = all_found[done] if done < len(all_found) else default
    with pathlib.Path(world["log"]).open("a", encoding="utf-8") as stream:
        stream.write(f"placed {limit} after {done} by {flags['--rounds'][0]}\n")
    if isinstance(found, str):
        refused = {"number": 1, "promised_cycles": default, "error": found}
        return {"default_cycles": default, "optimized_cycles": default, "rounds": [refused]}
    (output / "placed_1.pb").write_bytes(b"placed")
    rounds = [{"number": 1, "promised_cycles": found - 1, "compiled_cycles": found}]
    report = {"default_cycles": default, "optimized_cycles": default, "rounds": rounds}
    if found < default:
        (output / "executable.bin").write_bytes(f"executable of {found}".encode())
        (output / "module.pb").write_bytes(_PLACED + f"{found}".encode())
        report |= {"optimized_cycles": found, "best_round": 1}
    return report


def log_seed(world: dict[str, Any], command: str, flags: dict[str, list[str]]) -> None:
    """Adds the seed of a search to the log, if the caller of `optimize` has chosen one."""
    seed = int(flags.get("--seed", ["0"])[0])
    if seed >= _SEEDS_OF_A_SEARCH or (command == "map" and seed):
        with pathlib.Path(world["log"]).open("a", encoding="utf-8") as stream:
            stream.write(f"{command} with seed {seed}\n")


def binary(world: dict[str, Any], command: str, arguments: list[str]) -> dict[str, Any]:
    """The binary: returns its output."""
    flags: dict[str, list[str]] = {}
    for name, value in zip(arguments[::2], arguments[1::2], strict=False):
        flags.setdefault(name, []).append(value)
    if command == "import":
        seen = [read_text(path)["asked"] for path in flags.get("--sample", [])]
        content = json.dumps(sorted({name for asked in seen for name in asked}))
        pathlib.Path(flags["--output"][0]).write_text(content, encoding="utf-8")
        return {}
    if command == "map":
        refits = "refit" in flags["--program"][0]
        name = "second" if refits else "first"
        solver = flags.get("--solver", ["portfolio"])[0]
        solved = world.get("solved", {"portfolio": world["default"]})
        if solver not in solved:
            sys.exit(f"map: no such solver: {solver}")
        pathlib.Path(flags["--output"][0]).write_text(name, encoding="utf-8")
        log_seed(world, "map", flags)
        found = {"total_cycles": solved[solver], "default_cycles": world["default"]}
        return {**found, "seconds": 0.1}
    if command == "corpus":
        head = {"family": "x", "split": "test", "contended": True}
        reports = [{"program": name, "hardware": "tpu_v4i"} for name in world["corpus"]]
        return {"programs": [{**head, "report": report} for report in reports]}
    if command == "simulate":
        module = pathlib.Path(flags["--hlo"][0]).read_bytes()
        if module.startswith(_PLACED):
            return price(world, float(module.removeprefix(_PLACED)), [])
        text = read_text(flags["--hlo"][0])
        # A trial compile shows no hidden costs.
        shown = set(text["asked"]) if text["compiled"] else set()
        return price(world, cycles(world, text["asked"], shown), text["asked"])
    if command == "optimize":
        return place(world, flags)
    learnt = set(json.loads(pathlib.Path(flags["--program"][0]).read_text(encoding="utf-8")))
    mapping = flags["--mapping"][0]
    wanted = pathlib.Path(mapping).read_text(encoding="utf-8") if os.path.exists(mapping) else ""  # noqa: PTH110
    if command == "overrides":
        names = world.get("items", {}).get(wanted, list(world["promised"]))
        if mapping in ("all_fast", "all_hbm"):
            names = world.get("moves", {}).get(mapping, [])
        return {"items": [item(world, name) for name in names], "options": {}}
    assert command == "readback"
    asked = read_text(flags["--hlo"][0])["asked"]
    share = len(asked) / max(1, len(world["promised"]))
    missing = {} if mapping == "default" else world.get("mismatched", {})
    mismatches = [
        {"access": list(world["promised"]).index(name), "wanted_fast": True}
        for name, remedy in missing.items()
        if remedy not in asked
    ]
    return {
        "mapped_cycles": cycles(world, asked, learnt),
        "default_mapped_cycles": world["default"],
        "followed_share": share,
        "mismatches": mismatches,
        "fast_memory_bytes": 10,
        "fast_accesses": [
            access
            for access, name in enumerate(world["promised"])
            if (name in asked) == comes_in(world, name)
        ],
        "late_copies": [
            {
                "access": number,
                "instruction": f"user_{number}",
                "bytes": 1,
                "wait_cycles": wait,
                "tensor_overrides": ["overrides { too_early }", f"overrides {{ {start} }}"],
            }
            for number, (start, wait) in enumerate(late_copies(world, asked))
        ],
    }


def main() -> None:
    """Plays the role that the arguments name."""
    world = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    role, *arguments = sys.argv[2:]
    if role in ("trial", "compile", "phase"):
        answer_jobs(world, role)
    elif "-" in arguments:
        place = arguments.index("-")
        for line in sys.stdin:
            arguments[place] = line.strip()
            print(json.dumps(binary(world, role, arguments)), flush=True)
    else:
        print(json.dumps(binary(world, role, arguments)))


main()
