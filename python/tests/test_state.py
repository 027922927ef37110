"""Saved states: state_dict, named_state, pickles and copies, and groups that come later."""

from __future__ import annotations

import copy
import pickle

import lehi
import pytest
import torch
from models import make_batch, make_mlp, weights_of
from torch import nn


def steps(model: nn.Module, optimizer: lehi.Optimizer, first: int, last: int) -> None:
    for k in range(first, last):
        x, y = make_batch(k)
        optimizer.zero_grad()
        lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
        optimizer.step()


@pytest.mark.parametrize("form", ["state_dict", "named_state", "torch.save"])
@pytest.mark.parametrize("preset", lehi.preset_names())
def test_a_loaded_state_continues_with_the_same_bits(preset: str, form: str, tmp_path: object) -> None:
    model = make_mlp()
    optimizer = lehi.Optimizer(model.named_parameters(), preset)
    steps(model, optimizer, 0, 13)
    other = make_mlp(seed=5)
    other.load_state_dict(model.state_dict())
    fresh = lehi.Optimizer(other.named_parameters(), preset)
    if form == "named_state":
        fresh.load_named_state(optimizer.named_state())
    elif form == "state_dict":
        fresh.load_state_dict(optimizer.state_dict())
    else:
        torch.save(optimizer.state_dict(), f"{tmp_path}/state")
        fresh.load_state_dict(torch.load(f"{tmp_path}/state"))
    steps(model, optimizer, 13, 30)
    steps(other, fresh, 13, 30)
    assert torch.equal(weights_of(model), weights_of(other))
    assert fresh.steps == 30


def test_each_parameter_has_a_step_tensor() -> None:
    model = make_mlp()
    optimizer = lehi.LehiGn(model.parameters())
    steps(model, optimizer, 0, 4)
    for parameter in model.parameters():
        assert torch.equal(optimizer.state[parameter]["step"], torch.tensor(4.0))


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_go_on_alone(how: str) -> None:
    model = make_mlp()
    optimizer = lehi.LehiGn(model.parameters(), seed=3, every=4, dense=2)
    steps(model, optimizer, 0, 5)
    pair = (model, optimizer)
    other, twin = pickle.loads(pickle.dumps(pair)) if how == "pickle" else copy.deepcopy(pair)
    steps(model, optimizer, 5, 15)
    before = weights_of(other)
    steps(other, twin, 5, 15)
    assert not torch.equal(before, weights_of(other))
    assert torch.equal(weights_of(model), weights_of(other))
    assert repr(optimizer) == repr(twin)


def test_another_recipe_or_optimizer_is_refused_before_anything_changes() -> None:
    model = make_mlp()
    optimizer = lehi.LehiGn(model.named_parameters())
    steps(model, optimizer, 0, 2)
    other = lehi.Lehi(make_mlp().named_parameters())
    with pytest.raises(ValueError, match="another recipe: .*=.* there, .*=.* here"):
        other.load_state_dict(optimizer.state_dict())
    with pytest.raises(ValueError, match="another recipe"):
        other.load_named_state(optimizer.named_state())
    with pytest.raises(ValueError, match="another optimizer"):
        other.load_state_dict(torch.optim.Adam(make_mlp().parameters()).state_dict())
    broken = optimizer.named_state()
    del broken["0.weight.v"]
    with pytest.raises(ValueError, match="no '0.weight.v'"):
        lehi.LehiGn(make_mlp().named_parameters()).load_named_state(broken)
    assert not other.state and other.steps == 0


def test_groups_have_settings_of_their_own_and_new_ones_restart_the_schedule() -> None:
    model = make_mlp()
    optimizer = lehi.LehiGn([{"params": model[0].parameters(), "lr": 0.0}], lr=1e-3, every=5, dense=2)
    frozen = weights_of(model[0])
    steps(model, optimizer, 0, 4)
    assert torch.equal(frozen, weights_of(model[0]))
    assert not optimizer.needs_probe
    optimizer.add_param_group({"params": list(model[2].parameters()), "weight_decay": 0.1})
    assert optimizer.needs_probe
    before = weights_of(model[2])
    steps(model, optimizer, 4, 6)
    assert optimizer.param_groups[0]["schedule_start"] == 4
    assert not torch.equal(before, weights_of(model[2]))
    with pytest.raises(ValueError, match="beta2"):
        optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(2))], "betas": (0.9, 1.0)})
    assert len(optimizer.param_groups) == 2


def test_repr_tells_the_recipe_and_the_groups() -> None:
    text = repr(lehi.LehiGn(make_mlp().parameters(), 2e-3))
    assert "LehiGn" in text and "probe=gauss-newton" in text and "lr=0.002" in text
