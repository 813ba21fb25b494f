"""What is known of each problem beforehand: the best published error, and settings that it needs.

A problem without an entry runs, too. Errors are relative L2 errors of neural solvers as their
authors state them (those of DSGNAR, KIYANI, DOUBLE, TINN, NSFNETS, KRISHNAPRIYAN, MINDSPORE and of
VRBA's solitons as others quote them), on whatever machine and in whatever time; `other` says how a
setting differs from ours, and such an error is never said to be beaten.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VRBA = "vRBA with SSBroyden (Toscano, Chen, Oommen, Darbon and Karniadakis 2025)"
DSGNAR = "DSGNAR, a sketched Gauss-Newton method (arXiv 2607.02194, 2026)"
JAXPI = "jaxpi (Wang, Sankaran, Wang and Perdikaris 2023)"
PIRATE = "PirateNet (Wang, Li, Chen and Perdikaris 2024)"
ENGD_W = "ENGD-W (Guzmán-Cordero, Dangel, Goldshlager and Zeinhofer 2025)"
KIYANI = "SSBroyden (Kiyani, Shukla, Urbán, Darbon and Karniadakis 2025)"
DOUBLE = "double backpropagation (Andersen and Matsubara 2026)"
RAISSI = "Raissi, Perdikaris and Karniadakis (2019)"
PADDLE = "PaddleScience's documentation"
MINDSPORE = "MindSpore Flow's documentation"
TINN = "TINN, Levenberg-Marquardt (Dai and others 2026)"
NSFNETS = "NSFnets (Jin, Cai, Li and Karniadakis 2021)"
KRISHNAPRIYAN = "Krishnapriyan, Gholami, Zhe, Kirby and Mahoney (2021)"

SINES = {"network": "siren:omega_0=5", "depth": 2, "width": 30}
"""For solutions that are smooth and wavy: a small SIREN."""

HUNDRED = {
    "depth": 1,
    "width": 256,
    "p": 1e-3,
    "sigma_b": 0.5,
    "normalize": True,
    "scaling": {"outputs": {"u": [33.3, 3.0]}, "terms": {"residual": 200.0, "boundary": 3.0}},
    "weighting": "none",
    "weight": {"boundary": 40.0},
    "sampler": "uniform",
    "collocation": 32,
    "boundary": 1000,
    "phases": ["adam:3500,lr=5e-3,points=fresh,batch=1000,schedule=cosine"],
}
"""For a function of a hundred coordinates: units near single ones, and ever new points.

Its values on the faces are 33.3 +- 3.0, and the Laplacian is 200.
"""


@dataclass(frozen=True)
class Measure:
    """What an error is of, where that is less than every field everywhere.

    Attributes:
        fields: which; the largest of their errors counts.
        at: the coordinates that are held, such as the end of time.
    """

    fields: tuple[str, ...]
    at: Mapping[str, float]

    def __str__(self) -> str:
        held = ", ".join(f"{name} = {value:g}" for name, value in self.at.items())
        return f"{', '.join(self.fields)} at {held}"


@dataclass(frozen=True)
class Published:
    """The lowest error in print that was found.

    Attributes:
        error: relative L2.
        source: the method, and where it was published.
        other: what differs from the setting here; "" where nothing that matters does.
        measure: what it is of; None for all.
    """

    error: float
    source: str
    other: str = ""
    measure: Measure | None = None


@dataclass(frozen=True)
class Entry:
    """A problem of the table.

    Attributes:
        published: the best published error; None where there is no number that can be used.
        settings: as in `solve`, where they differ from the budget's defaults.
    """

    published: Published | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


ENTRIES: dict[str, Entry] = {
    "advection": Entry(Published(6.9e-4, JAXPI, "the period in time is found by training")),
    "allen-cahn": Entry(Published(9.4e-7, KIYANI)),
    "beam": Entry(Published(5.8e-4, PADDLE)),
    "beltrami": Entry(
        Published(2.8e-3, NSFNETS, measure=Measure(("u", "v", "w"), {"t": 1.0})),
        {"collocation": 1200, "initial": 600, "boundary": 1500},
    ),
    "black-scholes": Entry(Published(1e-3, "DeepXDE's documentation", "a setting of its own")),
    "burgers": Entry(Published(5.4e-9, VRBA)),
    "burgers-mild": Entry(Published(8e-14, DSGNAR)),
    "cavity": Entry(Published(1.1e-4, DSGNAR, "perhaps another smooth lid"), {"hard": "yes"}),
    "cavity-400": Entry(settings={"hard": "yes"}),
    "convection": Entry(
        Published(2.0e-2, f"{KRISHNAPRIYAN}; at beta = 50 5.4e-6, {DOUBLE}"), {**SINES, "slabs": 4}
    ),
    "ginzburg-landau": Entry(Published(1.5e-2, PIRATE, "up to T = 1")),
    "gray-scott": Entry(Published(3.6e-3, PIRATE, "up to T = 2")),
    "heat-4d": Entry(Published(1.0e-5, ENGD_W)),
    "helmholtz": Entry(
        Published(2.0e-9, "SPRING (Jnini, Kiyani and others 2026)", "periodic in x and y")
    ),
    "inverse-burgers": Entry(Published(8.5e-4, RAISSI, "newer methods do not state theirs")),
    "inverse-lorenz": Entry(settings={"collocation": 1000}),
    "kdv": Entry(Published(8.2e-11, DSGNAR), {"slabs": 3}),
    "kdv-soliton": Entry(Published(2.2e-6, VRBA)),
    "klein-gordon": Entry(
        Published(
            4.8e-6, f"{TINN}; in the very same setting 2.8e-3, Wang, Teng and Perdikaris (2021)"
        )
    ),
    "kuramoto-sivashinsky": Entry(Published(5e-7, DSGNAR, "a longer time, chaotic")),
    "poisson": Entry(Published(4.5e-14, DSGNAR, "a source of several scales")),
    "poisson-100d": Entry(Published(3.6e-3, f"SPRING, by the authors of {ENGD_W}"), HUNDRED),
    "poisson-10d": Entry(
        Published(6e-12, DSGNAR, "1.2e-5 with a plain network"),
        {**SINES, "collocation": 2000, "boundary": 3000},
    ),
    "poisson-5d": Entry(Published(3e-16, DSGNAR, "2.6e-7 with a plain network"), SINES),
    "reaction": Entry(Published(2.9e-5, f"{DOUBLE}; its equal ends follow from the start")),
    "reaction-diffusion": Entry(
        Published(2.3e-2, f"{KRISHNAPRIYAN}; its start differs at the ends, by 3.4e-4")
    ),
    "schrodinger": Entry(Published(2.0e-3, RAISSI, "error of |h|")),
    "stokes": Entry(settings=SINES),
    "taylor-green": Entry(Published(2.1e-2, MINDSPORE), SINES),
    "wave": Entry(Published(1.2e-15, DSGNAR), SINES),
}


def entry_of(problem: str) -> Entry:
    """Return what is known of a problem; an empty entry where nothing is."""
    return ENTRIES.get(problem, Entry())
