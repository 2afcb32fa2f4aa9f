"""Third-party reference files that tests compare with; not part of the repository, continuous integration has them."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
TELEGRAM = DATA / "telegram" / "bot-api-10.1.json"
"""Every method and type of the Bot API 10.1 with its fields (MIT)."""
MISSING = f"{DATA} is not here; it is no part of the repository"
