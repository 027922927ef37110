"""Accelerate, Lightning and Hugging Face's Trainer, where they are installed: the same weights as the plain loop's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lehi
import pytest
import torch
from models import make_mlp, weights_of
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 8


def data() -> TensorDataset:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(8 * STEPS, 4, generator=generator)
    return TensorDataset(x, torch.randint(0, 3, (8 * STEPS,), generator=generator))


def plain_loop(accumulated: int = 1) -> Tensor:
    model = make_mlp(torch.float32)
    optimizer = lehi.LehiGn(model.parameters(), 1e-2, every=3, dense=2)
    for k, (x, y) in enumerate(DataLoader(data(), 8)):
        (lehi.cross_entropy(model(x), y, optimizer=optimizer) / accumulated).backward()
        if (k + 1) % accumulated == 0:
            optimizer.step()
            optimizer.zero_grad()
    return weights_of(model)


@pytest.mark.parametrize("accumulated", [1, 2])
def test_accelerate(accumulated: int) -> None:
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=accumulated)
    model = make_mlp(torch.float32)
    made = lehi.LehiGn(model.parameters(), 1e-2, every=3, dense=2)
    model, optimizer, loader = accelerator.prepare(model, made, DataLoader(data(), 8))
    for x, y in loader:
        with accelerator.accumulate(model):
            accelerator.backward(lehi.cross_entropy(model(x), y, optimizer=optimizer))
            optimizer.step()
            optimizer.zero_grad()
    torch.testing.assert_close(weights_of(model), plain_loop(accumulated))


@pytest.mark.parametrize("accumulated", [1, 2])
def test_lightning(accumulated: int, tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = make_mlp(torch.float32)

        def training_step(self, batch: Any, _: int) -> Tensor:
            return lehi.cross_entropy(self.model(batch[0]), batch[1], optimizer=self.optimizers())

        def configure_optimizers(self) -> lehi.Optimizer:
            return lehi.LehiGn(self.model.parameters(), 1e-2, every=3, dense=2)

    module = Module()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=1,
        accumulate_grad_batches=accumulated,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(module, DataLoader(data(), 8))
    torch.testing.assert_close(weights_of(module.model), plain_loop(accumulated))


@pytest.mark.parametrize("accumulated", [1, 2])
def test_hugging_face_trainer(accumulated: int, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")

    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = make_mlp(torch.float32)

        def forward(self, x: Tensor) -> dict[str, Tensor]:
            return {"logits": self.inner(x)}

    model = Wrapped()
    optimizer = lehi.LehiGn(model.parameters(), 1e-2, every=3, dense=2)

    def compute_loss(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        return lehi.cross_entropy(outputs["logits"], labels, optimizer=optimizer) / accumulated

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=8,
        gradient_accumulation_steps=accumulated,
        num_train_epochs=1,
        lr_scheduler_type="constant",
        max_grad_norm=1e9,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    rows = [{"x": x, "labels": y} for x, y in data()]

    class InOrder(transformers.Trainer):  # type: ignore[misc,name-defined]
        def _get_train_sampler(self, *_: Any) -> torch.utils.data.Sampler[int]:
            return torch.utils.data.SequentialSampler(rows)

    trainer = InOrder(
        model=model,
        args=arguments,
        train_dataset=rows,
        optimizers=(optimizer, torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)),
        compute_loss_func=compute_loss,
    )
    trainer.train()
    torch.testing.assert_close(weights_of(model), plain_loop(accumulated))
