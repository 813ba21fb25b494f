"""What a report holds, read back from its HTML."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from tests.conftest import strict_json

VOID = {"meta", "link", "input", "br"}


class Report(HTMLParser):
    """A report's elements, its visible text and its charts.

    Attributes:
        tags: of all elements, in order.
        text: all that can be read, without scripts and styles.
        charts: by the id of the element that each is drawn in.
        addresses: what elements refer to.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.parts: list[str] = []
        self.places: list[str] = []
        self.addresses: list[str] = []
        self.held = ""
        self._inside_charts = False
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        self.charts: dict[str, Any] = strict_json(self.held)
        self.text = " ".join(" ".join(self.parts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.addresses += [v for k, v in attrs if k in ("src", "href") and v]
        if given.get("class") == "chart":
            self.places.append(given["id"] or "")
        self._inside_charts = given.get("id") == "charts"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._inside_charts = False

    def handle_data(self, data: str) -> None:
        if self._inside_charts:
            self.held += data
        elif not {"script", "style"} & set(self.open):
            self.parts.append(data)

    def traces(self, kind: str) -> list[dict[str, Any]]:
        """All traces of one kind."""
        return [t for c in self.charts.values() for t in c["data"] if t["type"] == kind]
