"""Every page can be found, links within the project lead somewhere, public names are described."""

import importlib.util
import inspect
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import DOCS, README, ROOT, anchors, contents, links, page_name, written_pages

GENERATED = DOCS / "generated"
PAGES = written_pages()


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a module of the site's sources."""
    monkeypatch.syspath_prepend(str(DOCS))
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def made_at_build(target: Path) -> bool:
    """Whether a page or figure below `generated` will be there."""
    folder, name = target.parent.name, target.stem
    if folder == "tutorials":
        return name == "index" or (DOCS / "tutorials" / f"{name}.py").is_file()
    if folder == "documents":
        return (ROOT / f"{name.upper()}.md").is_file()
    if folder == "paper":
        source = (DOCS / "_paper.py").read_text(encoding="utf-8")
        return name == "claims" or f'"{name}"' in source
    return folder == "problems" and name == "index"


def test_every_page_is_in_a_table_of_contents():
    names = {p.relative_to(DOCS).with_suffix("").as_posix() for p in PAGES if p != README}
    entries = {
        (page.parent.relative_to(DOCS) / entry).as_posix()
        for page in PAGES
        if page != README
        for entry in contents(page)
    }
    # a star stands for the names of one folder
    missing = {
        n
        for n in names - {"index"}
        if not any(fnmatch(n, e) and n.count("/") == e.count("/") for e in entries)
    }
    assert not missing
    plain = {e.lstrip("/") for e in entries if "*" not in e}
    assert not {e for e in plain if not e.startswith("generated/")} - names


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_within_the_project_lead_somewhere(page: Path):
    for link in links(page):
        address, _, place = link.partition("#")
        target = (page.parent / address).resolve() if address else page
        if GENERATED in target.parents:
            assert made_at_build(target), link
        else:
            assert target.exists(), link
            if place:
                assert place in anchors(target), link


def test_public_names_are_described(monkeypatch: pytest.MonkeyPatch):
    api = load("_api", monkeypatch)
    known = api.homes()
    for package, about in api.PACKAGES.items():
        text = api.page(package, about, known)
        for name, value in api.public_names(package):
            assert re.search(rf"[.`]{re.escape(name)}\b", text), f"{package}.{name}"
            if api.is_code(value):
                assert inspect.getdoc(value), f"{package}.{name} has no docstring"


def test_the_check_of_a_built_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    check = load("_check", monkeypatch)
    (tmp_path / "other.html").write_text('<h1 id="there">Other</h1>')
    page = tmp_path / "index.html"
    page.write_text('<a href="other.html#there"></a><a href="https://example.org">elsewhere</a>')
    assert list(check.faults(tmp_path)) == []
    page.write_text(
        '<script src="https://cdn.example/x.js"></script><a href="gone.html"></a>'
        '<a href="other.html#gone"></a>'
    )
    assert sorted(check.faults(tmp_path)) == [
        "index.html: loads https://cdn.example/x.js",
        "index.html: no file gone.html",
        "index.html: no place other.html#gone",
    ]
