"""Templates to HTML: everything escaped, what cannot be seen made visible, nothing undefined."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from agent import durations
from agent.previews import visible
from bot.api.decisions import told
from bot.web import figures, prose
from bot.web.diff import shown
from bot.web.rights import waits
from bot.web.sheets import new_sheets

HERE = Path(__file__).parent
_FIGURE = re.compile(r"[-+]?[\d.,\u202f ]*\d%?")
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticFile:
    """A file that comes with the pages."""

    content: bytes
    media_type: str
    version: str


class Rendering:
    """Renders templates."""

    def __init__(self) -> None:
        self.static = {path.name: _static(path) for path in sorted((HERE / "static").iterdir())}
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_readable,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "markdown": prose.Markdown(),
            "moment": prose.moment,
            "size": figures.size,
            "money": figures.money,
            "seconds": figures.seconds,
            "duration": durations.written,
            "first_line": figures.first_line,
            "exact": _exact,
            "strict": visible,
            "diff": shown,
            "ending": _ending,
            "as_json": _as_json,
            "new_sheets": new_sheets,
            "waits": waits,
            "told": told,
        }
        self._environment.tests["figure"] = _is_figure
        self._environment.globals |= {
            "static": self._static_url,
            "content_url": content_url,
            "files_url": files_url,
            "view_url": view_url,
        }

    def render(self, template: str, **values: Any) -> str:
        """The HTML of a template."""
        return self._environment.get_template(template).render(values)

    def _static_url(self, name: str) -> str:
        return f"/static/{name}?v={self.static[name].version}"


def content_url(workspace: str, path: str) -> str:
    """Where the bytes of a file are."""
    return f"/v1/files/{quote(workspace, safe='')}/content?path={quote(path, safe='/')}"


def files_url(workspace: str, path: str = "") -> str:
    """The page of a folder."""
    return f"/files/{quote(workspace, safe='')}" + (f"?path={quote(path, safe='/')}" if path else "")


def view_url(workspace: str, path: str) -> str:
    """The page of a file."""
    return f"/files/{quote(workspace, safe='')}/view?path={quote(path, safe='/')}"


def _readable(value: Any) -> Any:
    """What every `{{ … }}` goes through; markup is ours and has gone through it already."""
    return prose.readable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _exact(text: str) -> Markup:
    """For a field that is sent back: not a character may change. A textarea drops a first line break, and a server-sent
    event, which may carry the field, ends its lines at a carriage return."""
    field = escape(text).replace("\r", Markup("&#13;"))
    return Markup("\n") + field if field.startswith("\n") else field


def _ending(name: str) -> str:
    """What a file's symbol says."""
    ending = name.rpartition(".")[2] if "." in name else ""
    return ending[:4] or "file"


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _is_figure(cell: str) -> bool:
    """Whether a cell reads better from the right."""
    return bool(_FIGURE.fullmatch(cell))


def _static(path: Path) -> StaticFile:
    content = path.read_bytes()
    return StaticFile(
        content=content,
        media_type=_MEDIA_TYPES[path.suffix],
        version=hashlib.sha256(content).hexdigest()[:12],
    )
