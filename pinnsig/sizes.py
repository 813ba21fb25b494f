"""Numbers of bytes as people write them."""

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def bytes_text(count: float) -> str:
    """Return a number of bytes with two significant digits and its unit, such as "84 MB"."""
    power = 0
    while power + 1 < len(UNITS) and count >= 999.5:
        count, power = count / 1000, power + 1
    return f"{count:.2g} {UNITS[power]}" if count < 99.5 else f"{count:.0f} {UNITS[power]}"
