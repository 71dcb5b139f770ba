"""Presets: every row of Table 3, and smaller networks, as differences from the paper's base."""

from typing import Any

from transduce.errors import ConfigError, nearest

Difference = dict[str, dict[str, Any]]

BIG: Difference = {
    "model": {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "p_drop": 0.3},
    "train": {"steps": 300_000},
}

# Every row of Table 3, in the paper's order and as a difference from the base model.
TABLE_3: dict[str, Difference] = {
    "base": {},
    "base-h1": {"model": {"n_heads": 1, "d_k": 512, "d_v": 512}},
    "base-h4": {"model": {"n_heads": 4, "d_k": 128, "d_v": 128}},
    "base-h16": {"model": {"n_heads": 16, "d_k": 32, "d_v": 32}},
    "base-h32": {"model": {"n_heads": 32, "d_k": 16, "d_v": 16}},
    "base-dk16": {"model": {"d_k": 16}},
    "base-dk32": {"model": {"d_k": 32}},
    "base-n2": {"model": {"n_layers": 2}},
    "base-n4": {"model": {"n_layers": 4}},
    "base-n8": {"model": {"n_layers": 8}},
    "base-d256": {"model": {"d_model": 256, "d_k": 32, "d_v": 32}},
    "base-d1024": {"model": {"d_model": 1024, "d_k": 128, "d_v": 128}},
    "base-ff1024": {"model": {"d_ff": 1024}},
    "base-ff4096": {"model": {"d_ff": 4096}},
    "base-drop0": {"model": {"p_drop": 0.0}},
    "base-drop2": {"model": {"p_drop": 0.2}},
    "base-ls0": {"train": {"label_smoothing": 0.0}},
    "base-ls2": {"train": {"label_smoothing": 0.2}},
    "base-learned": {"model": {"positions": "learned"}},
    "big": BIG,
}

PRESETS: dict[str, Difference] = {
    **TABLE_3,
    "small": {
        "model": {"vocab_size": 16_000, "d_model": 256, "d_ff": 1024, "n_heads": 4, "n_layers": 4},
        "data": {"vocab_size": 16_000},
        "train": {
            "steps": 20_000,
            "tokens_per_batch": 4096,
            "warmup_steps": 2000,
            "checkpoint_steps": 500,
        },
    },
    "tiny": {
        "model": {"vocab_size": 10_000, "d_model": 128, "d_ff": 256, "n_heads": 4, "n_layers": 4},
        "data": {"vocab_size": 10_000},
        "train": {
            "steps": 6000,
            "tokens_per_batch": 2048,
            "warmup_steps": 1000,
            "checkpoint_steps": 200,
        },
    },
    # Training that starts from a model, with a small learning rate. The network is the model's.
    "fine-tuning": {
        "train": {
            "steps": 2000,
            "tokens_per_batch": 2048,
            "warmup_steps": 200,
            "lr_factor": 0.1,
            "log_steps": 50,
            "validate_steps": 200,
            "checkpoint_steps": 100,
        },
    },
    # §6.3, as far as the paper says: 4 layers, d_model 1024, 16K tokens of WSJ. Dropout is ours,
    # as tensor2tensor has it.
    "parsing": {
        "model": {
            "vocab_size": 16_000,
            "d_model": 1024,
            "d_ff": 4096,
            "n_heads": 16,
            "n_layers": 4,
            "p_drop": 0.2,
            "p_drop_attention": 0.2,
            "share_embeddings": "target",
        },
        "data": {"vocab_size": 16_000, "max_length": 400},
        "train": {"warmup_steps": 16_000},
    },
    # The same for thousands of trees and two cores.
    "parsing-small": {
        "model": {
            "vocab_size": 6000,
            "d_model": 256,
            "d_ff": 1024,
            "n_heads": 4,
            "n_layers": 4,
            "p_drop": 0.3,
            "p_drop_attention": 0.1,
            "share_embeddings": "target",
        },
        "data": {"vocab_size": 6000, "max_length": 400},
        "train": {
            "steps": 20_000,
            "tokens_per_batch": 4096,
            "warmup_steps": 2000,
            "checkpoint_steps": 500,
            "validate_steps": 1000,
        },
    },
    # As many parameters as tiny: an LSTM and ConvS2S, with the training that each needs.
    "tiny-recurrent": {
        "model": {
            "kind": "recurrent",
            "vocab_size": 10_000,
            "d_model": 128,
            "d_recurrent": 248,
            "n_encoder_layers": 2,
            "n_decoder_layers": 1,
            "p_drop": 0.2,
        },
        "data": {"vocab_size": 10_000},
        "train": {
            "steps": 6000,
            "tokens_per_batch": 2048,
            "schedule": "plateau",
            "lr": 0.004,
            "warmup_steps": 400,
            "clip_norm": 1.0,
            "validate_steps": 500,
            "checkpoint_steps": 200,
        },
    },
    "tiny-convolutional": {
        "model": {
            "kind": "convolutional",
            "vocab_size": 10_000,
            "d_model": 128,
            "n_layers": 5,
            "positions": "learned",
            "scale_embeddings": False,
            "p_drop": 0.2,
        },
        "data": {"vocab_size": 10_000},
        "train": {
            "steps": 6000,
            "tokens_per_batch": 2048,
            "schedule": "plateau",
            "lr": 0.004,
            "warmup_steps": 400,
            "clip_norm": 0.1,
            "validate_steps": 500,
            "checkpoint_steps": 200,
        },
    },
    # A language model of characters of the size that nanoGPT trains on a CPU.
    "tiny-lm": {
        "model": {
            "kind": "lm",
            "d_model": 128,
            "d_ff": 512,
            "n_heads": 4,
            "n_layers": 4,
            "p_drop": 0.0,
            "norm": "pre",
            "activation": "gelu",
            "attention_bias": False,
            "positions": "learned",
            "max_positions": 64,
            "scale_embeddings": False,
        },
        "data": {"vocabulary": "characters", "max_length": 4096},
        "train": {
            "steps": 2000,
            "tokens_per_batch": 768,
            "optimiser": "muon",
            "schedule": "cosine",
            "lr": 0.003,
            "warmup_steps": 100,
            "beta2": 0.99,
            "weight_decay": 0.1,
            "clip_norm": 1.0,
            "label_smoothing": 0.0,
            "log_steps": 200,
            "validate_steps": 500,
            "checkpoint_steps": 500,
            "average": 1,
        },
    },
    # The built-in corpus in about three minutes on two cores: its translations are
    # deterministic, so neither dropout nor label smoothing helps; many checkpoints are averaged.
    "builtin": {
        "model": {
            "vocab_size": 4000,
            "d_model": 128,
            "d_ff": 512,
            "n_heads": 4,
            "n_layers": 2,
            "p_drop": 0.0,
        },
        "data": {"vocab_size": 4000},
        "train": {
            "steps": 3000,
            "tokens_per_batch": 1024,
            "warmup_steps": 400,
            "lr_factor": 0.9,
            "label_smoothing": 0.0,
            "log_steps": 100,
            "validate_steps": 500,
            "checkpoint_steps": 50,
            "keep": 10,
            "average": 10,
        },
    },
}

# Without --preset: the first preset whose number of pairs is not exceeded, otherwise the paper's.
LARGEST_CORPUS = {"tiny": 100_000, "small": 2_000_000}


def preset_for(pairs: int) -> str:
    """The preset for a corpus of this size."""
    return next((name for name, most in LARGEST_CORPUS.items() if pairs <= most), "base")


def preset(name: str) -> Difference:
    """The settings of a preset that differ from the paper's base model."""
    if name not in PRESETS:
        raise ConfigError(f"unknown preset {name}{nearest(name, PRESETS)}")
    return PRESETS[name]
