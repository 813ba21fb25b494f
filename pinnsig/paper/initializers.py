"""What the paper's figures compare, and how they are labelled.

The paper leaves open which point of the edge of chaos it takes, and which p where its rule p(L)
is not named; both choices stand side by side here.
"""

from pinnsig.initializers import Calibrated, EdgeOfChaos, He, Initializer, Xavier

PROPOSED_RULE = "proposed, p(L)"
PROPOSED_FIXED = "proposed, p = 0.49"
EOC_ZERO = "EOC, sigma_b = 0"
EOC_BIAS = "EOC, sigma_b = 0.2"

COMPARED: dict[str, Initializer] = {
    PROPOSED_RULE: Calibrated(p=None),
    PROPOSED_FIXED: Calibrated(p=0.49),
    EOC_ZERO: EdgeOfChaos(sigma_b=0.0),
    EOC_BIAS: EdgeOfChaos(sigma_b=0.2),
}

GAUSSIAN: dict[str, Initializer] = {"Xavier": Xavier(), "He": He()}
