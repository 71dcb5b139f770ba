"""Checkpoints: the weights, the optimiser's state and the position of a run, for exact resuming."""

import json
import math
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transduce import atomic
from transduce.config import TrainConfig
from transduce.directory import read_json, sha256, verify_checksums, write_checksums
from transduce.directory.files import CHECKSUMS
from transduce.directory.network import load_weights, weights_of
from transduce.errors import ModelError, UserError
from transduce.log import Log
from transduce.model import Network
from transduce.muon import Muon, muon_matrices
from transduce.train.objective import precision
from transduce.train.processes import Processes
from transduce.train.run import CHECKPOINT_FILES, Run, numbered, read_metrics


@dataclass(frozen=True)
class Position:
    """How far training has come. Random seeds are functions of it, so no random state is stored."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # index of the next batch in this epoch
    tokens: int = 0  # target tokens seen
    operations: int = 0  # floating-point operations in matrix products
    seconds: float = 0.0  # of training, without interruptions
    best_nll: float | None = None  # per token, in validation
    stale: int = 0  # validations without improvement
    reductions: int = 0  # validations that were not better than all before, in the whole run
    rollbacks: int = 0

    def is_last(self, settings: TrainConfig) -> bool:
        """Whether training ends here: after its last step, or by early stopping."""
        patience = settings.patience
        return self.step >= settings.steps or (patience is not None and self.stale >= patience)

    def after(self, tokens: int, operations: int, epoch_ends: bool) -> "Position":
        return replace(
            self,
            step=self.step + 1,
            epoch=self.epoch + epoch_ends,
            batch=0 if epoch_ends else self.batch + 1,
            tokens=self.tokens + tokens,
            operations=self.operations + operations,
        )


_POSITION = TypeAdapter(Position)
UNUSABLE = (
    ModelError,
    SafetensorError,
    OSError,
    ValueError,
    KeyError,
)  # why a checkpoint is skipped


class Learner:
    """The network, its optimiser and the exponential moving average of its weights."""

    def __init__(self, model: Network, settings: TrainConfig | None = None) -> None:
        settings = settings or TrainConfig()
        self.model = model
        self.parameters = dict(model.named_parameters())
        self.names: dict[Tensor, str] = {p: name for name, p in self.parameters.items()}
        heights = muon_matrices(model) if settings.optimiser == "muon" else {}
        others = [p for p in self.parameters.values() if p not in heights]
        groups: list[dict[str, Any]] = [
            {"params": [p for p in others if p.dim() > 1], "weight_decay": settings.weight_decay},
            {"params": [p for p in others if p.dim() < 2]},
        ]
        # §5.3 is AdamW without decay; the learning rate is set at every step
        adam = torch.optim.AdamW(
            groups,
            lr=0.0,
            betas=(0.9, settings.beta2),
            eps=1e-9,
            weight_decay=0.0,
            fused=True,
        )
        self.optimisers: list[torch.optim.Optimizer] = [adam]
        if heights:
            dtype = precision(settings.precision, next(model.parameters()).device)
            self.optimisers.append(Muon(heights, settings.weight_decay, dtype))
        self.decay = settings.ema
        weights = weights_of(model) if self.decay else {}
        self.average = {name: weight.clone() for name, weight in weights.items()}

    def update(self, rate: float) -> None:
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.step()
        self.clear_gradients()
        with torch.no_grad():
            for name, mean in self.average.items():
                mean.lerp_(self.parameters[name], 1 - self.decay)

    def clear_gradients(self) -> None:
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)

    def gradient_norm(self) -> Tensor:
        grads = [p.grad for p in self.parameters.values() if p.grad is not None]
        return torch.nn.utils.get_total_norm(grads)

    def is_finite(self) -> bool:
        """Whether the weights and the optimiser's state are finite."""
        return is_finite([*self.parameters.values(), *self.moments().values()])

    def moments(self) -> dict[str, Tensor]:
        """The moments of every parameter, and the exponential moving average.

        Adam has two of each parameter, Muon one.
        """
        tensors = {f"ema.{name}": mean for name, mean in self.average.items()}
        for optimiser in self.optimisers:
            for parameter, state in optimiser.state.items():
                tensors[f"m.{self.names[parameter]}"] = state["exp_avg"]
                if "exp_avg_sq" in state:
                    tensors[f"v.{self.names[parameter]}"] = state["exp_avg_sq"]
        return tensors

    def restore(self, weights: dict[str, Tensor], moments: dict[str, Tensor], step: int) -> None:
        load_weights(self.model, weights, Path("checkpoint"))
        self.clear_gradients()
        adam = self.optimisers[0]
        for optimiser in self.optimisers:
            for parameter in (p for group in optimiser.param_groups for p in group["params"]):
                name = self.names[parameter]
                state = {"exp_avg": moments[f"m.{name}"].to(parameter.device)}
                if optimiser is adam:
                    state["exp_avg_sq"] = moments[f"v.{name}"].to(parameter.device)
                    state["step"] = torch.tensor(float(step), device=parameter.device)
                optimiser.state[parameter] = state
        for name, mean in self.average.items():
            mean.copy_(moments[f"ema.{name}"])


@torch.no_grad()
def is_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether no number is infinite or NaN: then the largest absolute value is finite."""
    return bool(torch.nn.utils.get_total_norm(tensors, norm_type=math.inf).isfinite())


def save(folder: Path, learner: Learner, position: Position, scheduled: bool) -> Path:
    """Writes a checkpoint; one that is not `scheduled`, saved on a signal, is not averaged."""
    path = folder / f"step-{position.step:08d}"
    with _written(path) as aside:
        save_file(weights_of(learner.model), aside / "model.safetensors")
        save_file(learner.moments(), aside / "optimiser.safetensors")
        state = {**asdict(position), "scheduled": scheduled}
        (aside / "state.json").write_text(json.dumps(state, indent=2) + "\n", "utf-8")
        write_checksums(aside)
    return path


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """A directory to write a checkpoint to; if that fails, raises UserError naming the last one."""
    try:
        with atomic.directory(path) as aside:
            yield aside
    except (OSError, SafetensorError) as error:
        last = newest(path.parent)
        kept = f"{last} is intact" if last else "there is no earlier one"
        raise UserError(
            f"the checkpoint {path} could not be written: {error}; {kept}: free some space, and "
            "the same command continues from there"
        ) from None


def load(path: Path, learner: Learner) -> Position:
    """Loads a checkpoint into the learner; raises ModelError if it is damaged or not finite."""
    verify_checksums(path, CHECKPOINT_FILES)
    position, _ = read_state(path)
    weights, moments = (read_weights(path / name) for name in CHECKPOINT_FILES[:2])
    learner.restore(weights, moments, position.step)
    return position


def read_weights(file: Path) -> dict[str, Tensor]:
    """The tensors of a file; raises ModelError if a value is infinite or NaN."""
    tensors = load_file(file)
    if not is_finite(tensors.values()):
        raise ModelError(f"{file} has values that are infinite or NaN")
    return tensors


def read_state(path: Path) -> tuple[Position, bool]:
    """The position of a checkpoint, and whether it was saved on schedule.

    Raises ModelError if `state.json` is damaged.
    """
    state = read_json(path, "state.json")
    if "retreats" in state:  # an older name
        state["rollbacks"] = state.pop("retreats")
    try:
        position, on_schedule = _POSITION.validate_python(state), state["scheduled"] is True
    except (ValidationError, KeyError):
        position = None
    if position is None or position.step != step_of(path):
        raise ModelError(f"{path / 'state.json'} is damaged: it has no valid position")
    return position, on_schedule


def load_newest(folder: Path, learner: Learner, log: Log, processes: Processes) -> Position | None:
    """Loads the newest usable checkpoint; damaged ones are logged and skipped.

    Rank 0 chooses it. The others load the same one, and raise UserError if they cannot.
    """
    found: list[Position] = []

    def choose() -> str:
        atomic.remove_leftovers(folder)
        for path in reversed(numbered(folder)):
            try:
                found.append(load(path, learner))
            except UNUSABLE as error:
                log(f"{path} cannot be used ({error}); trying the one before it")
            else:
                return f"{path.name} {sha256(path / CHECKSUMS)}"
        return ""

    chosen = processes.from_first(choose)
    if chosen and not processes.first:
        name, checksum = chosen.split()
        try:
            if sha256(folder / name / CHECKSUMS) != checksum:
                raise ModelError("its checksums differ")
            found.append(load(folder / name, learner))
        except UNUSABLE as error:
            raise UserError(
                f"process {processes.rank} cannot load {folder / name}, which rank 0 has "
                f"loaded ({error}): all processes must see the same run directory"
            ) from None
    return found[0] if found else None


def prune(run: Run, keep: int) -> None:
    """Deletes all checkpoints but the newest, the best and the last `keep` scheduled ones."""
    paths = numbered(run.checkpoints)
    kept = [*scheduled(run.checkpoints)[-keep:], best(run)]
    for path in paths[:-1]:
        if path not in kept:
            shutil.rmtree(path, ignore_errors=True)


def step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def newest(folder: Path) -> Path | None:
    return next(reversed(numbered(folder)), None)


def scheduled(folder: Path) -> list[Path]:
    """The checkpoints that were saved on schedule, oldest first."""
    found = []
    for path in numbered(folder):
        with suppress(ModelError):
            if read_state(path)[1]:
                found.append(path)
    return found


def best(run: Run) -> Path | None:
    """The scheduled checkpoint with the best perplexity of those validated at the same step."""
    entries = (entry for entry in read_metrics(run.metrics) if entry.get("event") == "validation")
    scores = {entry["step"]: entry["nll"] for entry in entries}
    validated = [path for path in scheduled(run.checkpoints) if step_of(path) in scores]
    return min(validated, key=lambda path: scores[step_of(path)], default=None)


def usable(folder: Path, last: int, log: Log) -> list[Path]:
    """The last scheduled checkpoints that are not damaged, oldest first."""
    found: list[Path] = []
    for path in reversed(numbered(folder)):
        if len(found) == last:
            break
        try:
            verify_checksums(path, CHECKPOINT_FILES)
            if read_state(path)[1]:
                read_weights(path / "model.safetensors")
                found.append(path)
        except UNUSABLE as error:
            log(f"{error}; it is left out")
    return found[::-1]


def weights_at(path: Path, ema: bool) -> dict[str, Tensor]:
    """The weights of a checkpoint, or their exponential moving average."""
    if not ema:
        return read_weights(path / "model.safetensors")
    moments = read_weights(path / "optimiser.safetensors").items()
    return {name.removeprefix("ema."): mean for name, mean in moments if name.startswith("ema.")}


def average(paths: list[Path]) -> dict[str, Tensor]:
    """§6.1: the mean of the weights of several checkpoints."""
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, weight in load_file(path / "model.safetensors").items():
            total[name] = total[name] + weight.double() if name in total else weight.double()
    return {name: (weight / len(paths)).float() for name, weight in total.items()}
