"""Linear layers, initialised as in the paper's code: Glorot uniform, biases zero."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


class Linear(nn.Linear):
    """xW + b; several outputs of the given widths may share one matrix and so one product."""

    def __init__(self, inputs: int, *widths: int, bias: bool = True) -> None:
        self.widths = list(widths)
        super().__init__(inputs, sum(widths), bias=bias)

    def reset_parameters(self) -> None:
        """Glorot uniform for each of the matrices separately."""
        for part in self.weight.split(self.widths):
            nn.init.xavier_uniform_(part)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def part(
        self, x: Float[Tensor, "*batch inputs"], first: int, last: int
    ) -> Float[Tensor, "*batch outputs"]:
        """The outputs numbered first ≤ i < last, without computing the others."""
        sizes = [sum(self.widths[:first]), sum(self.widths[first:last]), sum(self.widths[last:])]
        weight = self.weight.split(sizes)[1]
        bias = None if self.bias is None else self.bias.split(sizes)[1]
        return F.linear(x, weight, bias)
