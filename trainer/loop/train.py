"""The loop. Everything it needs is made by `prepare`; `run` is the loop and what happens between its steps.

No step waits for the GPU: losses are added up on the device and read every `log_steps`. A loss that is not a number is
noticed on the device too, with its step, and ends the run at the next line of the log or before the next checkpoint is
written, so the last checkpoint is from before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

import torch
from torch import Tensor

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer import distributed
from wikianchor.trainer.config import Config
from wikianchor.trainer.loop import checkpoint
from wikianchor.trainer.loop.checkpoint import State
from wikianchor.trainer.loop.log import Log, training_line
from wikianchor.trainer.loop.optimizers import Optimizers
from wikianchor.trainer.loop.throughput import flops_per_token, peak_flops
from wikianchor.trainer.models.model import Trainable


class Batches(Protocol):
    """The batches of a run: `steps` in an epoch, and those of steps first to last, one for each softmax, on the device.
    A batch has `tokens`, the number of real ones."""

    steps: int

    def batches(self, first: int, last: int) -> Iterator[Any]: ...


class Dev(Protocol):
    """A score by which the best weights are chosen, higher is better."""

    @property
    def active(self) -> bool: ...

    @property
    def name(self) -> str: ...

    def score(self, model: Any) -> tuple[float, Mapping[str, float]]: ...


@dataclass
class Run:
    """A training run that is ready to start: `data` is the dataset's fingerprint, `total` the steps of the run."""

    config: Config
    model: Trainable
    optimizers: Optimizers
    feed: Batches
    dev: Dev
    log: Log
    data: str
    total: int
    device: torch.device


class Meter:
    """Sums over the steps since the last line of the log; the losses' on the device."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.peak = peak_flops(run.device, run.config.precision)
        self.first_bad = torch.full((), -1, dtype=torch.int64, device=run.device)
        self.reset()

    def reset(self) -> None:
        self.sums: dict[str, Tensor] = {}
        self.steps = self.tokens = self.sentences = 0
        self.start = time.perf_counter()

    def add(self, step: int, losses: dict[str, Tensor], tokens: int, sentences: int) -> None:
        for name, value in losses.items():
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        bad = ~torch.isfinite(losses["loss"]) & (self.first_bad < 0)
        self.first_bad = torch.where(bad, torch.full_like(self.first_bad, step), self.first_bad)
        self.steps += 1
        self.tokens += tokens
        self.sentences += sentences

    def check(self) -> None:
        """Raise InputError if a loss was not a number."""
        step = int(distributed.largest(self.first_bad))
        if step >= 0:
            raise InputError(
                f"the loss of step {step} is not a number: training stopped, the checkpoint before it is kept: "
                "lower --learning_rate, or look at the rows"
            )

    def values(self, step: int) -> dict[str, float | int]:
        """Return the means since the last line, and what the machine did."""
        run, config = self.run, self.run.config
        losses = {name: float(distributed.mean_scalar(value)) / self.steps for name, value in self.sums.items()}
        seconds = time.perf_counter() - self.start
        length = self.tokens / max(1, self.sentences)
        flops = self.tokens * run.model.views * flops_per_token(run.model.encoder, int(length))
        epoch, within = divmod(step, run.feed.steps)
        return {
            **losses,
            "ms": 1000 * seconds / self.steps,
            "sentences_per_second": self.sentences * distributed.world() / seconds,
            "mfu": flops / seconds / self.peak,
            "learning_rate": config.learning_rate * run.optimizers.factor(step - 1),
            "epoch": epoch,
            "row": within * config.step_size,
        }


def seed_draws(seed: int, device: torch.device) -> None:
    """Set what dropout draws from. torch.manual_seed would, where there is no GPU, keep a record of each call for one
    that may come: that takes time and, over many steps, memory."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


def train_step(run: Run, batches: Iterator[Any], step: int) -> tuple[dict[str, Tensor], int]:
    """Do one step of the optimiser over its softmaxes; return the mean losses, detached, and the real tokens."""
    parts = run.config.micro_batches()
    # Dropout is a function of seed, step and process, so a run that goes on draws what it would have drawn.
    seed_draws((run.config.seed * 1_000_003 + step) * 1_009 + distributed.rank(), run.device)
    means: dict[str, Tensor] = {}
    tokens = 0
    for batch in islice(batches, parts):
        losses = run.model(batch)
        (losses["loss"] / parts).backward()
        for name, value in losses.items():
            part = value.detach() if parts == 1 else value.detach() / parts
            means[name] = means[name] + part if name in means else part
        tokens += batch.tokens
    distributed.average_gradients(run.optimizers.all)
    run.optimizers.step(step)
    return means, tokens


def train(run: Run) -> State:
    """Train from the last checkpoint, or the start, to the end."""
    config = run.config
    state = _begin(run)
    batches = run.feed.batches(state.step, run.total)
    meter = Meter(run)
    run.model.train()
    for step in range(state.step, run.total):
        # ------------------------------------------------------------------------------ one step of training
        losses, tokens = train_step(run, batches, step)
        # ---------------------------------------------------------------------------------------------------
        meter.add(step, losses, tokens, config.step_size // distributed.world())
        state = replace(state, step=step + 1)
        last = state.step == run.total
        if state.step % config.log_steps == 0 or last:
            meter.check()
            values = meter.values(state.step)
            run.log.say(training_line(state.step, run.total, values))
            run.log.values("train", state.step, values)
            meter.reset()
        if (config.eval_steps and state.step % config.eval_steps == 0) or last:
            meter.check()
            state = _evaluate(run, state)
        stop = _no_better(config, state)
        if state.step % config.checkpoint_steps == 0 or last or stop:
            meter.check()
            _checkpoint(run, state)
        if stop:
            run.log.say(f"step {state.step}/{run.total} | no better dev score since step {state.best_step}: stopped")
            break
    return state


def _no_better(config: Config, state: State) -> bool:
    """Whether the last `patience` dev scores were no better than the best."""
    if not config.patience or state.best is None:
        return False
    return state.step - state.best_step >= config.patience * config.eval_steps


def _begin(run: Run) -> State:
    if not run.config.resume:
        if distributed.rank() == 0:
            checkpoint.clear(run.config)
        distributed.barrier()
        return State(0)
    state = checkpoint.resume(run.model, run.optimizers, run.config, run.data)
    if int(distributed.largest(torch.tensor(state.step, device=run.device))) != state.step:
        raise UsageError(
            f"--checkpoints={run.config.checkpoints}: process {distributed.rank()} finds another last checkpoint "
            "there than the others: name a place that all machines see"
        )
    if state.step:
        run.log.say(f"goes on from step {state.step} of {run.total}")
    return state


def _evaluate(run: Run, state: State) -> State:
    """Score the encoder, in each process alike, and keep it if it is the best so far."""
    if not run.dev.active:
        return state
    score, values = run.dev.score(run.model)
    run.model.train()
    before = "" if state.best is None else f" | best before {state.best:.4f} at step {state.best_step}"
    run.log.say(f"step {state.step}/{run.total} | dev {score:.4f}{before}")
    run.log.values("dev", state.step, {"score": score, **values})
    if state.best is None or score > state.best:
        state = replace(state, best=score, best_step=state.step)
        if distributed.rank() == 0:
            checkpoint.save_best(run.model.encoder, state, run.config.checkpoints)
        distributed.barrier()
    return state


def _checkpoint(run: Run, state: State) -> None:
    if distributed.rank() == 0:
        checkpoint.save(run.model, run.optimizers, state, run.config, run.data)
    distributed.barrier()
