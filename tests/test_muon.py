"""Muon: its orthogonalisation, its equality with torch's, and exact resuming."""

import pytest
import torch

from transduce.config import ModelConfig, TrainConfig
from transduce.model import build_network
from transduce.muon import Muon, muon_matrices, orthogonalised
from transduce.train import state
from transduce.train.state import Learner, Position

SMALL = ModelConfig(vocab_size=11, d_model=8, d_ff=16, n_heads=2, n_layers=1)
MUON = TrainConfig(optimiser="muon", weight_decay=0.1)


def take_steps(learner: Learner, steps: range) -> None:
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        for parameter in learner.parameters.values():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        learner.update(0.01)


@pytest.mark.parametrize("shape", [(24, 24), (16, 48), (48, 16)])
def test_singular_values_come_near_one_and_singular_vectors_stay(shape) -> None:
    matrices = torch.randn(3, *shape)
    u, _, vt = torch.linalg.svd(matrices, full_matrices=False)
    rotated = u.mT @ orthogonalised(matrices) @ vt.mT
    values = rotated.diagonal(dim1=1, dim2=2)
    largest = values[:, : shape[0] // 2]  # the smallest of a square matrix may be almost zero
    assert (largest > 0.6).all()
    assert (values < 1.3).all()
    others = rotated - torch.diag_embed(values)
    assert others.abs().max() < 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_updates_are_those_of_torchs_muon(dtype) -> None:
    """torch's orthogonalises in bfloat16, hence the tolerance."""
    weight = torch.randn(32, 64)
    ours, theirs = (torch.nn.Parameter(weight.clone()) for _ in range(2))
    optimisers = [
        Muon({ours: [32]}, weight_decay=0.1, dtype=dtype),
        torch.optim.Muon([theirs], weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    ]
    for optimiser in optimisers:
        optimiser.param_groups[0]["lr"] = 0.02
    for _ in range(3):
        ours.grad = torch.randn(32, 64)
        theirs.grad = ours.grad.clone()
        for optimiser in optimisers:
            optimiser.step()
    moved = (theirs - weight).norm()
    assert (ours - theirs).norm() < 0.02 * moved


def test_products_in_bfloat16_orthogonalise_in_bfloat16_and_weights_stay_float32() -> None:
    learner = Learner(build_network(SMALL), MUON.model_copy(update={"precision": "bfloat16"}))
    _, muon = learner.optimisers
    assert muon.dtype == torch.bfloat16
    take_steps(learner, range(2))
    assert {parameter.dtype for parameter in learner.parameters.values()} == {torch.float32}
    assert {state["exp_avg"].dtype for state in muon.state.values()} == {torch.float32}


def test_queries_keys_and_values_are_orthogonalised_one_by_one() -> None:
    joint = torch.nn.Parameter(torch.zeros(24, 8))
    parts = [torch.nn.Parameter(torch.zeros(8, 8)) for _ in range(3)]
    joint.grad = torch.randn(24, 8)
    for part, grad in zip(parts, joint.grad.split(8), strict=True):
        part.grad = grad.clone()
    for optimiser in (Muon({joint: [8, 8, 8]}), Muon({part: [8] for part in parts})):
        optimiser.param_groups[0]["lr"] = 0.1
        optimiser.step()
    torch.testing.assert_close(joint.detach(), torch.cat([part.detach() for part in parts]))


def test_muon_has_the_matrices_of_linear_layers_and_adam_the_others() -> None:
    learner = Learner(build_network(SMALL), MUON)
    adam, muon = (
        {learner.names[p] for group in optimiser.param_groups for p in group["params"]}
        for optimiser in learner.optimisers
    )
    assert adam | muon == set(learner.parameters)
    assert not adam & muon
    assert {name for name in muon if not name.endswith(".weight")} == set()
    assert not {name for name in muon if "embedding" in name or "norm" in name}
    assert len(muon) == len(muon_matrices(learner.model)) > 0


def test_training_continues_from_a_checkpoint_bit_for_bit(tmp_path) -> None:
    torch.manual_seed(1)
    whole = Learner(build_network(SMALL), MUON)
    take_steps(whole, range(3))
    path = state.save(tmp_path, whole, Position(step=3), scheduled=True)
    take_steps(whole, range(3, 6))
    continued = Learner(build_network(SMALL), MUON)
    assert state.load(path, continued).step == 3
    take_steps(continued, range(3, 6))
    for name, parameter in whole.parameters.items():
        assert torch.equal(parameter, continued.parameters[name]), name
