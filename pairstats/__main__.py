"""``python -m pairstats``."""

import sys

from pairstats.cli import main

if __name__ == "__main__":
    sys.exit(main())
