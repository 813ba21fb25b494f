"""Optional packages: imported where they are needed, named where they are missing."""

import importlib
from typing import Any

from pinnsig.core.errors import PinnsigError


def require_extra(package: str, extra: str, what: str, error: type[PinnsigError]) -> Any:
    """Return an optional package.

    Args:
        package: as it is imported.
        extra: of this package, that brings it along.
        what: what needs it, for people.
        error: what is raised.

    Raises:
        PinnsigError: of that type; the package is not installed.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        raise error(f"{what}: {name} is not installed: pip install 'pinnsig[{extra}]'") from None
