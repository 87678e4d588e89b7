"""Entry point of the shell command mallocmuzero-xla.

It is outside the package because a Ctrl-C may come while the package is imported.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Runs mallocmuzero_xla.cli.main; returns its exit code, or 1 after an early Ctrl-C."""
    try:
        from mallocmuzero_xla import cli

        return cli.main()
    except KeyboardInterrupt:
        print("mallocmuzero-xla: interrupted", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
