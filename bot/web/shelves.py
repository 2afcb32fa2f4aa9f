"""What there is to look into: files, memory, skills and usage."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

from aiohttp import web
from pydantic import ValidationError

from agent.errors import BadInput, Conflict
from bot.api.files import list_folder, preview_file
from bot.api.memory import NOTES, MemoryText, read_memory, write_memory
from bot.api.skills import list_skills
from bot.api.usage import UsageQuery, UsageReport, usage
from bot.api.viewer import Viewer
from bot.api.workspaces import list_workspaces
from bot.entrance.rules import VIEWER, Guarded, Rule
from bot.web.chart import Chart, bars
from bot.web.figures import money
from bot.web.forms import read_form
from bot.web.shell import Shell, see_other

PAGE = Rule(page=True)
SPANS = (7, 30, 90)
"""Days that the usage page offers."""


class Shelves:
    """Pages below `/files`, `/memory`, `/skills` and `/usage`."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._services = shell.services

    def routes(self) -> list[Guarded]:
        """Its routes."""
        return [
            Guarded(web.get("/files", self._first_folder), PAGE),
            Guarded(web.get("/files/{workspace}", self._folder), PAGE),
            Guarded(web.get("/files/{workspace}/view", self._file), PAGE),
            Guarded(web.get("/memory", self._memory), PAGE),
            Guarded(web.post("/memory/{workspace}", self._write_memory), Rule(page=True, role="admin")),
            Guarded(web.get("/skills", self._skills), PAGE),
            Guarded(web.get("/usage", self._usage), PAGE),
        ]

    # --- files ----------------------------------------------------------------------------------------------------

    async def _first_folder(self, request: web.Request) -> web.StreamResponse:
        return await self._shown_folder(request, await self._home(request[VIEWER]), "")

    async def _folder(self, request: web.Request) -> web.StreamResponse:
        return await self._shown_folder(request, request.match_info["workspace"], request.query.get("path", ""))

    async def _shown_folder(self, request: web.Request, workspace: str, path: str) -> web.StreamResponse:
        viewer = request[VIEWER]
        folder = await list_folder(self._services, viewer, workspace, path)
        entries = sorted(folder.entries, key=lambda row: (row.kind != "folder", row.name.casefold()))
        return await self._shell.page(
            request,
            "files.html",
            here="files",
            folder=folder,
            entries=entries,
            crumbs=_crumbs(folder.path),
            workspaces=await self._workspaces(viewer),
            max_upload=self._services.config.bot.http.max_upload,
        )

    async def _file(self, request: web.Request) -> web.StreamResponse:
        workspace, path = request.match_info["workspace"], request.query.get("path", "")
        preview = await preview_file(self._services, request[VIEWER], workspace, path)
        return await self._shell.page(
            request, "file.html", here="files", file=preview, crumbs=_crumbs(preview.path), cut=preview.cut
        )

    # --- memory and skills ----------------------------------------------------------------------------------------

    async def _memory(self, request: web.Request) -> web.StreamResponse:
        viewer = request[VIEWER]
        workspace = request.query.get("workspace") or await self._home(viewer)
        memory = await read_memory(self._services, viewer, workspace, request.query.get("name") or NOTES)
        return await self._shell.page(
            request, "memory.html", here="memory", memory=memory, workspaces=await self._workspaces(viewer)
        )

    async def _write_memory(self, request: web.Request) -> web.StreamResponse:
        form = await read_form(request, self._services.config.bot.http.max_upload)
        workspace = request.match_info["workspace"]
        try:
            new = MemoryText(
                name=form.text("name") or NOTES,
                text=form.text("text"),
                expected_sha256=form.text("expected_sha256") or None,
            )
        except ValidationError as error:
            raise BadInput(f"This cannot be kept: {error.errors(include_url=False)[0]['msg']}.") from None
        try:
            await write_memory(self._services, request[VIEWER], workspace, new)
        except Conflict:
            raise Conflict(
                "Somebody changed this memory while you wrote. Open it in another tab and bring the two together; "
                "your text is still in the field.",
                code="changed",
            ) from None
        return see_other(request, f"/memory?workspace={workspace}&name={new.name}&saved=1")

    async def _skills(self, request: web.Request) -> web.StreamResponse:
        viewer = request[VIEWER]
        found = await list_skills(self._services, viewer, request.query.get("workspace") or None)
        return await self._shell.page(
            request, "skills.html", here="skills", found=found, workspaces=await self._workspaces(viewer)
        )

    # --- usage ----------------------------------------------------------------------------------------------------

    async def _usage(self, request: web.Request) -> web.StreamResponse:
        viewer = request[VIEWER]
        asked = request.query.get("days", "")
        days = int(asked) if asked in map(str, SPANS) else 30
        until = self._services.clock.now()
        since = until - timedelta(days=days)
        by_day = await usage(self._services, viewer, UsageQuery(by="day", since=since, until=until))
        by_model = await usage(self._services, viewer, UsageQuery(by="model", since=since, until=until))
        by_member = await usage(self._services, viewer, UsageQuery(by="member", since=since, until=until))
        tokens, cost = _charts(by_day, viewer)
        return await self._shell.page(
            request,
            "usage.html",
            here="usage",
            days=days,
            spans=SPANS,
            total=by_day.total,
            by_day=by_day.lines,
            by_model=by_model.lines,
            by_member=by_member.lines,
            tokens=tokens,
            cost=cost,
        )

    async def _home(self, viewer: Viewer) -> str:
        workspaces = (await list_workspaces(self._services, viewer)).workspaces
        return next((one.name for one in workspaces if one.default), workspaces[0].name)

    async def _workspaces(self, viewer: Viewer) -> list[str]:
        return [one.name for one in (await list_workspaces(self._services, viewer)).workspaces]


def _crumbs(path: str) -> list[tuple[str, str]]:
    """The name and path of each folder on the way, without the top."""
    parts = PurePosixPath(path).parts
    return [(part, "/".join(parts[: index + 1])) for index, part in enumerate(parts)]


def _charts(report: UsageReport, viewer: Viewer) -> tuple[Chart, Chart]:
    """Tokens and money of every day of the report, those without any included."""
    zone = ZoneInfo(viewer.member.timezone)
    first, last = report.since.astimezone(zone).date(), report.until.astimezone(zone).date()
    found = {line.key: line for line in report.lines}
    tokens, cost = [], []
    for offset in range((last - first).days + 1):
        day: date = first + timedelta(days=offset)
        line = found.get(day.isoformat())
        label = f"{day.day} {day:%b}"
        count = line.input_tokens + line.output_tokens if line else 0
        usd = (line.cost_usd or 0.0) if line else 0.0
        tokens.append((label, float(count), f"{label}: {count:,} tokens"))
        cost.append((label, usd, f"{label}: {money(usd)}"))
    return bars(tokens), bars(cost)
