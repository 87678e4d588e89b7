"""Writes the dashboards of this folder as the JSON that Grafana reads.

python3 deploy/grafana/make_dashboards.py            # writes dashboards/*.json
python3 deploy/grafana/make_dashboards.py --check    # fails if they are not up to date
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

from learning import learning
from operations import operations

FOLDER = pathlib.Path(__file__).resolve().parent / "dashboards"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    check = parser.parse_args().check
    stale = []
    for name, made in (("operations", operations()), ("learning", learning())):
        file = FOLDER / f"{name}.json"
        text = json.dumps(made, indent=1, sort_keys=True) + "\n"
        if not check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            stale.append(file.name)
    if stale:
        print(
            f"make_dashboards: {', '.join(stale)}: differs from its source;"
            " run deploy/grafana/make_dashboards.py",
            file=sys.stderr,
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
