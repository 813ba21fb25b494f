import pytest

from pinnsig.sizes import bytes_text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (560_000, "560 kB"), (999_600, "1 MB"),
     (84.4e6, "84 MB"), (1.25e9, "1.2 GB"), (3e16, "30 PB"), (2.5e19, "25000 PB")],
)  # fmt: skip
def test_bytes_are_said_in_the_unit_that_suits(count, text):
    assert bytes_text(count) == text
