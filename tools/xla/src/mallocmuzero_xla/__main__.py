"""Makes `python -m mallocmuzero_xla` the command mallocmuzero-xla."""

import sys

from mallocmuzero_xla_shell import main

if __name__ == "__main__":
    sys.exit(main())
