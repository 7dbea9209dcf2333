"""`python -m trainer.construction filter|compare`: from English STS to a Japanese set, and which version is best.

    python -m trainer.construction filter --source=sts-dev.csv --translator='mt {source} {target}' --output=out
    python -m trainer.construction compare --data=out/bleu-0.csv --data=out/all.csv --test=valid-v1.3.json --model=DIR

`filter` writes OUTPUT/all.csv and OUTPUT/bleu-T.csv for each threshold T: the pairs of which both sentences, translated
back, have a BLEU-1 above T. A translator reads a sentence a line and writes a sentence a line. Instead of one, files
may be given: --translations and --back, two sentences a line with a tab between.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from trainer.command import run_command
from trainer.construction import filtering
from trainer.errors import InputError, UsageError

# Those of the paper.
THRESHOLDS = "0,0.05,0.1,0.15,0.2,0.25,0.3"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the flags."""
    found = argparse.ArgumentParser(
        prog="python -m trainer.construction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = found.add_subparsers(dest="command", required=True)
    one = commands.add_parser("filter", help="pairs and their translations -> versions of a set")
    one.add_argument("--source", required=True, metavar="FILE", help="scored pairs, in any layout of STS")
    one.add_argument("--output", required=True, metavar="DIR", help="where the versions go")
    one.add_argument("--translator", default="", metavar="COMMAND", help="with {source} and {target} for en and ja")
    one.add_argument("--translations", default="", metavar="FILE", help="in Japanese, two sentences a line")
    one.add_argument("--back", default="", metavar="FILE", help="these in English again, two sentences a line")
    one.add_argument("--thresholds", default=THRESHOLDS, help=f"of BLEU-1, with commas ({THRESHOLDS})")
    other = commands.add_parser("compare", help="versions of a set -> which teaches a regression most")
    other.add_argument("--data", action="append", required=True, metavar="FILE", help="a version; repeatable")
    other.add_argument("--test", required=True, metavar="FILE", help="scored pairs that people wrote: JSTS")
    other.add_argument("--model", required=True, help="a BERT: a directory or a name on the Hub")
    other.add_argument("--epochs", type=int, default=3, help="times through the pairs (3, as in the paper)")
    other.add_argument("--learning_rate", type=float, default=5e-5, help="at its highest (5e-5, as in the paper)")
    other.add_argument("--batch_size", type=int, default=32, help="pairs of a step (32)")
    other.add_argument("--max_length", type=int, default=128, help="tokens kept of a pair (128)")
    other.add_argument("--seed", type=int, default=42, help="of the order and of what begins at random (42)")
    other.add_argument("--device", default="", help="cuda where there is one, else cpu")
    return found.parse_args(argv)


def filter_pairs(flags: argparse.Namespace) -> str:
    """Write the versions; return a table of their sizes.

    Raises:
        UsageError: translations are given twice or not at all, or a threshold makes no sense.
    """
    thresholds = _thresholds(flags.thresholds)
    given = bool(flags.translations), bool(flags.back)
    if any(given) == bool(flags.translator) or given[0] != given[1]:
        raise UsageError("give --translator, or both --translations and --back")
    pairs = filtering.read_source(flags.source)
    if flags.translator:
        source = list(zip(pairs.first, pairs.second, strict=True))
        translations = filtering.translate(flags.translator, source, "en", "ja")
        back = filtering.translate(flags.translator, translations, "ja", "en")
    else:
        translations = filtering.read_translations(flags.translations, len(pairs))
        back = filtering.read_translations(flags.back, len(pairs))
    found = filtering.judge(pairs, translations, back)
    versions = {"all": filtering.version(found, None)}
    versions |= {f"bleu-{threshold:g}": filtering.version(found, threshold) for threshold in thresholds}
    files = {f"{name}.csv": filtering.to_lines(some) for name, some in versions.items()}
    for name, some in (("translations", translations), ("back", back)):
        files[f"{name}.tsv"] = "".join("\t".join(" ".join(text.split()) for text in two) + "\n" for two in some)
    _write(flags.output, files)
    lines = [
        "| version | pairs |",
        "| --- | ---: |",
        *(f"| {name} | {len(some):,} |" for name, some in versions.items()),
    ]
    untranslated = sum(not one.translated for one in found)
    lost = sum(one.translated and one.bleu == 0 for one in found)
    lines += ["", f"{untranslated:,} pairs are not in Japanese; {lost:,} more have a sentence of BLEU-1 0."]
    return "\n".join(lines)


def _thresholds(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--thresholds={text}: must be numbers with commas between") from error
    if not all(0 <= one < 1 for one in found):
        raise UsageError(f"--thresholds={text}: must be 0 or more, and below 1")
    return found


def _write(directory: str, files: dict[str, str]) -> None:
    try:
        os.makedirs(directory, exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as stream:
                stream.write(text)
    except OSError as error:
        raise InputError(f"{directory}: cannot be written ({error.strerror})") from error


def compare(flags: argparse.Namespace) -> str:
    """Return the table of the versions."""
    from trainer.construction.regression import Settings, errors, learn, predict
    from trainer.distributed import choose_device

    for name in ("epochs", "batch_size", "max_length"):
        if getattr(flags, name) < 1:
            raise UsageError(f"--{name}={getattr(flags, name)}: must be 1 or more")
    settings = Settings(flags.epochs, flags.learning_rate, flags.batch_size, flags.max_length, flags.seed)
    device = choose_device(flags.device)
    test = filtering.read_source(flags.test)
    versions = {path: filtering.read_source(path) for path in flags.data}
    lines = ["| version | pairs | MAE | MSE | R2 |", "| --- | ---: | ---: | ---: | ---: |"]
    for path, pairs in versions.items():
        model, tokenizer = learn(flags.model, pairs, settings, device)
        found = errors(test.gold, predict(model, tokenizer, test, settings, device))
        lines.append(f"| {path} | {len(pairs):,} | " + " | ".join(f"{value:.4f}" for value in found.values()) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    flags = parse(argv)
    return run_command("construction", lambda: filter_pairs(flags) if flags.command == "filter" else compare(flags))


if __name__ == "__main__":
    sys.exit(main())
