"""`wikianchor build`: make training pairs from dumps, by the stages `sentences` (of each wiki), `entities` and `pairs`.

A stage that is finished with the same inputs and options is skipped, so the same command continues an interrupted one.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence

from wikianchor.io.errors import UsageError
from wikianchor.io.options import values_of
from wikianchor.io.output import say
from wikianchor.pipelines.commands.build.options import BuildOptions
from wikianchor.pipelines.commands.build.plan import build_stages, plan_lines
from wikianchor.pipelines.commands.report.made import Made
from wikianchor.pipelines.dataset.inputs import wiki_of
from wikianchor.pipelines.dataset.reader import find_datasets, finished_datasets
from wikianchor.pipelines.dataset.summary import train_ease
from wikianchor.pipelines.documents import graph as documents
from wikianchor.pipelines.documents.options import DocumentsOptions
from wikianchor.pipelines.engine.dataflow import machine_type
from wikianchor.pipelines.engine.runner import beam_options, with_workers, workers_of
from wikianchor.pipelines.engine.stage import skips_pages
from wikianchor.pipelines.entities import graph as entities
from wikianchor.pipelines.entities.options import EntitiesOptions
from wikianchor.pipelines.pairs import graph as pairs
from wikianchor.pipelines.pairs.options import PairsOptions
from wikianchor.pipelines.sentences import graph as sentences
from wikianchor.pipelines.sentences.compiled_reader import engine_of
from wikianchor.pipelines.sentences.options import SentencesOptions
from wikianchor.pipelines.wikimedia.inventory import Dumps, find_dumps
from wikianchor.pipelines.wikimedia.languages import language_of_wiki
from wikianchor.pipelines.wikimedia.options import Documents, EntityTexts, Reading, Truncated


def run(config: BuildOptions, beam_args: Sequence[str]) -> Made:
    """Print the plan, run the stages and return what they made.

    Raises:
        InputError: a dump is missing or broken, or the output cannot be written.
        UsageError: options contradict each other.
    """
    start = time.monotonic()
    dumps = find_dumps(config.dumps, config.wikis)
    wikis = tuple(dumps.pages)
    pairs.check_floor(config.choices, wikis)
    rows = config.choices.sample * (len(wikis) if config.choices.sample_per_wiki else 1)
    of_sentences, of_entities, of_pairs = stage_configs(config, dumps)
    sites = [(stage, sentences.site_of(stage)[0]) for stage in of_sentences]
    options = [
        *(sentences.options_of(stage, site, sentences.excluded_pages(stage, site)) for stage, site in sites),
        *(entities.options_of(of_entities), pairs.options_of(of_pairs), documents.options_of(wikis)),
    ]
    engine = engine_of(config.engine, config.parser, config.splitter)
    stages = build_stages(
        dumps, config.output, rows, options, is_compiled=engine == "core", with_documents=config.documents
    )
    workers = [workers_of(beam_args, stage.load) for stage in stages]
    machine = machine_type(beam_options(beam_args)[0])
    lines = plan_lines(
        stages,
        output=config.output,
        workers=workers,
        machine_type=machine,
        price=config.price_per_vcpu_hour,
        keep_older=config.keep_older,
        skips_pages=skips_pages(beam_args),
        brief=not config.dry_run,
    )
    for line in [*lines, *([f"  engine: {engine}"] if config.dry_run else [])]:
        say(line)
    sys.stdout.flush()
    if config.dry_run:
        return Made([], config.output, start, engine)
    # As many workers as in the plan: a stage by itself may choose another number.
    flags = iter([with_workers(beam_args, stage.load) for stage in stages])
    for stage_config in of_sentences:
        sentences.run(stage_config, next(flags), keep_older=config.keep_older, may_be_empty=len(wikis) > 1)
    entities.run(of_entities, next(flags), keep_older=config.keep_older)
    pairs.run(of_pairs, next(flags), keep_older=config.keep_older)
    if config.documents:
        of_documents = DocumentsOptions(
            sentences=of_pairs.sentences, entities=of_pairs.entities, output=f"{config.output}/documents"
        )
        documents.run(of_documents, next(flags), keep_older=config.keep_older)
    check = ["wikianchor", "verify", config.output, f"--against={config.dumps}"]
    commands = [check, train_ease(of_pairs.output)]
    return Made(finished_datasets(config.output), config.output, start, engine, commands)


def stage_configs(config: BuildOptions, dumps: Dumps) -> tuple[list[SentencesOptions], EntitiesOptions, PairsOptions]:
    """Return what each stage of a build is asked for: `sentences` of each wiki, `entities` and `pairs`."""
    wikis, output = tuple(dumps.pages), config.output
    of_sentences = [
        SentencesOptions(
            dumps=paths,
            output=f"{output}/sentences/{wiki}",
            **values_of(Reading, config)
            | values_of(Documents, config)
            | {"previous": earlier_sentences(config.previous, wiki)},
        )
        for wiki, paths in dumps.pages.items()
    ]
    labels = config.labels or tuple(dict.fromkeys(("en", *map(language_of_wiki, wikis), "mul")))
    of_entities = EntitiesOptions(
        wikidata=dumps.wikidata,
        page_props=dumps.page_props,
        wikis=tuple(dict.fromkeys((*wikis, *config.choices.other_wikis))),
        output=f"{output}/entities",
        **values_of(Truncated, config) | values_of(EntityTexts, config) | {"labels": labels},
    )
    directories = ",".join(f"{output}/sentences/{wiki}" for wiki in wikis)
    of_pairs = PairsOptions(
        sentences=directories, entities=f"{output}/entities", output=f"{output}/pairs", choices=config.choices
    )
    return of_sentences, of_entities, of_pairs


def earlier_sentences(previous: str | None, wiki: str) -> str | None:
    """Return the directory of the sentences of a wiki in an earlier build, None where that has no such wiki.

    Raises:
        UsageError: the directory contains no build.
    """
    if previous is None:
        return None
    datasets = [dataset for dataset in find_datasets(previous) if dataset.name == "sentences"]
    directories = {wiki_of(dataset): dataset.directory for dataset in datasets}
    if not directories:
        raise UsageError(f"--previous={previous} holds no sentences: give the --output of an earlier build")
    if wiki not in directories:
        logging.getLogger("wikianchor").info("%s: not in --previous, so all of it is read", wiki)
    return directories.get(wiki)
