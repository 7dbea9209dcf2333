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

from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import write_text
from wikianchor.trainer.command import run_command
from wikianchor.trainer.papers.construction import filtering
from wikianchor.trainer.papers.construction.options import CompareOptions, FilterOptions, parse


def filter_pairs(flags: FilterOptions) -> str:
    """Write the filtered versions; return a table of their sizes."""
    pairs = filtering.read_source(flags.source)
    if flags.translator:
        source = list(zip(pairs.first, pairs.second, strict=True))
        translations = filtering.translate(flags.translator, source, "en", "ja")
        back = filtering.translate(flags.translator, translations, "ja", "en")
    else:
        translations = filtering.read_translations(flags.translations, len(pairs))
        back = filtering.read_translations(flags.back, len(pairs))
    judged = filtering.judge(pairs, translations, back)
    versions = {"all": filtering.version(judged, None)}
    versions |= {f"bleu-{threshold:g}": filtering.version(judged, threshold) for threshold in flags.thresholds}
    files = {f"{name}.csv": filtering.to_lines(kept) for name, kept in versions.items()}
    for name, texts in (("translations", translations), ("back", back)):
        files[f"{name}.tsv"] = "".join("\t".join(" ".join(text.split()) for text in pair) + "\n" for pair in texts)
    for name, content in files.items():
        write_text(os.path.join(flags.output, name), content)
    table = markdown_table(["version", "pairs"], [[name, f"{len(kept):,}"] for name, kept in versions.items()])
    untranslated = sum(not pair.translated for pair in judged)
    lost = sum(pair.translated and pair.bleu == 0 for pair in judged)
    return f"{table}\n\n{untranslated:,} pairs are not in Japanese; {lost:,} more have a sentence of BLEU-1 0."


def compare(flags: CompareOptions) -> str:
    """Train a regression on each version; return a table of their errors."""
    from wikianchor.trainer.distributed import choose_device
    from wikianchor.trainer.papers.construction.regression import errors, learn, predict

    device = choose_device(flags.device)
    test = filtering.read_source(flags.test)
    versions = {path: filtering.read_source(path) for path in flags.data}
    rows = []
    for path, pairs in versions.items():
        model, tokenizer = learn(pairs, flags, device)
        scores = errors(test.gold, predict(model, tokenizer, test, flags, device))
        rows.append([path, f"{len(pairs):,}", *(f"{value:.4f}" for value in scores.values())])
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    return markdown_table(["version", "pairs", "MAE", "MSE", "R2"], rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    return run_command("construction", lambda: table(parse(argv)))


def table(flags: FilterOptions | CompareOptions) -> str:
    """Do what the flags ask for and return its table."""
    return filter_pairs(flags) if isinstance(flags, FilterOptions) else compare(flags)


if __name__ == "__main__":
    sys.exit(main())
