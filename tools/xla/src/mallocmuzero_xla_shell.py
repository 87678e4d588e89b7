"""What the shell starts: mallocmuzero-xla.

Outside the package, whose imports take long enough for a Ctrl-C to come in between.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Runs mallocmuzero_xla.cli.main; returns its exit code, 1 where Ctrl-C came before it."""
    try:
        from mallocmuzero_xla import cli

        return cli.main()
    except KeyboardInterrupt:
        print("mallocmuzero-xla: interrupted", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
