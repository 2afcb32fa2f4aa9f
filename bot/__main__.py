"""`python -m bot`: the command line, without what libraries load only because it is installed."""

import os
import sys

if __name__ == "__main__":
    # pydantic would look through every installed package for plugins, of which we use none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # structlog would load all of rich, for tracebacks that we show as plain text. None stands for what cannot be found
    # (https://docs.python.org/3/reference/import.html#the-module-cache).
    sys.modules["rich"] = None  # type: ignore[assignment]
    import structlog  # noqa: F401 - just to have it loaded

    del sys.modules["rich"]

    from bot.cli.main import main

    main()
