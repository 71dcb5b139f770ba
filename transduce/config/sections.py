"""The sections of the settings; the defaults are the paper's."""

import difflib
import reprlib
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from transduce.config.presets import preset
from transduce.errors import ConfigError

# Bounds are far above practical values; they catch mistakes before memory is allocated.
Size = Annotated[int, Field(ge=1, le=10_000_000)]
Width = Annotated[int, Field(ge=1, le=100_000)]
Layers = Annotated[int, Field(ge=1, le=1000)]
Count = Annotated[int, Field(ge=1, le=10**12)]
Id = Annotated[int, Field(ge=0, le=10**12)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, le=1e6)]
Share = Annotated[float, Field(ge=0, le=100)]
ClosedProbability = Annotated[float, Field(ge=0, le=1)]
Copies = Annotated[int, Field(ge=1, le=100)]

Positions = Literal["sinusoidal", "sinusoidal-concatenated", "sinusoidal-tensor2tensor", "learned"]

Linearisation = Literal["top-down", "in-order"]

S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A section of settings: frozen; raises ConfigError for a wrong name, type or range."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    section: ClassVar[str]
    title: ClassVar[str]  # the docstring without the fields

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Adds the description of every field to the docstring, for `help`."""
        cls.title = cls.__doc__ or ""
        fields = [
            f"{name} = {field.default!r}: {field.description}"
            for name, field in cls.model_fields.items()
            if field.description
        ]
        cls.__doc__ = "\n\n".join(filter(None, (cls.title, "\n".join(fields))))

    def __init__(self, /, **values: Any) -> None:
        for name in values:
            if name not in type(self).model_fields:
                raise unknown_setting(f"{self.section}.{name}")
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

    kind: Literal["transformer", "recurrent", "convolutional", "lm"] = Field(
        "transformer",
        description="The kind of network: §3's, those it is compared with, or its decoder alone",
    )
    vocab_size: Size = Field(
        37_000,
        description="Size of the shared vocabulary; training sets it to what was learned (§5.1)",
    )
    target_vocab_size: Size | None = Field(
        None, description="Size of the target vocabulary; none: one for both languages (§5.1)"
    )
    d_model: Width = Field(
        512, description="Width of the embeddings and of every sub-layer's output (§3.1)"
    )
    d_ff: Size = Field(2048, description="Inner width of the feed-forward networks (§3.3)")
    n_heads: Width = Field(8, description="Heads of multi-head attention, h in the paper (§3.2.2)")
    d_k: Width | None = Field(
        None, description="Width of a head's queries and keys; none: d_model / n_heads (§3.2.2)"
    )
    d_v: Width | None = Field(
        None, description="Width of a head's values; none: d_model / n_heads (§3.2.2)"
    )
    n_layers: Layers = Field(
        6, description="Layers of the encoder and of the decoder, N in the paper (§3.1)"
    )
    n_encoder_layers: Layers | None = Field(
        None, description="Layers of the encoder; none: n_layers"
    )
    n_decoder_layers: Layers | None = Field(
        None, description="Layers of the decoder; none: n_layers"
    )

    d_recurrent: Width = Field(
        1024,
        description="Recurrent: width of the decoder's LSTM; half in each direction of the encoder",
    )
    kernel: Width = Field(3, description="Convolutional: width of the convolutions, in tokens")

    p_drop: Probability = Field(
        0.1, description="Dropout on the output of every sub-layer and on the embedding sums (§5.4)"
    )
    p_drop_attention: Probability = Field(0.0, description="Dropout on the attention weights")
    p_drop_relu: Probability = Field(
        0.0, description="Dropout after the activation of the feed-forward networks"
    )

    norm: Literal["post", "pre"] = Field(
        "post",
        description="LayerNorm after each residual connection, or before each sub-layer (§3.1)",
    )
    norm_eps: Positive = Field(1e-5, description="ε of LayerNorm")
    activation: Literal["relu", "gelu", "silu"] = Field(
        "relu", description="Activation of the feed-forward networks (§3.3)"
    )
    attention: Literal["scaled", "unscaled", "additive"] = Field(
        "scaled", description="Score of a query and a key: q·k/√d_k, q·k or additive (§3.2.1)"
    )
    attention_bias: bool = Field(True, description="Biases of the four attention projections")
    neighbourhood: Size | None = Field(
        None, description="r of restricted self-attention; none: a query sees every position (§4)"
    )

    positions: Positions = Field(
        "sinusoidal",
        description="Positional encoding; the other sinusoids are those of other toolkits (§3.5)",
    )
    max_positions: Size = Field(512, description="Longest sequence with learned positions (§3.5)")
    share_embeddings: Literal["all", "target", "none"] = Field(
        "all", description="Which embeddings share the matrix of the pre-softmax layer (§3.4)"
    )
    scale_embeddings: bool = Field(True, description="Multiply embeddings by √d_model (§3.4)")
    output_bias: bool = Field(False, description="Bias of the pre-softmax layer")

    pad_id: Id = Field(0, description="Token id of padding")
    bos_id: Id = Field(1, description="Token id of the decoder's first input (§3.1)")
    eos_id: Id = Field(2, description="Token id of the end of a sentence")

    def model_post_init(self, _context: Any, /) -> None:
        heads = self.kind in ("transformer", "lm")
        for name in ("d_k", "d_v"):
            if heads and getattr(self, name) is None and self.d_model % self.n_heads:
                raise ConfigError(
                    f"model.d_model = {self.d_model} is not divisible by model.n_heads = "
                    f"{self.n_heads}: change one of them, or set model.d_k and model.d_v"
                )
        if self.kind == "recurrent" and self.d_recurrent % 2:
            raise ConfigError(
                f"model.d_recurrent = {self.d_recurrent} is odd: each direction of the encoder has "
                "half of it, so make it even"
            )
        if self.d_model % 2 and self.positions != "learned" and self.kind != "recurrent":
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
    def has_dropout(self) -> bool:
        return max(self.p_drop, self.p_drop_attention, self.p_drop_relu) > 0

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

    vocab_size: Size = Field(
        37_000,
        description="Size of the shared byte-pair vocabulary; less if the corpus is small (§5.1)",
    )
    vocabulary: Literal["bpe", "characters"] = Field(
        "bpe", description="Tokens are learned by byte-pair encoding, or are single characters"
    )
    max_length: Size = Field(
        256,
        description="Longest sentence in tokens; pairs with a longer side are dropped and counted",
    )
    max_ratio: Positive = Field(
        3.0,
        description="Largest ratio of the sides' lengths in characters; other pairs are dropped",
    )
    drop_identical: bool = Field(True, description="Drop pairs with the same text on both sides")
    drop_duplicates: bool = Field(True, description="Drop pairs that have occurred before")

    # Noise: the number of altered copies, on average, of each pair to which it applies
    noise_capitals: Share = Field(
        0.0, description="Copies in capitals on both sides, or Each Source Word With A Capital"
    )
    noise_lowercase: Share = Field(
        0.0, description="Copies with the source, or its first letter, in lower case"
    )
    noise_no_final_punctuation: Share = Field(
        0.0, description="Copies without final punctuation on both sides"
    )
    noise_join: Share = Field(0.0, description="Copies joined with one or two other pairs")
    noise_swap_names: Share = Field(
        0.0, description="Copies with other or invented names, where both sides have the same"
    )
    noise_swap_numbers: Share = Field(
        0.0, description="Copies with other numbers, where both sides have the same digits"
    )
    noise_typos: Share = Field(0.0, description="Copies with typing errors in the source")
    bpe_dropout: ClosedProbability = Field(
        0.0, description="Probability of leaving out a merge in the training text (BPE-dropout)"
    )
    bpe_dropout_copies: Copies = Field(
        4, description="Segmentations of the training text; each epoch uses the next of them"
    )
    seed: Id = Field(1, description="Seed of the noise and of BPE-dropout")

    # Trees, §6.3
    linearisation: Linearisation = Field(
        "top-down",
        description="Of trees: a constituent opens before its first child, or in-order after it",
    )
    pos_tags: bool = Field(
        True, description="Predict the tags of all words of a tree, not only of punctuation"
    )


class TrainConfig(Section):
    """§5: training."""

    section: ClassVar[str] = "train"

    steps: Count = Field(100_000, description="Updates of the weights (§5.2)")
    seed: Id = Field(
        1, description="Seed of the initial weights, the order of the batches and dropout"
    )
    tokens_per_batch: Count = Field(
        25_000,
        description="Tokens per side of a batch, padding included, over all processes (§5.1)",
    )
    accumulate: Size = Field(
        1, description="Batches whose gradients are accumulated before an update"
    )
    warmup_steps: Count = Field(
        4000, description="Steps with a rising learning rate; then it falls with 1/√step (§5.3)"
    )
    lr_factor: Positive = Field(1.0, description="Factor of the learning rate of equation 3 (§5.3)")
    schedule: Literal["inverse-sqrt", "plateau", "cosine"] = Field(
        "inverse-sqrt",
        description="After the warm-up the learning rate falls as in equation 3 (§5.3), or by half "
        "whenever validation is not better, or along a cosine to a tenth at the last step",
    )
    lr: Positive = Field(0.001, description="Highest learning rate, for plateau and cosine")
    optimiser: Literal["adam", "muon"] = Field(
        "adam",
        description="Adam (§5.3) for all weights, or Muon for the matrices of linear layers and "
        "Adam for the others",
    )
    beta2: Probability = Field(0.98, description="β₂ of Adam (§5.3)")
    weight_decay: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="Decay of the matrices, decoupled from the gradient as in AdamW; 0: none"
    )
    label_smoothing: Probability = Field(
        0.1, description="ε_ls: the probability that the loss spreads over all other tokens (§5.4)"
    )
    consistency: Annotated[float, Field(ge=0, le=100)] = Field(
        0.0,
        description="α of R-Drop: each batch is read twice with different dropout, and the "
        "divergence of the two predictions is added to the loss; 0: none, 5 for small corpora",
    )
    risk: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        description="Candidates per sentence of minimum risk training, which trains for BLEU "
        "instead of probability; 0: ordinary training",
    )
    clip_norm: Positive | None = Field(
        None, description="Largest norm of the gradient; none: no clipping"
    )
    ema: Probability = Field(
        0.0,
        description="Decay of a moving average of the weights, which becomes the model; 0: none",
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="dtype of matrix products; auto is bfloat16 on GPUs that support it"
    )
    compile: bool = Field(False, description="Compile the network with torch.compile")

    log_steps: Count = Field(50, description="Steps between two lines of progress")
    validate_steps: Count = Field(1000, description="Steps between two validations")
    bleu_sentences: Id = Field(
        200, description="Validation sentences translated at each validation; 0: perplexity only"
    )
    patience: Size | None = Field(
        None,
        description="Stop after this many validations without a better perplexity; none: never",
    )
    checkpoint_steps: Count = Field(
        1500,
        description="Steps between two checkpoints: 10 minutes of the paper's base model (§6.1)",
    )
    checkpoint_minutes: Positive | None = Field(
        None, description="Also save a checkpoint after this many minutes; none: by steps only"
    )
    keep: Size = Field(5, description="Last checkpoints to keep")
    average: Size = Field(
        5, description="Last checkpoints that are averaged for the final model (§6.1)"
    )

    def model_post_init(self, _context: Any, /) -> None:
        if self.risk == 1:
            raise ConfigError("train.risk = 1: candidates are compared, give 2 or more, or 0")
        if self.risk and self.consistency:
            raise ConfigError("train.risk and train.consistency exclude each other: set one to 0")

    @property
    def passes(self) -> int:
        """How often the network reads each batch; with candidates, the decoder."""
        return 1 + self.risk if self.risk else 2 if self.consistency else 1


class Config(Section):
    """All settings of a run, one section each."""

    section: ClassVar[str] = ""

    model: ModelConfig = Field(default_factory=ModelConfig)
    data: DataConfig = Field(default_factory=DataConfig)
    train: TrainConfig = Field(default_factory=TrainConfig)


def setting_names() -> list[str]:
    """Every name that `--set` takes."""
    return [
        f"{name}.{key}"
        for name, field in Config.model_fields.items()
        for key in getattr(field.annotation, "model_fields", {})
    ]


def unknown_setting(name: str) -> ConfigError:
    """Suggests a setting whose name after the section is similar, first of the same section."""
    section, _, key = name.partition(".")
    known = setting_names()
    for names in ([k for k in known if k.startswith(f"{section}.")], known):
        keys = {setting.partition(".")[2]: setting for setting in names}
        close = difflib.get_close_matches(key, keys, n=1, cutoff=0.61)  # not vocab for batch_size
        if close:
            return ConfigError(f"unknown setting {name}; did you mean {keys[close[0]]}?")
    return ConfigError(f"unknown setting {name}; `transduce presets --settings` has all")


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
