"""What every command needs, opened beside a running server or without one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agent.approvals import Approvals
from agent.edits import Drafts
from agent.holes import Survey
from agent.inbox import TaskInbox
from agent.live import Live
from agent.llm.models import ConfiguredModels
from agent.pairing import Pairing
from agent.people import People
from agent.ports.clock import Clock
from agent.reception import Reception
from agent.rules import Rules
from agent.skills import BUILT_IN, SkillFolder, SkillSource
from agent.tool import ToolRegistry
from agent.watch import Watch
from bot.clock import SystemClock
from bot.config import Config
from storage.blobs import FileBlobs
from storage.store.access import SqlAccess
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore, open_store
from tools.processes import ProcessPool
from tools.registry import build_tool_registry
from tools.workspace.directory import WorkspaceDirectory
from tools.workspace.guard import Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """What every command needs: the rows, the files, the models, the decisions."""

    config: Config
    clock: Clock
    people: People
    pairing: Pairing
    rules: Rules
    store: SqlStore
    access: SqlAccess
    roster: SqlRoster
    blobs: FileBlobs
    workspaces: WorkspaceDirectory
    models: ConfiguredModels
    inbox: TaskInbox
    approvals: Approvals
    reception: Reception
    live: Live
    watch: Watch
    processes: ProcessPool
    skills: SkillSource
    registry: ToolRegistry

    @property
    def embedded(self) -> bool:
        """Whether the database is a file that one process works on."""
        return not self.store.database.shared

    async def survey(self) -> Survey:
        """What there is to look for holes in."""
        return Survey(
            rules=self.rules,
            people=await self.people.by_name(),
            to=self.config.asked_at(),
            channels=self.config.channels.enabled(),
            open_channels=self.config.channels.open_to_all(),
            closed_channels=self.config.channels.closed(),
        )

    def url(self, path: str, port: int | None = None) -> str:
        """The address of a path as its callers know it; `port` is the one that was really taken."""
        http = self.config.bot.http
        if http.public_url:
            return http.public_url.rstrip("/") + path
        host = "127.0.0.1" if http.host in {"0.0.0.0", "::", ""} else http.host  # noqa: S104 - a comparison
        return f"http://{f'[{host}]' if ':' in host else host}:{port or http.port}{path}"


@asynccontextmanager
async def connected(config: Config, clock: Clock | None = None) -> AsyncIterator[Services]:
    """Open what every command needs; works beside a running server."""
    clock = clock or SystemClock()
    store = await open_store(config.storage.url or config.bot.data_dir / "signoff.sqlite3", clock=clock)
    try:
        models = ConfiguredModels(config.agent.models, clock)
        try:
            services = _services(config, clock, store, models)
            try:
                yield services
            finally:
                await services.watch.close()
                await services.processes.close()
        finally:
            await models.close()
    finally:
        await store.close()


def _services(config: Config, clock: Clock, store: SqlStore, models: ConfiguredModels) -> Services:
    workspaces = WorkspaceDirectory(
        {name: str(workspace.path) for name, workspace in config.workspaces.items()},
        {name: workspace.channels for name, workspace in config.workspaces.items()},
        private_folder=str(config.private_workspaces),
        protected=config.protected,
    )
    access, roster = SqlAccess(store.database), SqlRoster(store.database)
    people = People(config.people, roster, timezone=config.bot.timezone)
    inbox = TaskInbox(store=store, workspaces=workspaces)
    live, processes, skills = Live(), ProcessPool(), skill_source(config)
    registry = build_tool_registry(processes, skills)
    drafts = Drafts(registry=registry, workspaces=workspaces, clock=clock)
    approvals = Approvals(store=store, inbox=inbox, people=people, drafts=drafts, clock=clock)
    return Services(
        config=config,
        clock=clock,
        people=people,
        pairing=Pairing(people=people, roster=roster, access=access, clock=clock),
        rules=config.rules(),
        store=store,
        access=access,
        roster=roster,
        blobs=FileBlobs(config.bot.data_dir / "blobs"),
        workspaces=workspaces,
        models=models,
        inbox=inbox,
        approvals=approvals,
        reception=Reception(store=store, inbox=inbox, approvals=approvals, people=people),
        live=live,
        watch=Watch(live, store),
        processes=processes,
        skills=skills,
        registry=registry,
    )


def skill_source(config: Config) -> SkillSource:
    """The built-in skills, then those of the configured folders."""
    folders = [("built in", BUILT_IN), *((str(path), path) for path in config.skills.paths)]
    return SkillSource([SkillFolder(label=label, files=Workspace(label, str(path))) for label, path in folders])
