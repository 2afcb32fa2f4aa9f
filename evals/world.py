"""The folder in which one case plays: a workspace, what lies beside it, and how all of that changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from openpyxl import Workbook

from evals.case import Case, MadeFile

Snapshot = Mapping[str, bytes]
"""What every path holds; a folder ends in `/`, a link holds `-> target`."""

WORKSPACE = "workspace"
DATA = "data"


@dataclass(frozen=True, slots=True)
class World:
    """`root` holds config.yaml, the workspace, the canary files beside it, and the data directory."""

    root: Path

    def build(self, case: Case) -> None:
        """Make the folder of a case; its config.yaml is written by whoever knows the model."""
        (self.root / WORKSPACE).mkdir()
        (self.root / "script.yaml").write_text(_script(case).replace("$WORLD", str(self.root)), encoding="utf-8")
        self.change(case.workspace)

    def change(self, files: Mapping[str, str | MadeFile | None]) -> None:
        """Write, make or remove files as a case names them."""
        for name, content in files.items():
            path = self._path(name)
            path.unlink(missing_ok=True)
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._make(path, MadeFile(text=content) if isinstance(content, str) else content)

    def snapshot(self) -> Snapshot:
        """Everything but the data directory, by its path from the workspace."""
        return dict(self._entries(self.root))

    def _path(self, name: str) -> Path:
        path = Path(os.path.normpath(self.root / WORKSPACE / name))
        if not path.is_relative_to(self.root):
            raise ValueError(f"{name} lies outside the folder of the case")
        return path

    def _make(self, path: Path, made: MadeFile) -> None:
        if made.link is not None:
            path.symlink_to(made.link.replace("$WORLD", str(self.root)))
        elif made.hard_link is not None:
            path.hardlink_to(self._path(made.hard_link))
        elif made.pipe:
            os.mkfifo(path)
        elif made.sheets is not None:
            _save(made.sheets, path)
        else:
            path.write_bytes((made.text or "").encode(made.encoding) * made.times)

    def _entries(self, folder: Path) -> Iterator[tuple[str, bytes]]:
        for path in sorted(folder.iterdir()):
            if path == self.root / DATA:
                continue
            name = os.path.relpath(path, self.root / WORKSPACE)
            if path.is_symlink():
                yield name, f"-> {path.readlink()}".encode()
            elif path.is_dir():
                yield f"{name}/", b""
                yield from self._entries(path)
            else:
                yield name, path.read_bytes() if path.is_file() else b"(neither a file nor a folder)"


def _script(case: Case) -> str:
    parts = [part.model_dump(mode="json", exclude_unset=True) for part in case.script]
    return str(yaml.safe_dump(parts, allow_unicode=True, sort_keys=False))


def _save(sheets: Mapping[str, list[list[object]]], path: Path) -> None:
    book = Workbook()
    for number, (title, rows) in enumerate(sheets.items()):
        sheet = book.create_sheet(title, number)
        for row in rows:
            sheet.append(row)
    book.remove(book.worksheets[-1])  # the empty one that every new workbook has
    book.save(path)
