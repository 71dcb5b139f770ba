"""§3.5: positional encodings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.positions import sinusoids


@given(pos=st.integers(0, 5000), half=st.integers(1, 32), data=st.data())
def test_each_number_is_the_papers_formula(pos, half, data) -> None:
    d_model = 2 * half
    i = data.draw(st.integers(0, half - 1))
    row = sinusoids(pos, 1, d_model)[0]
    angle = pos / 10_000 ** (2 * i / d_model)
    assert float(row[2 * i]) == pytest.approx(math.sin(angle), abs=1e-9)
    assert float(row[2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-9)


@given(pos=st.integers(0, 3000), k=st.integers(-50, 50))
def test_pe_at_a_fixed_offset_is_a_linear_function_of_pe(pos, k) -> None:
    """§3.5: PE(pos + k) = M_k PE(pos), where M_k is a rotation per pair, independent of pos."""
    d_model, pos = 16, pos + 50
    a = k / 10_000 ** (np.arange(0, d_model, 2) / d_model)
    rotations = np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])
    pairs = sinusoids(pos, 1, d_model)[0].reshape(-1, 2)
    moved = np.einsum("oip,pi->po", rotations, pairs).ravel()
    np.testing.assert_allclose(moved, sinusoids(pos + k, 1, d_model)[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("layout", "values"),
    [
        (
            "sinusoidal",
            {0: 0.841471, 1: 0.540302, 2: 0.821856, 3: 0.569695, 510: 0.000104, 511: 1.0},
        ),
        (
            "sinusoidal-tensor2tensor",
            {0: 0.841471, 1: 0.821779, 2: 0.801805, 255: 0.0001, 256: 0.540302, 511: 1.0},
        ),
    ],
)
def test_position_one_has_the_known_values_of_its_layout(layout, values) -> None:
    row = sinusoids(1, 1, 512, layout)[0]
    for dimension, value in values.items():
        assert float(row[dimension]) == pytest.approx(value, abs=1e-6)


def test_the_concatenated_layout_is_the_papers_with_even_dimensions_first() -> None:
    paper = sinusoids(0, 40, 32)
    permuted = np.concatenate([paper[:, 0::2], paper[:, 1::2]], axis=1)
    assert np.array_equal(permuted, sinusoids(0, 40, 32, "sinusoidal-concatenated"))


@pytest.mark.parametrize("layout", ["sinusoidal", "sinusoidal-tensor2tensor"])
def test_a_position_is_the_same_wherever_counting_starts(layout) -> None:
    whole = sinusoids(0, 30, 16, layout)
    assert np.array_equal(sinusoids(11, 5, 16, layout), whole[11:16])


def test_wavelengths_run_from_2_pi_to_nearly_10000_times_2_pi() -> None:
    d_model = 512
    angle = np.arcsin(sinusoids(1, 1, d_model)[0, 0::2])
    assert float(2 * math.pi / angle[0]) == pytest.approx(2 * math.pi)
    assert 2 * math.pi * 9_000 < float(2 * math.pi / angle[-1]) < 2 * math.pi * 10_000
