"""Entry points of the shell commands mallocmuzero-xla and mallocmuzero.

They are outside the package because a Ctrl-C may come while the package is imported.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs commands.cli.main; returns its exit code, or 1 after an early Ctrl-C."""
    try:
        from mallocmuzero_xla.commands import cli

        return cli.main()
    except KeyboardInterrupt:
        print("mallocmuzero-xla: interrupted", file=sys.stderr)
        return 1


def binary() -> int:
    """Becomes the binary with the same arguments; returns 2 if it cannot be found."""
    from mallocmuzero_xla.binary_path import find_binary
    from mallocmuzero_xla.errors import UsageError

    try:
        path = find_binary()
        os.execv(path, [str(path), *sys.argv[1:]])
    except (UsageError, OSError) as error:
        print(f"mallocmuzero: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
