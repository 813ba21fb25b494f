r"""
An optimiser of your own
========================

Training is a list of phases. A phase may be one of the built-in optimisers, any of
``torch.optim``, or a function of a list of parameters that returns something with PyTorch's
interface.
"""

import matplotlib.pyplot as plt
import torch

import pinnsig


class SignDescent(torch.optim.Optimizer):
    """Moves every weight by the learning rate against the sign of its smoothed gradient."""

    def __init__(self, params, lr=1e-3, beta=0.9):
        super().__init__(params, {"lr": lr, "beta": beta})

    @torch.no_grad()
    def step(self, closure=None):
        with torch.enable_grad():
            loss = closure() if closure else None
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                memory = self.state[weight].setdefault("mean", torch.zeros_like(weight))
                memory.lerp_(weight.grad, 1 - group["beta"])
                weight.sub_(memory.sign(), alpha=group["lr"])
        return loss


first_phases = {
    "adam": "adam:300,lr=1e-3",
    "torch.NAdam": "torch.NAdam:300,lr=1e-3",
    "own": {"optimizer": SignDescent, "iterations": 300, "lr": 1e-3},
}
plt.figure(figsize=(6, 3.4), layout="constrained")
for name, phase in first_phases.items():
    result = pinnsig.solve("heat", phases=[phase, "lbfgs:100"], collocation=400, figures=False)
    records = list(pinnsig.load(result.path).directory.metrics())
    plt.semilogy([r["step"] for r in records], [r["loss"] for r in records], label=name)
    print(f"{name:12} loss {result.best_loss:.1e}, relative L2 error {result.relative_l2:.1e}")
plt.xlabel("iteration (L-BFGS from 300 on)")
plt.ylabel("loss")
plt.legend()
plt.show()

# %%
# A function serves where arguments have to be set:
#
# .. code-block:: python
#
#    def momentum(parameters):
#        return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, nesterov=True)
#
#    pinnsig.solve("heat", optimizer=momentum, adam=300)
