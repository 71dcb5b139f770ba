"""The training loop: step, report, validate, save; rollback on infinite or NaN values."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from transduce.batches import Batching, Indices, target_tokens
from transduce.config import Config
from transduce.directory.network import load_weights
from transduce.errors import UserError
from transduce.log import plural
from transduce.model import build_network
from transduce.schedule import scheduled_rate
from transduce.search import GREEDY, Search
from transduce.shapes import check_memory
from transduce.train import state
from transduce.train.growth import grown
from transduce.train.objective import Gradient, seed_step
from transduce.train.prepare import Prepared
from transduce.train.processes import Processes, StopSignal
from transduce.train.progress import Display, Report, TensorBoard
from transduce.train.run import Metrics, Run
from transduce.train.start import start_of
from transduce.train.state import Learner, Position
from transduce.train.validate import ValidationScores, validate

MOST_ROLLBACKS = 3


class NotFiniteError(Exception):
    """A loss, a gradient or a weight is infinite or NaN."""

    def __init__(self, what: str, step: int) -> None:
        super().__init__(f"{what} not finite at step {step:,}")
        self.step = step


class Trainer:
    """The training loop of one process."""

    def __init__(
        self, run: Run, config: Config, data: Prepared, processes: Processes, display: Display
    ) -> None:
        self.run, self.config, self.data = run, config, data
        self.processes, self.display = processes, display
        self.learner = self._new_learner()
        first, *others = data.segmentations
        batching = Batching(first, config.train)
        parts = batching.micro_batches
        self.batching = [batching, *(Batching(store, config.train, parts) for store in others)]
        self.gradient = Gradient(self.learner.model, config.train, processes, parts, data.tokenizer)
        found = self._load_newest()
        self.position = found or Position()
        if found:
            display.log(f"continuing from step {found.step:,}")
        self.metrics = self.board = None
        if processes.first:
            step = self.position.step
            self.metrics = Metrics(run.metrics, step, display.log)
            self.board = TensorBoard(run.directory / "tensorboard", step)

    def _new_learner(self) -> Learner:
        seed_step(self.config.train.seed, 0, 0, 0)  # every process draws the same weights
        if self.processes.device.type == "cpu":
            check_memory(self.config.model, copies=4)
        model = build_network(self.config.model)
        start = start_of(self.run)
        if start:
            arrays = grown(start.weights(), start.config, self.config.model)
            weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
            load_weights(model, weights, start.path)
        model = model.to(self.processes.device)
        return Learner(model, self.config.train)

    def _load_newest(self) -> Position | None:
        log = self.display.log
        return state.load_newest(self.run.checkpoints, self.learner, log, self.processes)

    def train(self, stop: StopSignal) -> bool:
        """Trains until the last step or until a stop is requested; True if training is complete.

        A checkpoint is saved in both cases.
        """
        while True:
            try:
                with stop.deferred():
                    return self._train(stop)
            except NotFiniteError as error:
                self._rollback(error)

    def _train(self, stop: StopSignal) -> bool:
        settings, minutes = self.config.train, self.config.train.checkpoint_minutes
        window = _Window()
        saved = time.monotonic()
        for batch, epoch_ends in self._batches():
            overdue = minutes is not None and time.monotonic() - saved > 60 * minutes
            stopped, overdue = self._step(batch, epoch_ends, stop, overdue, window)
            step, done = self.position.step, self.position.is_last(settings)
            validating = done or step % settings.validate_steps == 0
            scheduled = done or overdue or step % settings.checkpoint_steps == 0
            if validating or scheduled or stopped:
                self._check_state()
            if done or step % settings.log_steps == 0:
                self._report(window)
            if validating:
                self._validate()
                done = self.position.is_last(settings)
                scheduled = scheduled or done
            if scheduled or stopped:
                self._save(scheduled)
                saved = time.monotonic()
            if done or stopped:
                return done
        return True

    def _batches(self) -> Iterator[tuple[Indices, bool]]:
        """The batches from the current position on, and whether each is the last of its epoch."""
        settings = self.config.train
        while not self.position.is_last(settings):
            epoch = self.position.epoch
            plan = self.batching[epoch % len(self.batching)].epoch(epoch)
            for number in range(self.position.batch, len(plan)):
                yield plan[number], number == len(plan) - 1
                if self.position.step >= settings.steps:
                    return

    def _step(
        self, batch: Indices, epoch_ends: bool, stop: StopSignal, overdue: bool, window: "_Window"
    ) -> tuple[bool, bool]:
        """One update; whether any process requests a stop, and whether a checkpoint is overdue."""
        began = time.perf_counter()
        settings, position = self.config.train, self.position
        self.learner.model.train()
        seed_step(settings.seed, position.step + 1, self.processes.rank, position.rollbacks)
        stores = self.data.segmentations
        store = stores[position.epoch % len(stores)]
        sums = self.gradient.of(store, batch)
        norm = self.learner.gradient_norm()
        flags = float(stop.received is not None), float(overdue and self.processes.first)
        smoothed, nll, sum_of_norms, stopped, late = self.processes.sum(
            [sums.smoothed, sums.nll, float(norm), *flags]
        )
        for value, what in ((smoothed, "the loss is"), (sum_of_norms, "the gradient is")):
            if not math.isfinite(value):
                raise NotFiniteError(what, position.step + 1)
        if settings.clip_norm is not None:
            parameters = self.learner.parameters.values()
            torch.nn.utils.clip_grads_with_norm_(parameters, settings.clip_norm, norm)
        self.learner.update(self._rate(position.step + 1))
        tokens = target_tokens(store, batch)
        lengths = store.lengths[0][batch], store.lengths[-1][batch]
        operations = settings.passes * self.learner.model.operations(*lengths)
        seconds = time.perf_counter() - began
        self.position = replace(
            position.after(tokens, operations, epoch_ends), seconds=position.seconds + seconds
        )
        window.add(smoothed, nll, tokens, seconds)
        self.display.advance(self.position.step)
        return bool(stopped), bool(late)

    def _check_state(self) -> None:
        """Raises NotFiniteError in all processes if a weight or a moment of any is not finite."""
        (bad,) = self.processes.sum([float(not self.learner.is_finite())])
        if bad:
            raise NotFiniteError("the weights are", self.position.step)

    def _rate(self, step: int) -> float:
        settings = self.config.train
        reductions = self.position.reductions
        rate = scheduled_rate(step, self.config.model.d_model, settings, reductions)
        return rate * 0.5**self.position.rollbacks

    def _rollback(self, error: NotFiniteError) -> None:
        """Goes back to the last checkpoint with half the learning rate and other dropout."""
        rollbacks = self.position.rollbacks + 1
        if rollbacks > MOST_ROLLBACKS:
            raise UserError(
                f"{error}, again after {MOST_ROLLBACKS} rollbacks: lower train.lr_factor or set "
                f"train.clip_norm; the last good state is in {self.run.checkpoints}"
            )
        found = self._load_newest()
        if found is None:
            fresh = self._new_learner()
            self.put({name: p.detach() for name, p in fresh.parameters.items()})
            self.learner = Learner(self.learner.model, self.config.train)
            self.learner.clear_gradients()  # of the step that failed
            found = Position()
        self.position = replace(found, rollbacks=rollbacks)
        self.display.log(
            f"{error}: back to step {found.step:,} with half the learning rate "
            f"({rollbacks} of at most {MOST_ROLLBACKS} times)"
        )
        self.record(event="rollback", failed_step=error.step, rollbacks=rollbacks)

    def _report(self, window: "_Window") -> None:
        if window.tokens == 0:
            return
        left = (self.config.train.steps - self.position.step) * window.seconds / window.steps
        report = Report(
            step=self.position.step,
            steps=self.config.train.steps,
            epoch=self.position.epoch,
            loss=window.smoothed / window.tokens,
            perplexity=math.exp(min(window.nll / window.tokens, 700)),
            learning_rate=self._rate(self.position.step),
            tokens_per_second=window.tokens / window.seconds,
            seconds_left=left,
        )
        self.display.report(report)
        self.record(
            event="train",
            epoch=report.epoch,
            loss=report.loss,
            perplexity=report.perplexity,
            learning_rate=report.learning_rate,
            tokens_per_second=report.tokens_per_second,
            tokens=self.position.tokens,
            seconds=self.position.seconds,
            operations=self.position.operations,
        )
        window.clear()

    def _validate(self) -> None:
        """Scores the current weights, or their exponential moving average if there is one."""
        began = time.perf_counter()
        settings, pairs = self.config.train, len(self.data.valid)
        translated = min(settings.bleu_sentences, pairs)
        self.display.doing(
            f"step {self.position.step:,}: validating on {plural(pairs, self.data.valid.noun)}"
            + f", translating {translated:,}" * bool(translated)
        )
        with self._averaged():
            scores = self.score()
        better = self.position.best_nll is None or scores.nll < self.position.best_nll
        self.position = replace(
            self.position,
            best_nll=scores.nll if better else self.position.best_nll,
            stale=0 if better else self.position.stale + 1,
            reductions=self.position.reductions + (not better),
            seconds=self.position.seconds + time.perf_counter() - began,
        )
        self.log_scores(f"step {self.position.step:,}", scores, best=better)
        self.record(event="validation", **scores.entry())
        patience = settings.patience
        if patience is not None and self.position.stale >= patience:
            self.display.log(f"no improvement in {plural(patience, 'validation')}: stopping here")

    def score(self, search: Search = GREEDY, decode: bool = True) -> ValidationScores:
        """Scores the current weights on the validation data; without `decode`, perplexity only."""
        sentences = self.config.train.bleu_sentences if decode else 0
        return validate(self.learner.model, self.data, sentences, self.processes, search)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Temporarily replaces the weights by their exponential moving average, if there is one."""
        mean = self.learner.average
        held = {name: self.learner.parameters[name].detach().clone() for name in mean}
        self.put(mean)
        try:
            yield
        finally:
            self.put(held)

    def put(self, weights: dict[str, torch.Tensor]) -> None:
        """Copies weights into the network."""
        with torch.no_grad():
            for name, weight in weights.items():
                self.learner.parameters[name].copy_(weight)

    def log_scores(self, name: str, scores: ValidationScores, best: bool = False) -> None:
        self.display.log(f"{name}: {scores}" + ("  (best so far)" if best else ""))

    def _save(self, scheduled: bool) -> None:
        if self.processes.first:
            state.save(self.run.checkpoints, self.learner, self.position, scheduled)
            settings = self.config.train
            state.prune(self.run, max(settings.keep, settings.average))

    def record(self, **entry: object) -> None:
        if self.metrics is not None and self.board is not None:
            self.metrics.write(step=self.position.step, **entry)
            self.board.write(
                self.position.step, {f"{entry['event']}/{key}": entry[key] for key in entry}
            )

    def close(self) -> None:
        if self.metrics is not None and self.board is not None:
            self.metrics.close()
            self.board.close()


class _Window:
    """Sums over the steps since the last report."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.smoothed = self.nll = self.seconds = 0.0
        self.tokens = self.steps = 0

    def add(self, smoothed: float, nll: float, tokens: int, seconds: float) -> None:
        self.smoothed += smoothed
        self.nll += nll
        self.tokens += tokens
        self.seconds += seconds
        self.steps += 1
