"""The entry of an installed Signoff: makes the packages beside it importable and hands over to `python -m bot`.

In a wheel this file is `signoff/__main__.py` and the packages lie in `signoff/_app`.
"""

import runpy
import sys
from pathlib import Path

APP = Path(__file__).resolve().parent / "_app"


def main() -> None:
    # First, so that neither the current folder nor another distribution's `channels` or `tools` is taken for ours.
    sys.path.insert(0, str(APP))
    runpy.run_module("bot", run_name="__main__")


if __name__ == "__main__":
    main()
