"""A page as a test reads it: parsed the way a browser parses it, so that what would run is seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

ALLOWED = frozenset({
    "a", "article", "aside", "b", "bdi", "blockquote", "body", "br", "button", "caption", "circle", "code",
    "datalist", "dd", "del", "details", "div", "dl", "dt", "em", "figure", "footer", "form", "h1", "h2",
    "h3", "h4", "head", "header", "hr", "html", "i", "img", "input", "ins", "label", "li", "line", "link",
    "main", "meta", "nav", "noscript", "ol", "option", "p", "path", "pre", "rect", "s", "section", "select",
    "small", "span", "strong", "summary", "svg", "table", "tbody", "td", "text", "textarea", "th", "thead", "time",
    "title", "tr", "ul", "script",
})  # fmt: skip
LINKS = ("/", "#", "http://", "https://", "mailto:", "?")
OWN = ("/static/", "/v1/files/")
"""Where scripts, styles and pictures may come from."""


@dataclass
class Element:
    """A tag with its attributes."""

    tag: str
    attributes: dict[str, str]


@dataclass
class Page(HTMLParser):
    """The elements of a document, and its text without them."""

    html: str
    elements: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    @property
    def text(self) -> str:
        """What can be read, and what fields hold."""
        fields = [element.attributes.get("value", "") for element in self.elements if element.tag == "input"]
        return "".join(self.pieces) + "\n" + "\n".join(fields)

    def attribute(self, name: str) -> str:
        """The first value of an attribute."""
        return next(element.attributes[name] for element in self.elements if name in element.attributes)

    def dangers(self) -> Iterator[str]:
        """Everything in which something could run, load or submit that is not ours."""
        for element in self.elements:
            if element.tag not in ALLOWED:
                yield f"<{element.tag}>"
            for name, value in element.attributes.items():
                yield from _dangers(element.tag, name, value)


def _dangers(tag: str, name: str, value: str) -> Iterator[str]:
    if name.startswith(("on", "hx-on")) or name in {"style", "srcdoc", "formaction"}:
        yield f"<{tag} {name}>"
    if name == "href" and not value.lower().startswith(OWN if tag == "link" else LINKS):
        yield f"<{tag} href={value!r}>"
    if name == "src" and not value.startswith(OWN):
        yield f"<{tag} src={value!r}>"
    if name in {"action", "hx-get", "hx-post"} and not value.startswith("/"):
        yield f"<{tag} {name}={value!r}>"
    if tag == "script" and name not in {"src", "defer"}:
        yield f"<script {name}>"
