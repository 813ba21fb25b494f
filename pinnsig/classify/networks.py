"""Several feed-forward classifiers of one shape side by side, with their pass back written out.

Without autograd, a step is three matrix products and one pass over an activation per layer and all
members, in memory that is taken once; so small layers, of which a deep narrow network is made, are
not dominated by what a graph costs.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.classify.elementwise import Elementwise
from pinnsig.core.memory import require
from pinnsig.initializers import Initializer
from pinnsig.networks import FFNN

MOMENTUM = 0.1  # of the running statistics of batch normalisation, and
EPSILON = 1e-5  # what is added to its variance, as is usual (Ioffe and Szegedy 2015)
COPIES = 6  # of the weights: gradient, two moments, the best and the last ones


class Layer(NamedTuple):
    """Views of one layer's numbers, each with a leading dimension for the members.

    Attributes:
        weight, bias: shapes (M, out, in) and (M, 1, out).
        gain, shift: of batch normalisation, shapes (M, 1, out); None without.
    """

    weight: Tensor
    bias: Tensor
    gain: Tensor | None
    shift: Tensor | None


@dataclass(frozen=True)
class Shape:
    """What members that are carried together share.

    Attributes:
        inputs, outputs: pixels and classes.
        depth, width: hidden layers and their units.
        batch_norm: whether hidden layers are normalised over the batch before their activation.
    """

    inputs: int
    outputs: int
    depth: int
    width: int
    batch_norm: bool = False

    @property
    def sizes(self) -> list[int]:
        """Units of every layer from the input to the output."""
        return [self.inputs, *[self.width] * self.depth, self.outputs]

    @property
    def parameters(self) -> int:
        """P, of one member."""
        sizes = self.sizes
        plain = sum((a + 1) * b for a, b in itertools.pairwise(sizes))
        return plain + (2 * self.depth * self.width if self.batch_norm else 0)

    def views(self, flat: Tensor) -> list[Layer]:
        """Every layer's views of numbers of shape (M, P)."""
        found, start, members = [], 0, len(flat)

        def take(*shape: int) -> Tensor:
            nonlocal start
            size = shape[0] * shape[1]
            part = flat[:, start : start + size].view(members, *shape)
            start += size
            return part

        sizes = self.sizes
        for index, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
            weight, bias = take(n_out, n_in), take(1, n_out)
            normal = self.batch_norm and index < self.depth
            gain, shift = (take(1, n_out), take(1, n_out)) if normal else (None, None)
            found.append(Layer(weight, bias, gain, shift))
        return found


class Classifiers:
    """M networks of one shape, each with its own activation.

    Args:
        shape: theirs.
        activations: one for each member.
        dtype, device: of their numbers.

    Attributes:
        theta, gradient: shape (M, P).
        means, variances: running statistics of batch normalisation by layer, shape (M, 1, width).

    Raises:
        SettingsError: too little memory.
    """

    def __init__(
        self,
        shape: Shape,
        activations: Sequence[Activation],
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        members, itemsize = len(activations), dtype.itemsize
        require(
            members * shape.parameters * itemsize * COPIES,
            f"{members:,} network(s) of {shape.parameters:,} weights",
            "take fewer layers, fewer units or fewer members at once",
            device,
        )
        self.shape, self.members = shape, members
        self.theta = torch.zeros(members, shape.parameters, dtype=dtype, device=device)
        self.gradient = torch.zeros_like(self.theta)
        self.activation = Elementwise(activations, self.theta)
        self._workspaces: dict[int, _Workspace] = {}
        self.layers, self.slopes = shape.views(self.theta), shape.views(self.gradient)
        normals = shape.depth if shape.batch_norm else 0
        self.means = [self.theta.new_zeros(members, 1, shape.width) for _ in range(normals)]
        self.variances = [torch.ones_like(mean) for mean in self.means]
        for layer in self.layers:
            if layer.gain is not None:
                layer.gain.fill_(1.0)

    def fill(
        self,
        member: int,
        activation: Activation,
        initializer: Initializer,
        generator: torch.Generator,
    ) -> None:
        """Draw one member's weights, as `FFNN` of the same sizes would have them."""
        s = self.shape
        network = FFNN(s.inputs, s.outputs, s.depth, s.width, activation, dtype=self.theta.dtype)
        initializer.fill(network, generator)
        for layer, linear in zip(self.layers, network.linears, strict=True):
            layer.weight[member].copy_(linear.weight.detach())
            layer.bias[member, 0].copy_(linear.bias.detach())

    def statistics(self) -> list[Tensor]:
        """Running means and variances of all layers."""
        return [*self.means, *self.variances]

    # --- passes ---------------------------------------------------------------------------------

    def logits(self, x: Tensor) -> Tensor:
        """Return the outputs, shape (M, B, classes), at inputs of shape (M, B, F); for judging."""
        for index, layer in enumerate(self.layers):
            x = torch.baddbmm(layer.bias, x, layer.weight.mT)
            if index == self.shape.depth:
                break
            if layer.gain is not None and layer.shift is not None:
                deviation = (self.variances[index] + EPSILON).sqrt_()
                x.sub_(self.means[index]).div_(deviation).mul_(layer.gain).add_(layer.shift)
            x = self.activation.value_(x)
        return x

    def step(self, x: Tensor, labels: Tensor) -> Tensor:
        """Return each member's mean cross-entropy, shape (M,), and put its slope into `gradient`.

        Args:
            x: inputs, shape (M, B, F).
            labels: shape (M, B).
        """
        work = self._work(x.shape[1])
        inputs = [x, *work.hidden]
        normals: list[Tensor] = []  # 1 / deviation
        for index, layer in enumerate(self.layers[:-1]):
            h = torch.baddbmm(layer.bias, inputs[index], layer.weight.mT, out=work.hidden[index])
            if layer.gain is not None and layer.shift is not None:
                normals.append(self._normalise(index, h, work.normal[index]))
                torch.addcmul(layer.shift, work.normal[index], layer.gain, out=h)
            self.activation.both_(h, work.slopes[index])
        last = self.layers[-1]
        logs = torch.baddbmm(last.bias, inputs[-1], last.weight.mT).log_softmax(2)
        wanted = labels.unsqueeze(2)
        losses = -logs.gather(2, wanted).squeeze(2).mean(1)
        back = logs.exp_()
        back.scatter_add_(2, wanted, back.new_full((), -1.0).expand(wanted.shape))
        back.div_(labels.shape[1])
        for index in range(self.shape.depth, -1, -1):
            slope = self.slopes[index]
            torch.bmm(back.mT, inputs[index], out=slope.weight)
            torch.sum(back, 1, keepdim=True, out=slope.bias)
            if index == 0:
                break
            into = work.back[index % 2]
            back = torch.bmm(back, self.layers[index].weight, out=into).mul_(work.slopes[index - 1])
            if normals:
                back = self._normalise_back(index - 1, back, work.normal[index - 1], normals.pop())
        return losses

    def _work(self, batch: int) -> "_Workspace":
        """Memory for a batch of that size, kept: a recorded step goes on using it.

        Smaller batches use a part of what the largest one has.
        """
        if batch not in self._workspaces:
            largest = self._workspaces.get(max(self._workspaces, default=0))
            self._workspaces[batch] = _Workspace(self, batch, largest)
        return self._workspaces[batch]

    def _normalise(self, index: int, h: Tensor, out: Tensor) -> Tensor:
        """Write h normalised over the batch, move the running statistics; return 1 / deviation."""
        variance, mean = torch.var_mean(h, dim=1, correction=0, keepdim=True)
        count = h.shape[1]
        self.means[index].lerp_(mean, MOMENTUM)
        self.variances[index].lerp_(variance * (count / max(count - 1, 1)), MOMENTUM)
        inverse = (variance + EPSILON).rsqrt_()
        torch.sub(h, mean, out=out).mul_(inverse)
        return inverse

    def _normalise_back(
        self, index: int, back: Tensor, normalised: Tensor, inverse: Tensor
    ) -> Tensor:
        """Cotangent of h from that of gain * normalised + shift (Ioffe and Szegedy 2015)."""
        layer, slope = self.layers[index], self.slopes[index]
        assert layer.gain is not None
        assert slope.gain is not None
        assert slope.shift is not None
        shift = back.sum(1, keepdim=True)
        gain = (back * normalised).sum(1, keepdim=True)
        slope.shift.copy_(shift)
        slope.gain.copy_(gain)
        count = back.shape[1]
        centred = back.sub_(shift / count).addcmul_(normalised, gain, value=-1.0 / count)
        return centred.mul_(layer.gain * inverse)


class _Workspace:
    """What a step keeps on its way, for one size of batch; (M, B, width) by layer.

    Args:
        networks: whose steps.
        batch: B.
        other: whose memory is used if it suffices.

    Attributes:
        memory: what the others are views of.
        hidden: activations.
        slopes: f' there.
        normal: normalised preactivations, where there is batch normalisation.
        back: two cotangents that take turns.
    """

    def __init__(
        self, networks: Classifiers, batch: int, other: "_Workspace | None" = None
    ) -> None:
        shape = networks.shape
        stacks = shape.depth * (3 if shape.batch_norm else 2) + 2
        sizes = stacks, networks.members, batch, shape.width
        count = math.prod(sizes)
        if other is not None and other.memory.numel() >= count:
            self.memory = other.memory
        else:
            require(
                count * networks.theta.dtype.itemsize,
                f"activations of {shape.depth:,} layers of {shape.width:,} units for {batch:,} "
                "images",
                "take a smaller batch or fewer members at once",
                networks.theta.device,
            )
            self.memory = networks.theta.new_empty(count)
        kept = self.memory[:count].view(sizes).unbind()
        depth = shape.depth
        self.hidden, self.slopes = kept[:depth], kept[depth : 2 * depth]
        self.normal, self.back = kept[2 * depth : -2], kept[-2:]
