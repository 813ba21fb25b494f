"""The source distribution and the wheel: they build, hold everything, install and solve."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import pinnsig

ROOT = Path(__file__).parents[1]
BUILD = """
import sys, tarfile
from pathlib import Path
from setuptools import build_meta
out = Path(sys.argv[1])
sdist = out / build_meta.build_sdist(str(out))
with tarfile.open(sdist) as archive:
    archive.extractall(out, filter="data")
import os
os.chdir(out / sdist.name.removesuffix(".tar.gz"))
build_meta.build_wheel(str(out))
"""
FILES = (
    "pyproject.toml",
    "setup.py",
    "MANIFEST.in",
    "constraints.txt",
    "Makefile",
    "LICENSE",
    "*.md",
    "*.cff",
)
DATA = {"pinnsig/py.typed", *(f"pinnsig/reports/assets/report.{end}" for end in ("css", "js"))}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it alone."""
    place = tmp_path_factory.mktemp("built")
    for folder in ("pinnsig", "problems", "tests"):
        shutil.copytree(ROOT / folder, place / "tree" / folder)
    for pattern in FILES:
        for path in ROOT.glob(pattern):
            shutil.copy(path, place / "tree")
    out = place / "dist"
    out.mkdir()
    subprocess.run(
        [sys.executable, "-c", BUILD, str(out)], cwd=place / "tree", check=True, capture_output=True
    )
    return out


def files_of(*folders: str) -> set[str]:
    return {
        str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.py")
    }


def test_the_source_distribution_holds_code_tests_and_papers(built: Path):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert files_of("pinnsig", "problems", "tests") <= names
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "constraints.txt"} <= names


def test_the_wheel_holds_the_packages_only_and_says_what_it_is(built: Path):
    wheel = zipfile.ZipFile(next(built.glob("*.whl")))
    names = set(wheel.namelist())
    code = {
        re.sub(r"^problems/", "pinnsig/problems/", name) for name in files_of("pinnsig", "problems")
    }
    about = f"pinnsig-{pinnsig.__version__}.dist-info/"
    assert {name for name in names if not name.startswith(about)} == code | DATA
    facts = Parser().parsestr(wheel.read(about + "METADATA").decode())
    assert facts["Version"] == pinnsig.__version__
    assert facts["License-Expression"] == "MIT"
    assert about + "licenses/LICENSE" in names


def test_the_wheel_solves_where_nothing_else_of_the_project_is(built: Path, tmp_path: Path):
    venv.create(tmp_path / "empty", with_pip=False, symlinks=os.name != "nt")
    scheme = {"base": str(tmp_path / "empty"), "platbase": str(tmp_path / "empty")}
    site = Path(sysconfig.get_path("purelib", "venv", scheme))
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    # its dependencies are those of this environment, whose own pinnsig is behind it on the path
    here = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(here))
    python = Path(sysconfig.get_path("scripts", "venv", scheme)) / Path(sys.executable).name
    options = "--adam 5 --lbfgs 5 --depth 2 --width 6 --collocation 50 --no-figures --quiet --json"
    done = subprocess.run(
        [str(python), "-P", "-m", "pinnsig", "solve", "heat", *options.split()],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["iterations"] == 10
    config = json.loads((tmp_path / result["run"] / "config.json").read_text())
    assert config["environment"]["versions"]["pinnsig"] == pinnsig.__version__


def test_one_version_everywhere():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {pinnsig.__version__}\n" in citation
    assert f"## {pinnsig.__version__} (" in (ROOT / "CHANGELOG.md").read_text()
