"""What would run on a GPU, where there is none: torch's "meta" has shapes and no numbers, so whatever would wait for a
number raises an error, and so does a tensor that lies on the wrong device."""

import dataclasses
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch._dynamo.testing
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.trainer.loop.test_train import ready
from tests.trainer.models.test_published import FAMILIES, OTHERS, backbone
from wikianchor.trainer import distributed, task
from wikianchor.trainer.config import make
from wikianchor.trainer.data import feed
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.data.tokens import places_of_tokens
from wikianchor.trainer.loop import train
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.models import gpu
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable

META = torch.device("meta")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"entity_optimizer": "adamw", "step_size": 32, "both_views": True, "entity_to_sentence": True},
        {"length_groups": 2, "pooler": "cls", "mlp": True, "negatives": 3, "hard_negative_weight": 1.0},
    ],
)
def test_a_step_waits_for_no_number(
    options: dict[str, Any], more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = dataclasses.replace(make("ease", options | {"max_steps": 2, **more}, {}), precision="fp32")
    # Once before training the views are looked at; autocast knows no "meta".
    monkeypatch.setattr(task, "check_views", lambda first, second: None)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)
    run = task.prepare(config, open_pairs(config.data), META, Log(config.output, False))
    for group in run.optimizers.parts["encoder"].param_groups:
        # The fused kernel is refused there, the one before it is not.
        group |= {"fused": False, "foreach": True}
    run.model.train()
    assert isinstance(run.model.encoder, Encoder)
    assert run.model.encoder.backbone.config._attn_implementation == gpu.ATTENTION
    meter = train.Meter(run)
    batches = run.feed.batches(0, 2)
    for step in range(2):
        losses, tokens = train.train_step(run, batches, step)
        meter.add(step, losses, tokens, config.step_size)
        assert {(value.device, value.dtype) for value in losses.values()} == {(META, torch.float32)}
    with pytest.raises(RuntimeError):
        meter.check()


@pytest.mark.parametrize("family", [*FAMILIES, *OTHERS])
def test_no_architecture_waits_for_a_number(family: str, tmp_path: Path) -> None:
    """Nor does its mask change the vectors."""
    encoder = Encoder.load(backbone(family, tmp_path), "last")
    ids = torch.randint(3, 400, (5, 9), generator=torch.Generator().manual_seed(1))
    masks = [torch.arange(9) < torch.tensor(lengths)[:, None] for lengths in ([9, 3, 1, 7, 8], [9] * 5)]
    with torch.no_grad():
        expected = [encoder(ids, mask) for mask in masks]
        loaded = encoder.backbone.config._attn_implementation
        gpu.set_training_attention(encoder.backbone, loaded)
        for mask, vectors in zip(masks, expected, strict=True):
            assert torch.allclose(encoder(ids, mask), vectors, atol=1e-5)
    assert encoder.eval().backbone.config._attn_implementation == loaded
    encoder.to(META).train()
    vectors = encoder(
        torch.empty(6, 9, dtype=torch.int32, device=META), torch.empty(6, 9, dtype=torch.bool, device=META)
    )
    vectors.sum().backward()
    assert vectors.shape == (6, 32)


# Those with attention of their own, without position numbers, or with windows.
UNPACKED = ("MPNet", "DebertaV2", "Gemma3Text", "ModernBert")
PACKED = [name for name in (*FAMILIES, *OTHERS) if name not in UNPACKED]


def slow_attention_within(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    starts: Tensor,
    *,
    longest: int,
    dropout: float = 0.0,
    causal: bool = False,
    scaling: float | None = None,
) -> Tensor:
    """What `gpu.attention_within` computes, sentence by sentence, on a CPU."""
    groups = query.shape[1] // key.shape[1]
    rows = []
    for start, end in zip(starts.tolist(), starts.tolist()[1:], strict=False):
        assert 0 <= end - start <= longest
        q, k, v = (tensor[start:end].transpose(0, 1) for tensor in (query, key, value))
        scores = q @ k.repeat_interleave(groups, 0).mT * (scaling or query.shape[-1] ** -0.5)
        hidden = torch.ones(end - start, end - start, dtype=torch.bool).triu(1 if causal else longest)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        rows.append(nn.functional.dropout(weights, dropout) @ v.repeat_interleave(groups, 0))
    attended = torch.cat(rows, 1).transpose(0, 1)
    assert attended.shape == query.shape
    return attended


@pytest.mark.parametrize("pooler", ["avg", "last", "avg_first_last", "max"])
@pytest.mark.parametrize("family", [*PACKED, "Qwen3, not causal"])
def test_packed_batches_have_the_gradients_of_padded_ones(
    family: str, pooler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "attention_within", slow_attention_within)
    family, _, other = family.partition(", ")
    model = backbone(family, tmp_path)
    if other:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"is_causal": False}), "utf-8")
    encoder = Encoder.load(model, pooler, dropout=0.0)
    encoder.train()
    gpu.set_training_attention(encoder.backbone, "sdpa")
    mask = torch.arange(24) < torch.tensor([9, 24, 2, 7, 18, 3, 5])[:, None]
    ids = torch.randint(3, 400, mask.shape, generator=torch.Generator().manual_seed(1)).masked_fill(~mask, 0)
    packing = [torch.from_numpy(array) for array in places_of_tokens(mask.numpy())]
    assert packing[0].shape == (128,)
    results = []
    for more in ([], packing):
        encoder.zero_grad()
        vectors = encoder(ids, mask, *more)
        (vectors * torch.randn(vectors.shape, generator=torch.Generator().manual_seed(2))).sum().backward()
        gradients = {name: weight.grad for name, weight in encoder.named_parameters() if weight.grad is not None}
        results.append({"": vectors.detach(), **gradients})
    padded, packed = results
    assert padded.keys() == packed.keys()
    for name, tensor in padded.items():
        assert torch.allclose(packed[name], tensor, atol=2e-5 * max(1.0, float(tensor.abs().max()))), name


@pytest.mark.parametrize("more", [{}, {"length_groups": 2}, {"encode_size": 8}, {"gradient_checkpointing": True}])
def test_packed_steps_are_the_steps(
    options: dict[str, Any], more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "attention_within", slow_attention_within)
    monkeypatch.setattr(task, "check_views", lambda first, second: None)
    options |= {"dropout": 0.0, "sentence_weight": 0.0, "both_views": True, "max_steps": 4} | more
    # With these a loss depends on the vectors.
    options |= {"entity_weight": 1.0, "entity_temperature": 0.1}
    losses = []
    for packs in (False, True):
        run = ready(options)
        run.feed.packs = packs
        run.model.train()
        gpu.set_training_attention(run.model.encoder.backbone, "sdpa")
        batches = list(run.feed.batches(0, 4))
        assert {len(group) for batch in batches for group in batch.groups} == {4 if packs else 2}
        losses.append([float(train.train_step(run, iter(batches[step:]), step)[0]["loss"]) for step in range(4)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("family", PACKED)
def test_no_packed_batch_waits_for_a_number(family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)
    encoder = Encoder.load(backbone(family, tmp_path), "last").to(META).train()
    mask = np.arange(9) < np.array([9, 3, 1, 7, 8, 2])[:, None]
    packing = [torch.from_numpy(array).to(META) for array in places_of_tokens(mask)]
    vectors = encoder(torch.empty(6, 9, dtype=torch.int32, device=META), torch.from_numpy(mask).to(META), *packing)
    vectors.sum().backward()
    assert vectors.shape == (6, 32)


def test_where_batches_are_packed(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where the trial fails, as on a CPU, nor with windows or in an unknown architecture."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)
    backbone = Encoder.load(str(tiny_model)).backbone
    assert gpu.can_pack(backbone, META, torch.float32)
    assert not gpu.can_pack(backbone, torch.device("cpu"), torch.float32)
    backbone.config.layer_types = ["full_attention", "sliding_attention"]
    assert not gpu.can_pack(backbone, META, torch.float32)
    del backbone.config.layer_types
    monkeypatch.setattr(gpu, "FIRST_POSITION", {})
    assert not gpu.can_pack(backbone, META, torch.float32)


def test_packed_batches_have_few_shapes() -> None:
    random = np.random.default_rng(1)
    shapes = set()
    for _ in range(200):
        mask = np.arange(32) < random.integers(9, 33, 64)[:, None]
        places, ends = places_of_tokens(mask)
        lengths = np.diff(ends, prepend=0)
        assert (lengths[:64] == mask.sum(1)).all()
        assert ends[-1] == len(places) == len(np.unique(places))
        assert 0 <= lengths.min() <= lengths.max() <= 32
        assert mask.ravel()[places].sum() == mask.sum()
        shapes.add((len(places), len(ends)))
    assert len(shapes) < 10
    full = np.ones((3, 5), np.bool_)
    assert places_of_tokens(full)[0].tolist() == list(range(15))


def test_attention_is_that_of_transformers(tiny_model: Path) -> None:
    ids = torch.randint(4, 30, (5, 9), generator=torch.Generator().manual_seed(1))
    encoder = Encoder.load(str(tiny_model), "avg")
    for lengths in ([9, 3, 1, 7, 8], [9] * 5):
        mask = torch.arange(9) < torch.tensor(lengths)[:, None]
        actual = []
        for attention in ("sdpa", gpu.ATTENTION):
            encoder.backbone.set_attn_implementation(attention)
            actual.append(encoder(ids, mask))
        assert torch.allclose(*actual, atol=1e-6)


class Copies(TorchDispatchMode):
    """Notes where copies go that are not waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.unwaited: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("non_blocking") and kwargs.get("device") is not None:
            self.unwaited.append(torch.device(kwargs["device"]).type)
        return func(*args, **kwargs)


def test_a_table_on_the_cpu_waits_for_its_ids() -> None:
    """A copy from a GPU that is not waited for is read before it is there."""
    with FakeTensorMode(), Copies() as copies:
        ids = torch.empty(7, dtype=torch.int64, device="cuda")
        ids.to("cpu", non_blocking=True)
        assert copies.unwaited == ["cpu"]
        vectors = EntityTable(torch.empty(30, 4))(ids)
    assert vectors.device.type == "cuda"
    assert copies.unwaited == ["cpu"]


def test_each_length_has_one_graph(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """More lengths than torch compiles by itself, held-out rows between the steps, and groups of unequal size."""
    counter = torch._dynamo.testing.CompileCounter()
    compiled = nn.Module.compile
    monkeypatch.setattr(nn.Module, "compile", lambda module, **kinds: compiled(module, backend=counter, **kinds))
    monkeypatch.setattr(torch._dynamo.config, "recompile_limit", 2)
    torch._dynamo.reset()
    monkeypatch.setattr(feed, "LENGTHS", (6, 9, 12, 15, 18))
    more = {"compile": True, "length_groups": 3, "max_steps": 12}
    run = ready(options | more | {"held_out": 16, "eval_steps": 4, "warmup_steps": 1})
    shapes: set[tuple[int, ...]] = set()
    forward = run.model.encoder.forward

    def seen(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled():
            shapes.add(tuple(ids.shape))
        return forward(ids, mask)

    monkeypatch.setattr(run.model.encoder, "forward", seen)
    train.train(run)
    assert {rows for rows, _ in shapes} == {16}
    assert 2 < len(shapes) == counter.frame_count


def test_processes_know_their_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it nccl guesses one, and gives up after ten minutes of another's work."""
    asked: list[tuple[str, Any, timedelta]] = []

    def join(backend: str, timeout: timedelta, device_id: Any) -> None:
        asked.append((backend, device_id, timeout))

    monkeypatch.setattr(distributed.dist, "init_process_group", join)
    monkeypatch.setitem(os.environ, "WORLD_SIZE", "2")
    for device in (torch.device("cuda", 1), torch.device("cpu")):
        distributed.start(device)
    assert [actual[:2] for actual in asked] == [("cpu:gloo,cuda:nccl", torch.device("cuda", 1)), ("gloo", None)]
    assert all(limit > timedelta(hours=1) for _, _, limit in asked)
