"""Weights in a safetensors file: float32, float16, or int8 with a scale per matrix row."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from transduce.errors import ModelError
from transduce.shapes import Shapes

DType = Literal["float32", "float16", "int8"]
Weights = dict[str, np.ndarray]
# int8 weights have 7 bits. A CPU without VNNI multiplies unsigned by signed bytes and adds two
# products in 16 bits, which saturates: 255 · 127 · 2 ≥ 2¹⁵, but 255 · 63 · 2 < 2¹⁵. With 7 bits the
# integer products of every CPU are exact.
LARGEST = 63
SCALE = ".scale"  # after the name of an int8 matrix: the factor of each of its rows


def pack(weights: Mapping[str, np.ndarray], dtype: DType) -> Weights:
    """Converts matrices to a dtype; vectors stay float32."""
    packed: Weights = {}
    for name, weight in weights.items():
        if dtype == "float32" or weight.ndim != 2:
            packed[name] = weight
        elif dtype == "float16":
            packed[name] = weight.astype(np.float16)
        else:
            tiny = np.finfo(np.float32).tiny
            scale = np.maximum(np.abs(weight).max(axis=1) / np.float32(LARGEST), tiny)
            packed[name] = np.rint(weight / scale[:, None]).astype(np.int8)
            packed[name + SCALE] = scale
    return packed


def unpack(weights: Mapping[str, np.ndarray]) -> Weights:
    """The weights in float32, dequantized."""
    unpacked: Weights = {}
    for name, weight in weights.items():
        if weight.dtype == np.int8:
            unpacked[name] = weight.astype(np.float32) * weights[name + SCALE][:, None]
        elif not _is_scale(name, weights):
            unpacked[name] = weight.astype(np.float32, copy=False)
    return unpacked


def read_weights(file: Path) -> Weights:
    """The weights of a file, in float32."""
    with _readable(file):
        return unpack(load_file(file))


def check_header(file: Path, expected: Shapes) -> None:
    """Raises ModelError if a file's header does not list exactly these parameters.

    Only the header is read, so that no memory is allocated for wrong weights.
    """
    with _readable(file), safe_open(file, "numpy") as tensors:
        slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118
        dtypes = {name: part.get_dtype() for name, part in slices.items()}
        shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
    for name, dtype in dtypes.items():
        if dtype not in ("F32", "F16", "I8"):
            raise ModelError(f"{file}: {name} is {dtype}, not F32, F16 or I8")
        if dtype == "I8" and shapes.get(name + SCALE) != shapes[name][:1]:
            raise ModelError(f"{file}: {name} has int8 weights without a scale for each row")
    check_shapes({n: s for n, s in shapes.items() if not _is_scale(n, shapes)}, expected, file)


def check_shapes(
    found: Mapping[str, Sequence[int]], expected: Mapping[str, Sequence[int]], where: Path
) -> None:
    """Raises ModelError unless both have the same names and shapes."""
    for name in expected.keys() - found.keys():
        raise ModelError(f"{where} lacks {name}, which the model in config.json has")
    for name in found.keys() - expected.keys():
        raise ModelError(f"{where} has {name}, which the model in config.json lacks")
    for name, shape in expected.items():
        if tuple(found[name]) != tuple(shape):
            raise ModelError(
                f"{where}: {name} is {list(found[name])}, but config.json implies "
                f"{list(shape)}: the weights belong to another model or vocabulary"
            )


def _is_scale(name: str, names: Mapping[str, object]) -> bool:
    return name.endswith(SCALE) and name.removesuffix(SCALE) in names


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from None
