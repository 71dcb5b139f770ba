"""Checkpoints of a run: all that is needed to go on as if it had never stopped."""

import json
import math
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transduce import atomic
from transduce.directory import verify_checksums, write_checksums
from transduce.directory.network import load_weights, weights_of
from transduce.errors import ModelError, UserError
from transduce.log import Log
from transduce.model import Network

FILES = ("model.safetensors", "optimiser.safetensors", "state.json")  # of a checkpoint


@dataclass(frozen=True)
class Position:
    """Where in its training a run is. Randomness is a function of this, so none is stored."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # of this epoch, the next to be read
    tokens: int = 0  # target tokens seen
    operations: int = 0  # floating-point, of the matrix products
    seconds: float = 0.0  # of training, interruptions not counted
    best_nll: float | None = None  # a token, in validation
    stale: int = 0  # validations since the best
    rollbacks: int = 0

    def after(self, tokens: int, operations: int, epoch_ends: bool) -> "Position":
        return replace(
            self,
            step=self.step + 1,
            epoch=self.epoch + epoch_ends,
            batch=0 if epoch_ends else self.batch + 1,
            tokens=self.tokens + tokens,
            operations=self.operations + operations,
        )


class Learner:
    """The network and its optimiser: everything that a step changes."""

    def __init__(self, model: Network, ema: float = 0.0) -> None:
        self.model = model
        self.parameters = dict(model.named_parameters())
        # §5.3; the learning rate is set at every step
        self.optimiser = torch.optim.Adam(
            self.parameters.values(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True
        )
        self.decay = ema
        weights = weights_of(model) if ema else {}
        self.average = {name: weight.clone() for name, weight in weights.items()}

    def update(self, rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        with torch.no_grad():
            for name, mean in self.average.items():
                mean.lerp_(self.parameters[name], 1 - self.decay)

    def gradient_norm(self) -> Tensor:
        grads = [p.grad for p in self.parameters.values() if p.grad is not None]
        return torch.nn.utils.get_total_norm(grads)

    def is_finite(self) -> bool:
        """Whether all that a checkpoint would hold is finite."""
        return is_finite([*self.parameters.values(), *self.moments().values()])

    def moments(self) -> dict[str, Tensor]:
        """Adam's two moments of every parameter, and the moving average."""
        tensors = {f"ema.{name}": mean for name, mean in self.average.items()}
        for name, parameter in self.parameters.items():
            state = self.optimiser.state[parameter]
            if state:
                tensors[f"m.{name}"] = state["exp_avg"]
                tensors[f"v.{name}"] = state["exp_avg_sq"]
        return tensors

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor], step: int) -> None:
        load_weights(self.model, weights, Path("checkpoint"))
        self.optimiser.zero_grad(set_to_none=True)
        for name, parameter in self.parameters.items():
            self.optimiser.state[parameter] = {
                "step": torch.tensor(float(step), device=parameter.device),
                "exp_avg": moments[f"m.{name}"].to(parameter.device),
                "exp_avg_sq": moments[f"v.{name}"].to(parameter.device),
            }
        for name, mean in self.average.items():
            mean.copy_(moments[f"ema.{name}"])


@torch.no_grad()
def is_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether no number is infinite or NaN: then the largest absolute value is finite."""
    return bool(torch.nn.utils.get_total_norm(tensors, norm_type=math.inf).isfinite())


def save(folder: Path, learner: Learner, position: Position, scheduled: bool) -> Path:
    """Writes a checkpoint; one saved out of schedule, on a signal, takes no part in averaging."""
    path = folder / f"step-{position.step:08d}"
    with _written(path) as aside:
        save_file(weights_of(learner.model), aside / "model.safetensors")
        save_file(learner.moments(), aside / "optimiser.safetensors")
        state = {**asdict(position), "scheduled": scheduled}
        (aside / "state.json").write_text(json.dumps(state, indent=2) + "\n", "utf-8")
        write_checksums(aside)
    return path


def save_best(path: Path, model: Network) -> None:
    """The weights that did best in validation so far, kept whatever else is pruned."""
    with _written(path) as aside:
        save_file(weights_of(model), aside / "model.safetensors")


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """A directory beside the other checkpoints; says which of them is intact if it fails."""
    try:
        with atomic.directory(path) as aside:
            yield aside
    except (OSError, SafetensorError) as error:
        last = newest(path.parent)
        kept = f"{last} is intact" if last else "nothing has been saved before it"
        raise UserError(
            f"the checkpoint {path} could not be written: {error}; {kept}: make room, and the same "
            "command continues from there"
        ) from None


def load(path: Path, learner: Learner) -> Position:
    """Brings the learner to a checkpoint; raises ModelError if it is damaged or not finite."""
    verify_checksums(path, FILES)
    position = position_of(path)
    weights, moments = (_read(path / f"{name}.safetensors") for name in ("model", "optimiser"))
    learner.restore(weights, moments, position.step)
    return position


def _read(file: Path) -> dict[str, Tensor]:
    """The tensors of a file; raises ModelError if one holds a number that is not finite."""
    tensors = load_file(file)
    if not is_finite(tensors.values()):
        raise ModelError(f"{file} has a number that is not finite")
    return tensors


def position_of(path: Path) -> Position:
    """Where the run was when it wrote this checkpoint."""
    state = json.loads((path / "state.json").read_text("utf-8"))
    state.pop("scheduled")
    return Position(**state)


def load_newest(folder: Path, learner: Learner, log: Log) -> Position | None:
    """The newest checkpoint that is whole; a damaged one is named and passed over."""
    for path in reversed(numbered(folder)):
        try:
            return load(path, learner)
        except (ModelError, SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            log(f"{path} cannot be used ({error}); going back to the one before it")
    return None


def prune(folder: Path, keep: int) -> None:
    """Removes all but the last `keep` scheduled checkpoints, and all that came before the last."""
    paths = numbered(folder)
    kept = scheduled(folder)[-keep:]
    for path in paths[:-1]:
        if path not in kept:
            shutil.rmtree(path, ignore_errors=True)


def numbered(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if re.fullmatch(r"step-\d+", path.name))


def newest(folder: Path) -> Path | None:
    return next(reversed(numbered(folder)), None)


def scheduled(folder: Path) -> list[Path]:
    """The checkpoints that the settings asked for."""
    found = []
    for path in numbered(folder):
        try:
            state = json.loads((path / "state.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if state.get("scheduled"):
            found.append(path)
    return found


def average(paths: list[Path]) -> dict[str, Tensor]:
    """§6.1: the mean of the weights of several checkpoints."""
    total: dict[str, Tensor] = {}
    for path in paths:
        verify_checksums(path, FILES)
        for name, weight in _read(path / "model.safetensors").items():
            total[name] = total[name] + weight.double() if name in total else weight.double()
    return {name: (weight / len(paths)).float() for name, weight in total.items()}
