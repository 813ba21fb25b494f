"""Documents that stand elsewhere in the repository, as pages of the site."""

import re
from pathlib import Path

DOCUMENTS = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""At the top level; a link from one of them to another is a link between pages."""


def write_documents(folder: Path, root: Path) -> None:
    """Write each top-level document as a page.

    Args:
        folder: where the pages go.
        root: the repository.
    """
    for name in DOCUMENTS:
        text = (root / name).read_text(encoding="utf-8")
        for other in DOCUMENTS:
            text = text.replace(f"]({other})", f"]({other.lower()})")
        write(folder / name.lower(), text)


def write_tables(target: Path, root: Path) -> None:
    """Write the tables of errors that have been made one after the other, headings deeper."""
    tables = (path.read_text(encoding="utf-8") for path in sorted(root.glob("runs/table/*/*.md")))
    write(target, re.sub(r"(?m)^#", "###", "\n".join(tables)))


def write(path: Path, text: str) -> None:
    """Write a text; a file that holds it already stays as it is, so that nothing is built anew."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
