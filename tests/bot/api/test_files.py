"""Files over HTTP: ranges of artifacts, folders, previews, uploads, and names that mean harm."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from tests.bot.api.site import ADMIN, Answer, Site
from tests.servers.llm import Reply
from tools.sheets.cells import Sheet
from tools.sheets.files import make

CONTENT = "0123456789"


async def artifact(site: Site, path: str = "Über 1.csv", content: str = CONTENT) -> int:
    """A file that a task of Ann's made; the artifact's id."""
    site.model.will(Reply(calls=[("write_file", {"path": path, "content": content})]), "Done.")
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    [card] = (await site.get("ann", f"/v1/tasks/{task_id}")).json["approvals"]
    await site.post("ann", f"/v1/approvals/{card['id']}/decision", {"verdict": "approved"})
    await site.reached(task_id, "done")
    return int((await site.get("ann", f"/v1/tasks/{task_id}")).json["artifacts"][0]["artifact_id"])


async def uploaded(site: Site, name: str, content: bytes = b"hi", query: str = "", who: str = "ann") -> Answer:
    """Send the bytes themselves, with the name in the query."""
    url = f"/v1/files/annes{query}"
    headers = {"Content-Type": "application/octet-stream"}
    return await site.ask(who, "POST", url, params={"name": name}, data=content, headers=headers)


async def sent_as_form(site: Site, head: str, content: bytes = b"hi") -> Answer:
    """Send a form exactly as written; `head` are the headers of its only part."""
    body = b"--x\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    return await site.ask("ann", "POST", "/v1/files/annes", data=body, headers=headers)


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=-3", 206, b"789"),
        ("bytes=8-", 206, b"89"),
        ("bytes=20-", 416, b""),
        ("", 200, b"0123456789"),
    ],
)
async def test_ranges_of_an_artifact(site: Site, asked: str, status: int, content: bytes) -> None:
    """A download that broke off can go on."""
    headers = {"Range": asked} if asked else {}
    answer = await site.get("ann", f"/v1/artifacts/{await artifact(site)}", headers=headers)
    assert (answer.status, answer.body) == (status, content)
    if status == 206:
        assert answer.headers["Content-Range"].endswith("/10")


async def test_an_artifact_is_saved_and_never_run(site: Site) -> None:
    """Whatever it is, a browser saves it under its own name or shows it as inert text."""
    artifact_id = await artifact(site, "pages/a\u202e.html", "<script>alert(1)</script>")
    answer = await site.get("ann", f"/v1/artifacts/{artifact_id}")
    assert answer.headers["Content-Disposition"] == "attachment; filename*=UTF-8''a%E2%80%AE.html"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    shown = (await site.get("ann", f"/v1/artifacts/{artifact_id}/metadata")).json
    assert (shown["name"], shown["media_type"], shown["size_bytes"]) == ("a\u202e.html", "text/html", 25)


async def test_bytes_that_retention_removed(site: Site) -> None:
    """The row is still there, the answer says what happened to the bytes."""
    artifact_id = await artifact(site)
    for path in (site.home / "data" / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()
    answer = await site.get("ann", f"/v1/artifacts/{artifact_id}")
    assert (answer.status, answer.error["code"]) == (404, "gone")
    assert (await site.get("ann", f"/v1/artifacts/{artifact_id}/metadata")).status == 200


async def test_a_folder_is_listed(site: Site) -> None:
    """Files, folders and links; the system's own folder is not shown."""
    home = site.home / "annes"
    (home / "sub").mkdir()
    (home / "sub" / "a.md").write_text("a")
    (home / ".signoff").mkdir()
    (home / "out").symlink_to("/etc")
    os.mkfifo(home / "pipe")
    folder = (await site.get("ann", "/v1/files/annes")).json
    assert [(entry["name"], entry["kind"]) for entry in folder["entries"]] == [
        ("out", "link"),
        ("pipe", "other"),
        ("sub", "folder"),
    ]
    inside = (await site.get("ann", "/v1/files/annes?path=sub")).json
    assert [entry["path"] for entry in inside["entries"]] == ["sub/a.md"]
    for path in ("none", "sub/a.md", "out"):
        assert (await site.get("ann", f"/v1/files/annes?path={path}")).status in {404, 422}


@pytest.mark.parametrize("path", ["../config.yaml", "/etc/passwd", "a/../../x", "out/passwd", "a\\b", "%00", "pipe"])
async def test_no_path_leads_out_of_the_workspace(site: Site, path: str) -> None:
    """By no way of reading."""
    (site.home / "annes" / "out").symlink_to("/etc")
    os.mkfifo(site.home / "annes" / "pipe")
    for where in ("", "/content", "/preview"):
        answer = await site.get("ann", f"/v1/files/annes{where}?path={path}")
        assert answer.status in {404, 422}, (where, answer.body)
        assert answer.error


@pytest.mark.parametrize(
    ("name", "content", "kind", "text"),
    [
        ("a.md", b"# <b>hi</b>", "text", "# <b>hi</b>"),
        ("a.svg", b"<svg onload='alert(1)'/>", "text", "<svg onload='alert(1)'/>"),
        ("a.png", b"\x89PNG", "picture", None),
        ("a.bin", b"\0\1", "none", None),
        ("a.xlsx", b"no workbook", "none", None),
    ],
)
async def test_a_preview_fits_the_file(site: Site, name: str, content: bytes, kind: str, text: str | None) -> None:
    """Text as it is (whoever shows it escapes it), pictures by their content, the rest with the reason."""
    (site.home / "annes" / name).write_bytes(content)
    preview = (await site.get("ann", f"/v1/files/annes/preview?path={name}")).json
    assert (preview["kind"], preview["text"]) == (kind, text)
    assert (preview["reason"] is None) == (kind != "none")


async def test_tables_are_previewed(site: Site) -> None:
    """CSV with its delimiter found, workbooks sheet by sheet, both cut to what can be looked at."""
    (site.home / "annes" / "a.csv").write_text("x;y\n" + "1;2\n" * 300)
    book = make("a.xlsx", [Sheet(name="One", rows=[["a", 1]]), Sheet(name="Two", rows=[["b"]])])
    (site.home / "annes" / "a.xlsx").write_bytes(book.content)
    table = (await site.get("ann", "/v1/files/annes/preview?path=a.csv")).json
    [sheet] = table["sheets"]
    assert (sheet["rows"][0], len(sheet["rows"]), sheet["row_count"], sheet["cut"]) == (["x", "y"], 200, 301, True)
    sheets = (await site.get("ann", "/v1/files/annes/preview?path=a.xlsx")).json["sheets"]
    assert [(sheet["sheet"], sheet["rows"]) for sheet in sheets] == [("One", [["a", "1"]]), ("Two", [["b"]])]


async def test_a_picture_is_shown_and_a_page_is_saved(site: Site) -> None:
    """By the type that the name says; nothing is guessed from the content."""
    for name, disposition in (("a.png", "inline"), ("a.html", "attachment"), ("a.svg", "attachment")):
        (site.home / "annes" / name).write_bytes(b"<script>")
        answer = await site.get("ann", f"/v1/files/annes/content?path={name}")
        assert answer.headers["Content-Disposition"].startswith(disposition)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_an_upload_is_there_and_in_the_audit(site: Site) -> None:
    """As bytes or as a form; who, what and where are recorded."""
    answer = await uploaded(site, "a.txt", b"first", "?folder=new/place")
    assert (answer.status, answer.json["path"]) == (201, "new/place/a.txt")
    form = aiohttp.FormData()
    form.add_field("file", b"second", filename="b.txt")
    assert (await site.ask("ann", "POST", "/v1/files/annes", data=form)).json["path"] == "b.txt"
    assert (site.home / "annes" / "new" / "place" / "a.txt").read_bytes() == b"first"
    rows = (await site.get(ADMIN, "/v1/audit?what=file_uploaded")).json["audit"]
    assert [(row["who"], row["subject"], row["detail"]) for row in rows] == [
        ("ann", "annes:b.txt", {"size_bytes": 6}),
        ("ann", "annes:new/place/a.txt", {"size_bytes": 5}),
    ]


async def test_a_file_is_replaced_only_when_asked(site: Site) -> None:
    """What is there stays there."""
    assert (await uploaded(site, "a.txt", b"first")).status == 201
    refused = await uploaded(site, "a.txt", b"second")
    assert (refused.status, refused.error["code"]) == (409, "exists")
    assert (site.home / "annes" / "a.txt").read_bytes() == b"first"
    assert (await uploaded(site, "a.txt", b"second", "?replace=true")).status == 201
    assert (site.home / "annes" / "a.txt").read_bytes() == b"second"


@pytest.mark.parametrize(
    "name", ["../a", "a/b", "/etc/x", "a\\b", "..", ".", "", " ", "x" * 300, "a\nb", "a\0b", ".env"]
)
async def test_a_name_with_a_path_in_it_is_refused(site: Site, name: str) -> None:
    """And so is every name that would be another one elsewhere, or that steers the agent."""
    answer = await uploaded(site, name)
    assert (answer.status, answer.error["field"]) == (422, "name")
    assert list((site.home / "annes").iterdir()) == []


@pytest.mark.parametrize("name", ["../a", "..\\a", "/etc/x", "a/b"])
async def test_a_form_cannot_name_a_path_either(site: Site, name: str) -> None:
    """Browsers send the name only; whoever sends more means something else."""
    plain = name.replace("\\", "\\\\")
    answer = await sent_as_form(site, f'Content-Disposition: form-data; name="file"; filename="{plain}"')
    assert (answer.status, answer.error["field"]) == (422, "name")
    answer = await sent_as_form(
        site, f"Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''{quote(name, safe='')}"
    )
    assert answer.status == 422
    assert list((site.home / "annes").iterdir()) == []


@pytest.mark.parametrize("folder", ["..", "../bobs", "/tmp", "memory", "skills", "inbox", ".signoff", "out"])
async def test_an_upload_stays_where_files_may_go(site: Site, folder: str) -> None:
    """Not outside, not through a link, not where the agent itself is steered."""
    (site.home / "annes" / "out").symlink_to(site.home / "bobs")
    answer = await uploaded(site, "a.txt", b"x", f"?folder={folder}")
    assert answer.status == 422, answer.body
    assert list((site.home / "bobs").iterdir()) == []


async def test_a_form_that_is_none(site: Site) -> None:
    """A damaged form is the sender's mistake, and one without a file too."""
    for content_type in ("multipart/form-data", "multipart/form-data; boundary=y"):
        headers = {"Content-Type": content_type}
        answer = await site.ask("ann", "POST", "/v1/files/annes", data=b"--x\r\n", headers=headers)
        assert answer.status == 400, answer.body
    assert (await sent_as_form(site, 'Content-Disposition: form-data; name="text"')).status == 422
    wrong = await site.ask("ann", "POST", "/v1/files/annes", data=b"x", headers={"Content-Type": "text/plain"})
    assert wrong.status == 415


async def test_memory_is_read_by_members_and_written_by_admins(site: Site) -> None:
    """A write says which text it replaces, so that no note is lost; it leaves a row in the audit."""
    path = "/v1/memory/annes"
    empty = (await site.get("ann", path)).json
    assert (empty["text"], empty["sha256"]) == ("", None)
    assert (await site.ask("ann", "PUT", path, json={"text": "x"})).status == 403
    first = await site.ask(ADMIN, "PUT", path, json={"text": "one"})
    assert (first.status, first.json["text"]) == (200, "one")
    late = await site.ask(ADMIN, "PUT", path, json={"text": "two"})
    assert (late.status, late.error["code"]) == (409, "changed")
    body: dict[str, Any] = {"text": "two", "expected_sha256": first.json["sha256"]}
    assert (await site.ask(ADMIN, "PUT", path, json=body)).status == 200
    assert (await site.get("ann", path)).json["text"] == "two"
    assert len((await site.get(ADMIN, "/v1/audit?what=memory_written")).json["audit"]) == 2
    for name in ("../a.md", "a/b.md", "a.txt", ".."):
        assert (await site.ask(ADMIN, "PUT", path, json={"text": "x", "name": name})).status == 422
        assert (await site.get("ann", path, params={"name": name})).status == 422
    assert (await site.get("ann", f"{path}?name=other.md")).status == 404
