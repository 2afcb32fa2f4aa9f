"""Which files of a request a model sees, and what is said about the others."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from agent.pictures import (
    ALL_BYTES,
    MOST,
    MOST_BYTES,
    UNSEEN,
    Pictures,
    is_named_picture,
    pictures_of,
    with_pictures,
    without_pictures,
)
from tests.pictures import GIF, JPEG, PNG, WEBP, of_size
from tools.workspace.guard import Workspace


@pytest.fixture
def files(tmp_path: Path) -> Workspace:
    return Workspace("office", str(tmp_path))


def put(files: Workspace, **contents: bytes) -> list[str]:
    """Files in the inbox, `_` standing for the dot; their paths."""
    for name, content in contents.items():
        files.write(f"inbox/{name.replace('_', '.')}", content, expected=None, area="system")
    return [f"inbox/{name.replace('_', '.')}" for name in contents]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("inbox/a.png", True),
        ("A.JPG", True),
        ("a.b.jpeg", True),
        ("a.gif", True),
        ("a.webp", True),
        ("a.svg", False),
        ("a.heic", False),
        ("png", False),
        ("a.png.txt", False),
        ("", False),
    ],
)
def test_a_picture_by_its_name(path: str, *, is_one: bool) -> None:
    """The kinds that models take, in any case of letters."""
    assert is_named_picture(path) is is_one


def test_every_kind_goes_with_its_type_in_the_order_of_the_files(files: Workspace) -> None:
    """As a data URL with the whole content; what does not say that it is a picture is left alone."""
    kinds = {"a_png": (PNG, "png"), "b_jpg": (JPEG, "jpeg"), "c_gif": (GIF, "gif"), "d_webp": (WEBP, "webp")}
    paths = put(files, **{name: content for name, (content, _) in kinds.items()}, e_txt=PNG)
    seen = pictures_of(files, paths)
    assert seen.urls == tuple(
        f"data:image/{kind};base64,{base64.b64encode(content).decode()}" for content, kind in kinds.values()
    )
    assert seen.note == ""


def test_the_content_decides_not_the_name(files: Workspace) -> None:
    """A PNG under a wrong ending goes as what it is; what only calls itself a picture is named and not sent."""
    paths = put(files, a_jpg=PNG, b_png=b"<!DOCTYPE html>", c_png=b"", d_webp=b"RIFF\0\0\0\0WAVE")
    seen = pictures_of(files, paths)
    assert [url.partition(";")[0] for url in seen.urls] == ["data:image/png"]
    assert "Not shown to you: inbox/b.png, inbox/c.png, inbox/d.webp." in seen.note


def test_one_too_large_and_one_that_is_gone(files: Workspace) -> None:
    """To the byte; both are named, the others are seen."""
    paths = put(files, a_png=of_size(MOST_BYTES), b_png=of_size(MOST_BYTES + 1))
    seen = pictures_of(files, [*paths, "inbox/gone.png"])
    assert len(seen.urls) == 1
    assert "inbox/b.png, inbox/gone.png." in seen.note


def test_more_than_eight(files: Workspace) -> None:
    """The first eight that are pictures; a fake does not take a place."""
    paths = put(files, fake_png=b"no", **{f"p{number}_png": PNG for number in range(MOST + 1)})
    seen = pictures_of(files, paths)
    assert len(seen.urls) == MOST
    assert "inbox/fake.png, inbox/p8.png." in seen.note


def test_all_together_fit_into_a_request(files: Workspace) -> None:
    """A small one behind those that fill it has no room either, a fitting one does."""
    quarter = ALL_BYTES // 4
    paths = put(files, **{f"p{number}_png": of_size(quarter) for number in range(3)}, p3_png=of_size(quarter - 32))
    assert len(pictures_of(files, [*paths, *put(files, small_png=PNG)]).urls) == 5
    seen = pictures_of(files, [*paths, *put(files, more_png=of_size(33))])
    assert (len(seen.urls), "inbox/more.png" in seen.note) == (4, True)


def test_a_message_carries_them_behind_its_text() -> None:
    """Without any it stays a text; the message itself is not changed."""
    message = {"role": "user", "content": "Look"}
    carried = with_pictures(message, Pictures(urls=("data:1", "data:2"), note="[One is missing.]"))
    assert carried["content"] == [
        {"type": "text", "text": "Look\n\n[One is missing.]"},
        {"type": "image_url", "image_url": {"url": "data:1"}},
        {"type": "image_url", "image_url": {"url": "data:2"}},
    ]
    assert with_pictures(message, Pictures(note=UNSEEN))["content"] == f"Look\n\n{UNSEEN}"
    assert with_pictures(message, Pictures()) == message == {"role": "user", "content": "Look"}


def test_taken_out_again_they_are_counted() -> None:
    """Other messages stay the same, also those without any content."""
    others: list[dict[str, Any]] = [
        {"role": "system", "content": "Be"},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    carried = with_pictures({"role": "user", "content": "Look"}, Pictures(urls=("data:1", "data:2")))
    plain, count = without_pictures([*others, carried])
    assert plain == [*others, {"role": "user", "content": f"Look\n\n{UNSEEN}"}]
    assert count == 2
