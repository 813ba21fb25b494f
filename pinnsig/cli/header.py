"""The lines above a run's progress."""

from pinnsig.run.building import RunComponents
from pinnsig.run.settings import PRESETS, PURPOSES


def header(parts: RunComponents, chosen: bool) -> str:
    """What is about to be trained, and why with this preset."""
    s = parts.settings
    why = "as asked" if chosen else "the default"
    others = ", ".join(f"--preset {name}" for name in PRESETS if name != s.preset)
    phases = ", ".join(f"{phase.optimizer} {phase.iterations}" for phase in s.phase_list())
    more = [f"points {s.collocation} + {s.initial} + {s.boundary}", f"learning rate {s.lr:.3g}"]
    if s.weighting != "none":
        more.append(f"terms weighted by {s.weighting}")
    if s.causal:
        more.append("causal")
    if s.slabs != 1:
        more.append(f"{len(s.slabs) if isinstance(s.slabs, list) else s.slabs} slabs of time")
    if parts.problem.hard:
        more.append("conditions met exactly")
    if parts.problem.scaled_inputs:
        more.append("inputs on [-1, 1]")
    if s.max_seconds is not None:
        more.append(f"at most {s.max_seconds:g} s")
    return (
        f"{s.problem}: {parts.activation.expression}, {parts.initializer.spec}, "
        f"{s.depth} x {s.width}, {s.dtype} on {s.device}\n"
        f"preset {s.preset} ({why}: {PURPOSES[s.preset]}; others: {others}): {phases}; "
        f"{', '.join(more)}"
    )
