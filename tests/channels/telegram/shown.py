"""What a reader of a rendered text sees, for tests: its formats by the words they cover."""

from __future__ import annotations

from channels.telegram.text import Part, Rendered
from tests.servers.telegram.formats import checked, cut, message_text


def spans(rendered: Rendered) -> list[tuple[str, str]]:
    """Kind and words of every span."""
    return [(span.kind, rendered.text[span.start : span.end]) for span in rendered.spans]


def entities(part: Part) -> list[tuple[str, str]]:
    """Kind and words of every entity, cut out in UTF-16 as Telegram does."""
    return [(entity.kind, cut(part.text, entity.offset, entity.length)) for entity in part.entities]


def legal(part: Part, limit: int) -> None:
    """Refused unless Telegram would take the part as it is, with every entity of it."""
    given = [entity.fields() for entity in part.entities]
    assert checked(part.text, given) == given
    message_text(part.text, given, limit)
