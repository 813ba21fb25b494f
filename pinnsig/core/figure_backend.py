"""matplotlib, even where MPLBACKEND names a backend that it does not know.

matplotlib then refuses to be imported. Figures of this package are files, which need no backend.
Has to come before any other import of matplotlib; a name that it knows stays in force.
"""

import os
import sys

try:
    import matplotlib
except ValueError:
    _named = os.environ.pop("MPLBACKEND", None)
    for _name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        del sys.modules[_name]  # half imported
    try:
        import matplotlib  # noqa: F401
    finally:
        if _named is not None:
            os.environ["MPLBACKEND"] = _named
