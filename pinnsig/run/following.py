"""What the processes of a run do that are not rank 0: make the same model, and answer."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import torch
from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

from pinnsig.core.errors import PinnsigError, RankError
from pinnsig.core.interrupts import deaf, end_with_parent
from pinnsig.core.ranks import JoinedRanks, Ranks
from pinnsig.model import Model
from pinnsig.objective.distributed import Fault, Follower, fault_of
from pinnsig.problem import Problem
from pinnsig.problem.reference import Reference
from pinnsig.run.building import RunComponents, build
from pinnsig.run.networks import Own
from pinnsig.run.settings import Settings

HERE = "here/{}"
"""Key of the store by which a process says that it is there."""


@dataclass(frozen=True)
class Begin:
    """The order to make a model.

    Attributes:
        settings: by name, resolved.
        problem: where its class is found; None where each process was given it.
        state: weights, and what else the model holds.
        nccl: whether each process has a GPU of its own.
    """

    settings: dict[str, Any]
    problem: Reference | None
    state: Mapping[str, torch.Tensor]
    nccl: bool


@dataclass(frozen=True)
class End:
    """The order to end: the run is over, and gave this; None where it failed."""

    result: Any


@dataclass(frozen=True)
class OwnParts:
    """What a script gives that no other process could be sent: each has its own, if each runs it.

    Attributes:
        problem: the class.
        network: see `pinnsig.solve`.
    """

    problem: type[Problem] | None = None
    network: Own | None = None


def lead(ranks: Ranks, parts: RunComponents, own: OwnParts) -> None:
    """Have all others make the model of rank 0, before an objective is dealt.

    Args:
        ranks: the processes; this one is rank 0.
        parts: what rank 0 trains.
        own: what it was given.

    Raises:
        PinnsigError: one of them cannot.
    """
    if ranks.size == 1:
        return
    device = torch.device(parts.settings.device)
    if device.type == "mps":
        raise RankError("several processes cannot share an mps device: take --device cpu")
    if device.index is not None:
        raise RankError(
            f"device {device} is one GPU, and each process takes its own: leave the number out"
        )
    if own.network is not None and ranks.started:
        raise RankError(
            "a network from Python cannot be sent to other processes: start the script with "
            "torchrun, so that each has it, or take a registered network"
        )
    state = {name: value.cpu() for name, value in parts.model.state_dict().items()}
    same = own.problem is not None and not ranks.started
    reference = None if same else Reference.of(type(parts.problem))
    nccl = device.type == "cuda" and ranks.here <= torch.cuda.device_count()
    for rank in ranks.others:
        ranks.send(rank, Begin(parts.settings.as_dict(), reference, state, nccl))
    ranks.place(device, nccl)
    for rank in ranks.others:
        fault, _ = ranks.receive(rank)
        if isinstance(fault, Fault):
            raise RankError(f"rank {rank} cannot take part: {fault.text}")


def follow(ranks: Ranks, own: OwnParts = OwnParts()) -> Any:
    """Answer rank 0 until its run is over; return what that gave.

    Signals are for rank 0 to hear.

    Raises:
        RankError: rank 0 has ended without a word.
    """
    follower: Follower | None = None
    with deaf():
        while True:
            order, tensors = ranks.receive(0)
            if isinstance(order, End):
                return order.result
            if not isinstance(order, Begin):
                assert follower is not None
                follower.obey(order, tensors)
                continue
            fault = None
            try:
                follower = Follower(ranks, _model(ranks, order, own))
            except Exception as error:
                fault = fault_of(error)
            ranks.send(0, fault)


def _model(ranks: Ranks, order: Begin, own: OwnParts) -> Model:
    settings = Settings(**order.settings)
    device = torch.device(settings.device)
    if device.type == "cuda":
        device = torch.device("cuda", ranks.local % torch.cuda.device_count())
        settings = replace(settings, device=str(device))
    problem = own.problem if order.problem is None else order.problem.find()
    model = build(settings, problem, own.network).model
    model.load_state_dict(order.state)
    ranks.place(device, order.nccl)
    return model


def main(arguments: list[str]) -> int:
    """Be one of the processes that `--devices` starts: host, port, rank, size and threads."""
    host, *numbers = arguments
    port, rank, size, threads = map(int, numbers)
    end_with_parent(signal.SIGKILL)  # it hears no other
    torch.set_num_threads(threads)
    store = TCPStore(host, port, is_master=False, timeout=timedelta(minutes=1))
    store.set(HERE.format(rank), "")
    try:
        follow(JoinedRanks(store, rank, size, rank, size))
    except PinnsigError:
        return 1  # rank 0 says why, or is gone
    return 0
