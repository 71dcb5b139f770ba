"""Tasks: how text becomes examples, what constrains decoding, and which metrics are computed."""

from transduce.errors import ConfigError
from transduce.tasks.parsing import PARSING
from transduce.tasks.task import LOW_SCORE, Metric, Task
from transduce.tasks.translation import TRANSLATION

__all__ = ["LOW_SCORE", "PARSING", "TASKS", "TRANSLATION", "Metric", "Task", "task_of"]

TASKS: dict[str, Task] = {task.name: task for task in (TRANSLATION, PARSING)}


def task_of(name: str) -> Task:
    """The task of this name; raises ConfigError if there is none."""
    if name not in TASKS:
        raise ConfigError(f"unknown task {name}; known: {', '.join(TASKS)}")
    return TASKS[name]
