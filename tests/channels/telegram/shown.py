"""What a reader of a rendered text sees, for tests: its formats by the words they cover."""

from __future__ import annotations

from channels.telegram.text import Entity, Part, Rendered, blank


def spans(rendered: Rendered) -> list[tuple[str, str]]:
    """Kind and words of every span."""
    return [(span.kind, rendered.text[span.start : span.end]) for span in rendered.spans]


def covered(part: Part, entity: Entity) -> str:
    """The words of an entity, cut out in UTF-16 as Telegram does; half a surrogate pair is an error."""
    encoded = part.text.encode("utf-16-le")
    return encoded[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def entities(part: Part) -> list[tuple[str, str]]:
    """Kind and words of every entity."""
    return [(entity.kind, covered(part, entity)) for entity in part.entities]


def legal(part: Part, limit: int) -> None:
    """Fails unless Telegram would take the part as it is."""
    assert not blank(part.text)
    size = len(part.text.encode("utf-16-le")) // 2
    assert size <= limit
    assert len(part.entities) <= 100
    around: list[Entity] = []
    begins = [(entity.offset, -entity.length) for entity in part.entities]
    assert begins == sorted(begins)
    for entity in part.entities:
        end = entity.offset + entity.length
        assert 0 <= entity.offset < end <= size
        assert not blank(covered(part, entity))
        around = [outer for outer in around if entity.offset < outer.offset + outer.length]
        for outer in around:
            assert end <= outer.offset + outer.length, "entities cross"
            assert outer.kind != entity.kind, "a format inside itself"
            assert outer.kind not in {"pre", "code"}, "code holds no formats"
            assert entity.kind != "code" or outer.kind == "blockquote", "code stands in no style and no link"
        around.append(entity)
