"""`python -m wikianchor.trainer.papers.construction`: see `options.py`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

if __name__ == "__main__":
    from wikianchor.trainer.command import EVAL, check_flags, need
    from wikianchor.trainer.papers.construction.options import parse

    check_flags("construction", lambda: parse(sys.argv[1:]))
    need(EVAL)

from wikianchor.io.storage import writing
from wikianchor.trainer.command import run_command
from wikianchor.trainer.papers.construction import filtering
from wikianchor.trainer.papers.construction.options import CompareOptions, FilterOptions, parse


def filter_pairs(flags: FilterOptions) -> str:
    """Write the versions; return a table of their sizes."""
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
    versions |= {f"bleu-{threshold:g}": filtering.version(found, threshold) for threshold in flags.thresholds}
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


def _write(directory: str, files: dict[str, str]) -> None:
    with writing(directory):
        os.makedirs(directory, exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as stream:
                stream.write(text)


def compare(flags: CompareOptions) -> str:
    """Return the table of the versions."""
    from wikianchor.trainer.distributed import choose_device
    from wikianchor.trainer.papers.construction.regression import Settings, errors, learn, predict

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
    return run_command("construction", lambda: table(parse(argv)))


def table(flags: FilterOptions | CompareOptions) -> str:
    """Do what the flags ask for and return its table."""
    return filter_pairs(flags) if isinstance(flags, FilterOptions) else compare(flags)


if __name__ == "__main__":
    sys.exit(main())
