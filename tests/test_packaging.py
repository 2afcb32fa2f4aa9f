"""What a user gets who installs the wheel: one name in site-packages, and a program that starts."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFIG = """
bot: {data_dir: ./data}
agent: {model: demo, models: {demo: {model: scripted/demo}}}
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    # PYTHON* would let the checkout shine through.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh environment: Signoff is its own, the dependencies are borrowed from this one."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=True)
    run(home / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return home / "bin"


def test_wheel_holds_the_product_below_one_name(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"signoff"}
    inside = {name.split("/")[2] for name in names if name.startswith("signoff/_app/")}
    assert inside == {"agent", "bot", "channels", "storage", "tools", "skills", "demo-workspace", "config.yaml"}
    files = (path.relative_to(ROOT) for path in (ROOT / "bot/web").rglob("*.*") if path.suffix != ".pyc")
    assert {f"signoff/_app/{path}" for path in files} <= set(names), "templates, styles and scripts come along"
    assert not [name for name in names if "__pycache__" in name or "/.env" in name]


@pytest.mark.slow
def test_installed_program_checks_a_configuration(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    run(installed / "signoff", "check", cwd=tmp_path)
    # `python -m` puts the current folder first on the path; what lies there must not be taken for ours.
    (tmp_path / "channels").mkdir()
    (tmp_path / "channels/__init__.py").write_text("raise SystemExit('a stranger was imported')")
    run(installed / "python", "-m", "signoff", "check", cwd=tmp_path)
