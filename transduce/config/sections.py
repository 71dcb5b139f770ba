"""The sections of the settings; the defaults are the paper's."""

import reprlib
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from transduce.config.presets import preset
from transduce.errors import ConfigError, nearest

# Bounds are far above practical values; they catch mistakes before memory is allocated.
Size = Annotated[int, Field(ge=1, le=10_000_000)]
Width = Annotated[int, Field(ge=1, le=100_000)]
Layers = Annotated[int, Field(ge=1, le=1000)]
Count = Annotated[int, Field(ge=1, le=10**12)]
Id = Annotated[int, Field(ge=0, le=10**12)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, le=1e6)]

Positions = Literal["sinusoidal", "sinusoidal-concatenated", "sinusoidal-tensor2tensor", "learned"]


S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A section of settings: frozen; raises ConfigError for a wrong name, type or range."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    section: ClassVar[str]

    def __init__(self, /, **values: Any) -> None:
        for name in values:
            if name not in type(self).model_fields:
                raise unknown_setting(f"{self.section}.{name}", setting_names(type(self)))
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(_sentence(self.section, error)) from None

    def replace(self: S, **changes: Any) -> S:
        """A copy with `changes`, validated."""
        return type(self)(**{**self.model_dump(exclude_unset=True), **changes})


class ModelConfig(Section):
    """§3 and Table 3: the network."""

    section: ClassVar[str] = "model"

    kind: Literal["transformer"] = "transformer"
    vocab_size: Size = 37_000
    target_vocab_size: Size | None = None  # None: one vocabulary for both languages, §5.1
    d_model: Width = 512
    d_ff: Size = 2048
    n_heads: Width = 8
    d_k: Width | None = None  # None: d_model / n_heads
    d_v: Width | None = None  # None: d_model / n_heads
    n_layers: Layers = 6
    n_encoder_layers: Layers | None = None  # None: n_layers
    n_decoder_layers: Layers | None = None  # None: n_layers

    p_drop: Probability = 0.1  # on every sub-layer output and on the embedding sums, §5.4
    p_drop_attention: Probability = 0.0
    p_drop_relu: Probability = 0.0

    norm: Literal["post", "pre"] = "post"
    norm_eps: Positive = 1e-5
    activation: Literal["relu", "gelu", "silu"] = "relu"
    attention: Literal["scaled", "unscaled", "additive"] = "scaled"
    attention_bias: bool = True
    neighbourhood: Size | None = None  # r of restricted self-attention, Table 1

    positions: Positions = "sinusoidal"
    max_positions: Size = 512  # of learned positions
    share_embeddings: Literal["all", "target", "none"] = "all"  # target: with the pre-softmax layer
    scale_embeddings: bool = True  # × √d_model, §3.4
    output_bias: bool = False

    pad_id: Id = 0
    bos_id: Id = 1  # first input of the decoder: its inputs are the outputs offset by one, §3.1
    eos_id: Id = 2

    def model_post_init(self, _context: Any, /) -> None:
        for name in ("d_k", "d_v"):
            if getattr(self, name) is None and self.d_model % self.n_heads:
                raise ConfigError(
                    f"model.d_model = {self.d_model} is not divisible by model.n_heads = "
                    f"{self.n_heads}: change one of them, or set model.d_k and model.d_v"
                )
        if self.d_model % 2 and self.positions != "learned":
            raise ConfigError(
                f"model.d_model = {self.d_model} is odd: sinusoids come in pairs, so make it even "
                'or set model.positions = "learned"'
            )
        if self.target_vocab_size is not None and self.share_embeddings == "all":
            raise ConfigError(
                'model.share_embeddings = "all" needs one vocabulary: leave out '
                'model.target_vocab_size, or set model.share_embeddings to "target" or "none"'
            )
        smallest = min(self.vocab_size, self.decoder_vocab_size)
        for name in ("pad_id", "bos_id", "eos_id"):
            if getattr(self, name) >= smallest:
                raise ConfigError(
                    f"model.{name} = {getattr(self, name)} is outside the vocabulary of {smallest}"
                )

    @property
    def key_width(self) -> int:
        """d_k of Table 3: the width of one head's queries and keys."""
        return self.d_k or self.d_model // self.n_heads

    @property
    def value_width(self) -> int:
        """d_v of Table 3: the width of one head's values."""
        return self.d_v or self.d_model // self.n_heads

    @property
    def encoder_depth(self) -> int:
        return self.n_encoder_layers or self.n_layers

    @property
    def decoder_depth(self) -> int:
        return self.n_decoder_layers or self.n_layers

    @property
    def decoder_vocab_size(self) -> int:
        return self.target_vocab_size or self.vocab_size

    @classmethod
    def preset(cls, name: str, **changes: Any) -> "ModelConfig":
        """The network of a named preset: `ModelConfig.preset("base-h16")`."""
        return cls(**{**preset(name).get("model", {}), **changes})

    @classmethod
    def base(cls, **changes: Any) -> "ModelConfig":
        """The paper's base model."""
        return cls.preset("base", **changes)

    @classmethod
    def big(cls, **changes: Any) -> "ModelConfig":
        """The paper's big model, English–German dropout."""
        return cls.preset("big", **changes)


class DataConfig(Section):
    """§5.1: corpus filters and vocabulary."""

    section: ClassVar[str] = "data"

    vocab_size: Size = 37_000  # shared by source and target; smaller if the corpus is too small
    max_length: Size = 256  # tokens per side; longer pairs are dropped and counted
    max_ratio: Positive = 3.0  # longer side ÷ shorter side, in characters
    drop_identical: bool = True
    drop_duplicates: bool = True


class TrainConfig(Section):
    """§5: training."""

    section: ClassVar[str] = "train"

    steps: Count = 100_000
    seed: Id = 1
    tokens_per_batch: Count = 25_000  # tokens per side of a batch, over all processes
    accumulate: Size = 1  # batches whose gradients are accumulated before a step
    warmup_steps: Count = 4000
    lr_factor: Positive = 1.0  # factor of the learning rate of equation 3
    label_smoothing: Probability = 0.1
    clip_norm: Positive | None = None  # None: no gradient clipping
    ema: Probability = 0.0  # decay of the exponential moving average of the weights; 0: none
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # bfloat16 on GPUs that support it
    compile: bool = False

    log_steps: Count = 50
    validate_steps: Count = 1000
    bleu_sentences: Id = 200  # validation sentences translated at each validation
    patience: Size | None = None  # early stopping after this many validations without improvement
    checkpoint_steps: Count = 1500  # 10 minutes of the paper's base model
    checkpoint_minutes: Positive | None = None  # also a checkpoint after this many minutes
    keep: Size = 5  # last checkpoints to keep
    average: Size = 5  # last checkpoints averaged for the final model, §6.1


class Config(Section):
    """All settings of a run, one section each."""

    section: ClassVar[str] = ""

    model: ModelConfig = Field(default_factory=ModelConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    train: TrainConfig = Field(default_factory=TrainConfig)


def setting_names(section: type[Section]) -> list[str]:
    """Every name that `--set` takes, within a section or in all of them."""
    if section is not Config:
        return [f"{section.section}.{name}" for name in section.model_fields]
    return [
        f"{name}.{key}"
        for name, field in Config.model_fields.items()
        for key in getattr(field.annotation, "model_fields", {})
    ]


def unknown_setting(name: str, known: Iterable[str]) -> ConfigError:
    return ConfigError(f"unknown setting {name}{nearest(name, known)}")


def _sentence(section: str, error: ValidationError) -> str:
    """The first of pydantic's errors as one sentence."""
    first = error.errors()[0]
    name = ".".join(filter(None, (section, str(first["loc"][0]))))
    must = (
        first["msg"]
        .replace("Input should be", "must be")
        .replace("a valid integer", "a whole number")
        .replace("a valid ", "a ")
    )
    return f"{name} = {reprlib.repr(first['input'])} {must}"
