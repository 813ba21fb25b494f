"""What may be searched, and what is refused before anything is trained."""

import pytest

from pinnsig.core.errors import SettingsError
from pinnsig.tuning import read_space


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("lr", "1e-4:1e-2:log", "0.0001:0.01:log"),
        ("lr", (1e-4, 1e-2, "log"), "0.0001:0.01:log"),
        ("depth", "3:8", "3:8"),
        ("width", "8:64:8", "8:64:8"),
        ("act", "tanh,erf", "tanh,erf"),
        ("act", ["tanh", "erf", "erf"], "tanh,erf"),
        ("depth", [2, 4], "2,4"),
        ("network", "ffnn,fourier:sigma=0.5,features=8", "ffnn,fourier:sigma=0.5,features=8"),
        ("set.nu", "0.01:0.1", "0.01:0.1"),
        ("weight.boundary", "1:100:log", "1:100:log"),
        ("normalize", "true,false", "True,False"),
    ],
)
def test_what_may_be_searched(name, given, text):
    (axis,) = read_space({name: given})
    assert (axis.name, axis.text) == (name, text)
    axis.distribution()


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("detph", "2:4", "did you mean depth?"),
        ("depth", "4:2", "its low end must be below its high end"),
        ("depth", "2.5:4", "2.5 is no whole number"),
        ("depth", "0:4", "depth"),
        ("lr", "0:1:log", "both ends of a log range must be above 0"),
        ("lr", "1e-4:1e-2:lin", "'lin' is no number"),
        ("lr", "1e-4:nan", "not finite"),
        ("lr", "1e-3", "one value"),
        ("lr", 1e-3, "neither a range nor several choices"),
        ("act", "1:2", "act is no number"),
        ("act", ("tanh", "erf"), "act is no number"),
        ("width", "8:64:80", "fit between its ends"),
        ("problem", "heat,burgers", "the same for all trials"),
        ("sett.nu", "0:1", "only set and weight have entries"),
    ],
)
def test_what_is_refused(name, given, said):
    with pytest.raises(SettingsError, match=said):
        read_space({name: given})


def test_nothing_to_search():
    with pytest.raises(SettingsError, match="nothing to search"):
        read_space({})
