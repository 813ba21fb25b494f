"""Things known by name: one rule on clashes, and one "did you mean" for names that are not there.

A registry is a mapping that is read like a dict. What is registered by the library itself comes
first, in the order of its modules, and then what users add.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from pinnsig.core.errors import PinnsigError

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry]):
    """Entries by name, in the order of their registration.

    Args:
        what: what an entry is, for people, such as "sampler".
        error: the type of the errors.
        entries: the first entries by name.
    """

    def __init__(
        self, what: str, error: type[PinnsigError], entries: Mapping[str, Entry] | None = None
    ) -> None:
        self.what, self.error = what, error
        self._entries: dict[str, Entry] = dict(entries or {})

    def register(self, name: str, entry: Entry) -> Entry:
        """Make an entry known by a name, and return it.

        Raises:
            PinnsigError: see `check_free`.
        """
        self.check_free(name, entry)
        return self._entries.setdefault(name, entry)

    def check_free(self, name: str, entry: object) -> None:
        """Refuse a name that belongs to something else.

        Raises:
            PinnsigError: of the registry's type; says what has the name, and what wanted it.
        """
        taken = self._entries.get(name, entry)
        if taken is not entry and taken != entry:
            raise self.error(
                f"the name {name!r} is taken by the {self.what} {_origin(taken)}: choose another "
                f"for {_origin(entry)}"
            )

    def unregister(self, name: str) -> Entry:
        """Forget an entry, and return it.

        Raises:
            PinnsigError: of the registry's type: there is none of that name.
        """
        entry = self.find(name)
        del self._entries[name]
        return entry

    def find(self, name: str) -> Entry:
        """Return the entry of a name.

        Raises:
            PinnsigError: of the registry's type: there is none; says which is nearest, or all.
        """
        if name not in self._entries:
            raise self.error(unknown(self.what, name, self._entries))
        return self._entries[name]

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not there."""
    return f"{what} {name!r} is unknown: {suggestion(name, known)}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return what to choose in the place of a name: the nearest known one, or else all of them."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known) or 'none'}"


def _origin(entry: object) -> str:
    """Return where a class or a function is defined; other things in their own words."""
    if not hasattr(entry, "__qualname__") and type(entry).__repr__ is not object.__repr__:
        return repr(entry)
    named: Any = entry if hasattr(entry, "__qualname__") else type(entry)
    return f"{named.__module__}.{named.__qualname__}"
