"""`wikianchor build`: a directory of dumps in, training pairs out: `sentences` for each wiki, `entities`, `pairs`.

A stage that is done with the same inputs and options is skipped, so the same command goes on where it was interrupted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.commands.build.options import BuildOptions
from wikianchor.pipelines.dataset.reader import find_datasets, finished_datasets
from wikianchor.pipelines.engine.runner import with_workers, workers_of
from wikianchor.pipelines.entities import graph as entities
from wikianchor.pipelines.entities.options import EntitiesOptions
from wikianchor.pipelines.pairs import graph as pairs
from wikianchor.pipelines.pairs.options import PairsOptions
from wikianchor.pipelines.sentences import graph as sentences
from wikianchor.pipelines.sentences.options import SentencesOptions
from wikianchor.pipelines.wikimedia.inventory import Dumps, find_dumps, read_site


def run(config: BuildOptions, beam_args: Sequence[str]) -> None:
    """Print the plan, run the stages and print the report."""
    from wikianchor.pipelines.commands.build.plan import build_stages, plan_lines
    from wikianchor.pipelines.dataset import summary
    from wikianchor.pipelines.dataset.text_report import print_report

    start = time.monotonic()
    found = find_dumps(config.dumps, config.wikis)
    wikis = tuple(found.pages)
    pairs.check_floor(config.choices, wikis)
    rows = config.choices.sample * (len(wikis) if config.choices.sample_per_wiki else 1)
    of_sentences, of_entities, of_pairs = stage_configs(config, found)
    options = [sentences.options_of(one, read_site(one.dumps, None)[0]) for one in of_sentences]
    options += [entities.options_of(of_entities), pairs.options_of(of_pairs)]
    stages = build_stages(dict(found.pages), found.wikidata, found.page_props, config.output, rows, options)
    workers = [workers_of(beam_args, stage.load) for stage in stages]
    print("\n".join(plan_lines(stages, config.output, workers)), flush=True)
    if config.dry_run:
        return
    # As many workers as the plan says: what a stage itself knows of its input may be another number.
    flags = [with_workers(beam_args, stage.load) for stage in stages]
    for one, stage_flags in zip(of_sentences, flags, strict=False):
        sentences.run(one, stage_flags)
    entities.run(of_entities, flags[-2])
    pairs.run(of_pairs, flags[-1])
    datasets = finished_datasets(config.output)
    print_report(datasets)
    print(f"\n{summary.made_together(datasets, config.output)}\n{summary.spent(start)}")
    check = ["wikianchor", "verify", config.output, f"--against={config.dumps}"]
    print("\n".join(summary.next_lines(check, summary.train_ease(of_pairs.output))))


def stage_configs(config: BuildOptions, found: Dumps) -> tuple[list[SentencesOptions], EntitiesOptions, PairsOptions]:
    """Return what each stage of a build is asked for: `sentences` of each wiki, `entities` and `pairs`."""
    wikis, output = tuple(found.pages), config.output
    of_sentences = [
        SentencesOptions(
            dumps=paths,
            output=f"{output}/sentences/{wiki}",
            splitter=config.splitter,
            parser=config.parser,
            allow_truncated=config.allow_truncated,
            previous=earlier_sentences(config.previous, wiki),
        )
        for wiki, paths in found.pages.items()
    ]
    required = (config.choices.required_wiki,) if config.choices.required_wiki else ()
    labels = config.labels or tuple(dict.fromkeys(("en", *(language(wiki) for wiki in wikis), "mul")))
    every = tuple(dict.fromkeys((*wikis, *required)))
    of_entities = EntitiesOptions(
        wikidata=found.wikidata,
        page_props=found.page_props,
        wikis=every,
        output=f"{output}/entities",
        labels=labels,
        allow_truncated=config.allow_truncated,
    )
    places = ",".join(f"{output}/sentences/{wiki}" for wiki in wikis)
    of_pairs = PairsOptions(
        sentences=places, entities=f"{output}/entities", output=f"{output}/pairs", choices=config.choices
    )
    return of_sentences, of_entities, of_pairs


def earlier_sentences(previous: str | None, wiki: str) -> str | None:
    """Return where an earlier build has the sentences of a wiki, None where it has none.

    Raises:
        UsageError: there is no earlier build at all.
    """
    if previous is None:
        return None
    every = (one for one in find_datasets(previous) if one.manifest["dataset"] == "sentences")
    found = {one.manifest["options"]["wiki"]: one for one in every}
    if not found:
        raise UsageError(f"--previous={previous} holds no sentences: give the --output of an earlier build")
    if wiki not in found:
        logging.getLogger("wikianchor").info("%s: not in --previous, so all of it is read", wiki)
        return None
    return found[wiki].directory


def language(wiki: str) -> str:
    """Return the language code of a wiki."""
    from wikianchor.pipelines.wikimedia.languages import language_of_wiki

    return language_of_wiki(wiki)
