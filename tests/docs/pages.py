"""The pages of the site as text: their blocks of code, headings, links and tables of contents."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"


@dataclass(frozen=True)
class Block:
    """A block of code on a page.

    Attributes:
        language: as the fence says it.
        text: without the fence.
        line: of the fence, from 1.
        file: to be saved by this name, as `<!-- file: heat.py -->` above the fence says.
        left_out: why it is not run, as `<!-- not run: ... -->` above the fence says.
    """

    language: str
    text: str
    line: int
    file: str | None
    left_out: str | None


def written_pages() -> list[Path]:
    """Return the pages that are written by hand, and the README."""
    return [README, *sorted(p for p in DOCS.rglob("*.md") if "generated" not in p.parts)]


def page_name(path: Path) -> str:
    """Return a page's name below the root."""
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of code of a page, in order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        fence = re.match(r"( *)(`{3,})([a-z]+)$", lines[number])
        if fence:
            end = lines.index(fence[1] + fence[2], number)
            above = lines[number - 1] if number else ""
            text = "\n".join(line.removeprefix(fence[1]) for line in lines[number + 1 : end])
            yield Block(
                fence[3], text, number + 1, comment(above, "file"), comment(above, "not run")
            )
            number = end
        number += 1


def comment(line: str, key: str) -> str | None:
    """Return what `<!-- key: ... -->` says on a line; None where it is no such comment."""
    found = re.fullmatch(rf" *<!-- {key}: (.+) -->", line)
    return found[1] if found else None


def prose(path: Path) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(
        r"^ *(`{3,}).*?^ *\1$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def anchors(path: Path) -> set[str]:
    """Return what links to places on a page may say: its headings' and its own labels."""
    text = prose(path)
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def links(path: Path) -> list[str]:
    """Return the addresses of a page's links and figures within the project."""
    text = re.sub(r"`[^`\n]*`", "", prose(path))
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    return [address for address in found if "://" not in address]


def contents(path: Path) -> list[str]:
    """Return the entries of a page's tables of contents, as they stand."""
    text = path.read_text(encoding="utf-8")
    entries: list[str] = []
    for body in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        entries += [line for line in body.splitlines() if line and not line.startswith(":")]
    return entries
