"""Settings. The defaults are the paper's; presets, files and `--set` change some of them."""

from transduce.config.presets import LARGEST_CORPUS, PRESETS, TABLE_3, preset, preset_for
from transduce.config.reading import (
    config_of,
    given_settings,
    parse_override,
    read_toml,
    resolve,
)
from transduce.config.sections import (
    Config,
    DataConfig,
    Linearisation,
    ModelConfig,
    Positions,
    Section,
    TrainConfig,
)

__all__ = [
    "LARGEST_CORPUS",
    "PRESETS",
    "TABLE_3",
    "Config",
    "DataConfig",
    "Linearisation",
    "ModelConfig",
    "Positions",
    "Section",
    "TrainConfig",
    "config_of",
    "given_settings",
    "parse_override",
    "preset",
    "preset_for",
    "read_toml",
    "resolve",
]
