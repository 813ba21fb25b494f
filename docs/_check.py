"""Check a built site: nothing is fetched from elsewhere, and every link inside leads somewhere.

python docs/_check.py build/docs
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser loads by itself, and the attribute that says from where."""

SAID = ("canonical", "next", "prev", "search", "index")
"""Links in a page's head that say something, and load nothing."""


class Page(HTMLParser):
    """What a page loads, where its links lead, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag loads, links to, or names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in FETCHED and given.get(FETCHED[tag]) and given.get("rel") not in SAID:
            self.fetched.append(given[FETCHED[tag]])


def faults(site: Path) -> Iterator[str]:
    """Yield what is wrong, a line each."""
    pages = {
        path: Page(path.read_text(encoding="utf-8", errors="replace"))
        for path in sorted(site.rglob("*.html"))
    }
    for path, page in pages.items():
        name = path.relative_to(site)
        for address in page.fetched:
            if urlsplit(address).netloc:
                yield f"{name}: loads {address}"
        for address in {*page.links, *page.fetched}:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{name}: no file {address}"
            elif parts.fragment and site.resolve() in target.parents and target.suffix == ".html":
                found = pages.get(site / target.relative_to(site.resolve()))
                if found is not None and unquote(parts.fragment) not in found.anchors:
                    yield f"{name}: no place {address}"


if __name__ == "__main__":
    lines = list(faults(Path(sys.argv[1])))
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"{sys.argv[1]}: {len(lines)} faults")
    sys.exit(bool(lines))
