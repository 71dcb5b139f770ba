"""Tasks: how text becomes examples, what constrains decoding, and which metrics are computed."""

from transduce.config import Config
from transduce.errors import ConfigError
from transduce.tasks.language_model import LINES, STREAM
from transduce.tasks.parsing import PARSING
from transduce.tasks.task import LOW_SCORE, Metric, Task
from transduce.tasks.translation import TRANSLATION

__all__ = [
    "LOW_SCORE",
    "PARSING",
    "TASKS",
    "TRANSLATION",
    "Metric",
    "Task",
    "check_kind",
    "task_of",
]

TASKS: dict[str, Task] = {task.name: task for task in (TRANSLATION, PARSING, STREAM, LINES)}


def task_of(name: str) -> Task:
    """The task of this name; raises ConfigError if there is none."""
    if name not in TASKS:
        raise ConfigError(f"unknown task {name}; known: {', '.join(TASKS)}")
    return TASKS[name]


def check_kind(task: Task, config: Config) -> None:
    """Raises ConfigError if a network of this kind cannot be trained for a task."""
    model = config.model
    if config.train.risk and (task.name, model.kind) != (TRANSLATION.name, "transformer"):
        raise ConfigError(
            f"train.risk = {config.train.risk} is for translation with a Transformer: leave it out"
        )
    if task.kind and model.kind != task.kind:
        raise ConfigError(
            f'--task {task.name} needs model.kind = "{task.kind}", not "{model.kind}": use '
            f"--preset {task.preset}"
        )
    if not task.kind and model.kind == STREAM.kind:
        raise ConfigError(
            f'model.kind = "{model.kind}" has no encoder, which --task {task.name} needs: add '
            f"--task {STREAM.name}, or choose another kind"
        )
