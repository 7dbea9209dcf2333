"""The training loop: steps, log lines, dev scores and checkpoints.

No step waits for the GPU: losses are summed on the device and read every `log_steps`. A loss that is not finite is
detected on the device too, and ends the run at the next log line or before the next checkpoint is written, so that the
last checkpoint is from before that step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer import distributed
from wikianchor.trainer.config import Config, PairsConfig
from wikianchor.trainer.data.feed import Feed
from wikianchor.trainer.loop import checkpoint
from wikianchor.trainer.loop.checkpoint import State
from wikianchor.trainer.loop.gradient_cache import backward
from wikianchor.trainer.loop.graphs import CudaRecorder, StepGraphs
from wikianchor.trainer.loop.log import Log, training_line
from wikianchor.trainer.loop.optimizers import Optimizers
from wikianchor.trainer.loop.throughput import flops_per_token, peak_flops
from wikianchor.trainer.models.model import EaseModel, Trainable


class DevScore(NamedTuple):
    """A score that chooses the best weights; higher is better.

    Attributes:
        name: what it is, for records.
        score: takes the trained model; returns the score, and further values for the log.
    """

    name: str
    score: Callable[[Any], tuple[float, Mapping[str, float]]]


@dataclass
class TrainingRun:
    """A training run that is ready to start.

    Attributes:
        config: its options.
        model: what is trained.
        optimizers: optimisers of the model's parameters.
        feed: its batches.
        dev: its dev score, or None.
        log: where it reports to.
        data: fingerprint of the dataset.
        total: steps of the whole run.
        device: this process's device.
        averages: averages gradients over the processes.
        graphs: captured steps, or None.
    """

    config: Config
    model: Trainable
    optimizers: Optimizers
    feed: Feed[Any]
    dev: DevScore | None
    log: Log
    data: str
    total: int
    device: torch.device
    averages: distributed.GradientAverages
    graphs: StepGraphs | None = None


def make_run(
    config: Config, model: Trainable, feed: Feed[Any], *, dev: DevScore | None, log: Log, data: str
) -> TrainingRun:
    """Return a run with optimisers for all its steps; arguments as the attributes of `TrainingRun`."""
    total = config.total_steps(feed.steps)
    captured = isinstance(config, PairsConfig) and bool(config.graphs)
    optimizers = Optimizers(model, config, total, captured)
    averages = distributed.GradientAverages(optimizers.all)
    graphs = None
    if captured and isinstance(model, EaseModel):
        graphs = StepGraphs(model, optimizers, CudaRecorder(feed.device), log.say)
    return TrainingRun(
        config=config,
        model=model,
        optimizers=optimizers,
        feed=feed,
        dev=dev,
        log=log,
        data=data,
        total=total,
        device=feed.device,
        averages=averages,
        graphs=graphs,
    )


class Meter:
    """Sums of losses, tokens and sentences since the last line of the log; losses are summed on the device."""

    def __init__(self, run: TrainingRun) -> None:
        self.run = run
        self.peak = peak_flops(run.device, run.config.precision)
        self.first_bad = torch.full((), -1, dtype=torch.int64, device=run.device)
        self.reset()

    def reset(self) -> None:
        """Start new sums."""
        self.sums: dict[str, Tensor] = {}
        self.steps = self.tokens = self.sentences = 0
        self.start = time.perf_counter()

    def add(self, step: int, losses: dict[str, Tensor], tokens: int, sentences: int) -> None:
        """Add a step: its losses, (), its tokens without padding, and its sentences."""
        for name, value in losses.items():
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        bad = ~torch.isfinite(losses["loss"]) & (self.first_bad < 0)
        self.first_bad = torch.where(bad, torch.full_like(self.first_bad, step), self.first_bad)
        self.steps += 1
        self.tokens += tokens
        self.sentences += sentences

    def check(self) -> None:
        """Raise InputError if a loss in any process was not finite."""
        step = int(distributed.largest(self.first_bad))
        if step >= 0:
            raise InputError(
                f"the loss of step {step} is not a number: training stopped, the checkpoint before it is kept: "
                "lower --learning_rate, or look at the rows"
            )

    def values(self, step: int) -> dict[str, float | int]:
        """Return mean losses, milliseconds per step, throughput, MFU, learning rate, and the position in the data."""
        run, config = self.run, self.run.config
        losses = {name: float(distributed.mean_scalar(value)) / self.steps for name, value in self.sums.items()}
        seconds = time.perf_counter() - self.start
        length = self.tokens / max(1, self.sentences)
        flops = self.tokens * run.model.views * flops_per_token(run.model.encoder, int(length))
        mfu = {} if self.peak is None else {"mfu": flops / seconds / self.peak}
        epoch, step_of_epoch = divmod(step, run.feed.steps)
        return {
            **losses,
            "ms": 1000 * seconds / self.steps,
            "sentences_per_second": self.sentences * distributed.world() / seconds,
            **mfu,
            "learning_rate": config.learning_rate * run.optimizers.factor(step - 1),
            "epoch": epoch,
            "row": step_of_epoch * config.step_size,
        }


def seed_dropout(seed: int, device: torch.device) -> None:
    """Seed the generators that dropout draws from.

    torch.manual_seed is not used, because it also queues a seed for GPUs that may be initialised later: a queue that
    takes time and, over many steps, memory.
    """
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)


def train_step(run: TrainingRun, batches: Iterator[Any], step: int) -> tuple[dict[str, Tensor], int]:
    """Do one step of the optimiser; return the mean losses of its passes, detached, and the number of tokens."""
    passes = run.feed.passes
    # Dropout depends on seed, step and process alone, so a resumed run draws the same numbers.
    seed = (run.config.seed * 1_000_003 + step) * 1_009 + distributed.rank()
    if run.graphs is not None:
        batch = next(batches)
        return run.graphs.step(batch, step, lambda: seed_dropout(seed, run.device)), batch.tokens
    seed_dropout(seed, run.device)
    means: dict[str, Tensor] = {}
    tokens = 0
    for number, batch in enumerate(islice(batches, passes), 1):
        losses = backward(run.model, batch, 1 / passes, run.averages.start if number == passes else lambda: None)
        for name, value in losses.items():
            share = value.detach() if passes == 1 else value.detach() / passes
            means[name] = means[name] + share if name in means else share
        tokens += batch.tokens
    run.averages.finish()
    run.optimizers.step(step)
    return means, tokens


def train(run: TrainingRun) -> State:
    """Train from the last checkpoint, or from the start, to the end."""
    config = run.config
    state = _resume(run)
    batches = run.feed.batches(state.step, run.total)
    meter = Meter(run)
    run.model.train()
    for step in range(state.step, run.total):
        losses, tokens = train_step(run, batches, step)
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
        # The last `patience` dev scores were no better than the best.
        waited = state.step - state.best_step if state.best is not None else 0
        stop = config.patience is not None and waited >= config.patience * config.eval_steps
        if state.step % config.checkpoint_steps == 0 or last or stop:
            meter.check()
            if distributed.rank() == 0:
                checkpoint.save(run.model, run.optimizers, state, config, run.data)
            distributed.barrier()
        if stop:
            run.log.say(f"step {state.step}/{run.total} | no better dev score since step {state.best_step}: stopped")
            break
    return state


def _resume(run: TrainingRun) -> State:
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


def _evaluate(run: TrainingRun, state: State) -> State:
    """Compute the dev score in every process, and save the encoder if the score is the best so far."""
    if run.dev is None:
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
