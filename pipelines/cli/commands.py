"""The commands of the pipelines, and the parsers of their options."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType

from wikianchor.io.config_file import add_config
from wikianchor.io.flags import FlagParser, HelpFormatter
from wikianchor.io.option_groups import Details, Printing
from wikianchor.io.options import Option, add_options, declared
from wikianchor.pipelines.engine.flags import engine_help


@dataclass(frozen=True)
class Command:
    """A command of the pipelines.

    Attributes:
        package: its folder, below `wikianchor.pipelines`; the module `options` there declares the options. What runs is
            `graph` for a dataset, else `command`, imported when it runs.
        options_class: the dataclass of the options.
        summary: what --help shows.
        example: a command line.
        is_pipeline: whether it runs Beam, so that flags may go to Beam.
        makes_dataset: whether it makes a dataset.
        printing: the options of what it prints, None where it has none.
    """

    package: str
    options_class: str
    summary: str
    example: str
    is_pipeline: bool = False
    makes_dataset: bool = False
    printing: type[Printing] | None = None

    @property
    def options(self) -> type:
        """The dataclass that declares the options."""
        return getattr(self._module("options"), self.options_class)

    @property
    def declared(self) -> list[Option]:
        """Its options, with those of what it prints."""
        return [option for cls in (self.options, self.printing) if cls for option in declared(cls)]

    @property
    def description(self) -> str:
        """What --help shows above the options."""
        return getattr(self._module("options"), "DESCRIPTION", self.summary)

    @property
    def epilog(self) -> str:
        """What --help shows below the options."""
        examples = getattr(self._module("options"), "EXAMPLES", f"example: {self.example}")
        return f"{examples}\n\n{engine_help()}" if self.is_pipeline else examples

    @property
    def code(self) -> ModuleType:
        """The module whose `run` is the command."""
        return self._module("graph" if self.makes_dataset else "command")

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"wikianchor.pipelines.{self.package}.{name}")


def dataset(package: str, options_class: str, summary: str, example: str) -> Command:
    """Return a command that makes a dataset with Beam."""
    return Command(package, options_class, summary, example, is_pipeline=True, makes_dataset=True, printing=Details)


COMMANDS = {
    "demo": Command(
        "commands.demo",
        "DemoOptions",
        "a sample of three wikis -> training pairs, without a network",
        "wikianchor demo --data=demo --output=out/demo",
        printing=Details,
    ),
    "download": Command(
        "commands.download",
        "DownloadOptions",
        "fetch the dumps that a target needs from dumps.wikimedia.org, and verify them",
        "wikianchor download --for=pairs --wikis=uk --output=dumps/ --contact=you@example.org",
    ),
    "update": Command(
        "commands.update",
        "UpdateOptions",
        "a dump + Wikimedia's daily adds-changes dumps -> the dump of the last of these days",
        "wikianchor update --dumps='dumps/enwiki-20260101-*.xml.bz2' --changes='incr/*-pages-meta-hist-incr.xml.bz2' "
        "--output=dumps/enwiki-20260105-pages-articles-multistream.xml.bz2",
    ),
    "build": Command(
        "commands.build",
        "BuildOptions",
        "dumps -> training pairs: runs sentences, entities and pairs, and skips finished stages",
        "wikianchor build --dumps=dumps/ --wikis=enwiki,jawiki --output=out/",
        is_pipeline=True,
        printing=Details,
    ),
    "sentences": dataset(
        "sentences",
        "SentencesOptions",
        "a Wikipedia dump -> sentences with their links, and titles",
        "wikianchor sentences --dumps='dumps/jawiki-*-pages-articles*.xml.bz2' --output=out/sentences/jawiki",
    ),
    "templates": dataset(
        "templates",
        "TemplatesOptions",
        "a Wikipedia dump -> what its templates show, by the wiki's own definitions",
        "wikianchor templates --dumps='dumps/jawiki-*-pages-articles*.xml.bz2' --output=out/templates/jawiki",
    ),
    "entities": dataset(
        "entities",
        "EntitiesOptions",
        "Wikidata -> entities with their types, and sitelinks",
        "wikianchor entities --wikidata='dumps/wikidata-*.json.gz' --wikis=enwiki,jawiki --output=out/entities",
    ),
    "pairs": dataset(
        "pairs",
        "PairsOptions",
        "sentences + entities -> (sentence, entity, hard negatives)",
        "wikianchor pairs --sentences=out/sentences --entities=out/entities --output=out/pairs --sample=10000",
    ),
    "export": dataset(
        "export",
        "ExportOptions",
        "pairs -> (anchor, positive, negatives) as text, for sentence-transformers",
        "wikianchor export --pairs=out/pairs --output=out/train",
    ),
    "mentions": dataset(
        "mentions",
        "MentionsOptions",
        "sentences + entities -> names with the items they stand for, and counts",
        "wikianchor mentions --sentences=out/sentences --entities=out/entities --output=out/mentions",
    ),
    "documents": dataset(
        "documents",
        "DocumentsOptions",
        "sentences with --documents + entities -> documents with the items of their pages and links",
        "wikianchor documents --sentences=out/sentences --entities=out/entities --output=out/documents",
    ),
    "linking": dataset(
        "linking",
        "LinkingOptions",
        "documents + mentions + entities -> mentions with contexts and candidates, and a knowledge base, to link items",
        "wikianchor linking --documents=out/documents --mentions=out/mentions --entities=out/entities "
        "--output=out/linking",
    ),
    "retrieval": dataset(
        "retrieval",
        "RetrievalOptions",
        "documents + mentions + entities -> sentences with a masked name, and passages of the page to find, to score "
        "retrieval",
        "wikianchor retrieval --documents=out/documents --mentions=out/mentions --entities=out/entities "
        "--previous=old/documents --output=out/retrieval",
    ),
    "interlanguage": dataset(
        "interlanguage",
        "InterlanguageOptions",
        "entities -> which page an item has in which wiki",
        "wikianchor interlanguage --entities=out/entities --sentences=out/sentences --output=out/links",
    ),
    "corpus": dataset(
        "japanese.corpus",
        "CorpusOptions",
        "a Japanese domain text -> clean sentences, parsed once, with their noun spans",
        "wikianchor corpus --input=clinic.txt --output=out/corpus",
    ),
    "mewsc16": dataset(
        "mewsc16",
        "Mewsc16Options",
        "Wikinews dumps -> topic sentences in 13 classes, a set for clustering",
        "wikianchor mewsc16 --dumps='dumps/*wikinews-*-pages-articles.xml.bz2' --output=out/mewsc16",
    ),
    "topics": Command(
        "mewsc16.topics",
        "TopicsOptions",
        "Wikinews SQL tables -> the topic map of mewsc16, and how it differs from ours",
        "wikianchor topics --sql='dumps/*wikinews-*.sql.gz' --output=out/topics.json",
    ),
    "negatives": dataset(
        "japanese.negatives",
        "NegativesOptions",
        "a corpus + a T5 -> each sentence with sentences of other nouns",
        "wikianchor negatives --corpus=out/corpus --model=models/t5/model --output=out/negatives",
    ),
    "extract": Command(
        "commands.extract",
        "ExtractOptions",
        "wikitext of pages -> the text that a reader sees, its links and its sentences",
        "wikianchor extract --wikis=uk < pages.ndjson",
    ),
    "verify": Command(
        "commands.verify",
        "VerifyOptions",
        "check a dataset against its manifest and the dumps",
        "wikianchor verify out/ --against=dumps/ --rows=1000",
        printing=Printing,
    ),
    "publish": Command(
        "commands.publish",
        "PublishOptions",
        "send a dataset or a model with its card to the Hub or a bucket",
        "wikianchor publish out/pairs --to=hf://user/name --dry_run",
    ),
    "rebuild": Command(
        "commands.rebuild",
        "RebuildOptions",
        "make a published dataset again from its manifest and the dumps, and compare every byte",
        "wikianchor rebuild published/ --dumps=dumps/ --output=rebuilt/",
        is_pipeline=True,
    ),
    "release": Command(
        "commands.release",
        "ReleaseOptions",
        "dumps -> a published model with its scores in the card, by a recipe",
        "wikianchor release configs/release-ease-18.toml --output=out/release --to=hf://user/name --evaluation=eval/",
    ),
    "report": Command(
        "commands.report",
        "ReportOptions",
        "a summary of a dataset, on the terminal or as an HTML page",
        "wikianchor report out/ --html=report.html",
        printing=Printing,
    ),
    "items": Command(
        "commands.items",
        "ItemsOptions",
        "a stand-in for Wikidata's dump, from the titles and categories of small wikis",
        "wikianchor items --dumps=dumps/ --output=dumps/wikidata.json.gz",
    ),
    "doctor": Command(
        "commands.doctor",
        "DoctorOptions",
        "the state of this installation: engine, extras, cards, disk, stores",
        "wikianchor doctor",
        printing=Printing,
    ),
}


@dataclass(frozen=True)
class OtherCommand:
    """A command that `wikianchor.__main__` runs, named here for --help and suggestions.

    Attributes:
        summary: what --help shows.
        options_class: the path of the dataclass of its options below `wikianchor`; "" where an argument decides.
    """

    summary: str
    options_class: str

    @property
    def options(self) -> type:
        """The dataclass that declares the options."""
        module, _, name = self.options_class.rpartition(".")
        return getattr(importlib.import_module(f"wikianchor.{module}"), name)


# Commands of the trainer and `completion`.
TRAINER = {
    "train": OtherCommand(
        "a dataset -> a model: EASE, SimCSE, SDJC, T5, M-BoE (needs the extra train)",
        "",
    ),
    "evaluate": OtherCommand(
        "models -> their scores: STS, clustering, retrieval and more (needs the extras train and eval)",
        "trainer.evaluate.options.EvaluateOptions",
    ),
    "papers": OtherCommand(
        "the papers' tables (needs the extras train and eval)",
        "trainer.papers.options.TableOptions",
    ),
    "score": OtherCommand(
        "an export -> its cosines by a model; rows that agree with it, mined negatives (needs the extra train)",
        "trainer.score.options.ScoreOptions",
    ),
    "vectors": OtherCommand(
        "vectors of entities from files of wikipedia2vec and others, or from labels (needs the extra train)",
        "trainer.entity_vectors.options.EntityVectorsOptions",
    ),
    "onnx": OtherCommand(
        "a model -> a graph for ONNX Runtime with the same vectors (needs the extra onnx)",
        "trainer.onnx.options.OnnxOptions",
    ),
    "link": OtherCommand(
        "mentions of public sets + a dataset linking -> the items by prior and by models, scored",
        "trainer.linking.options.LinkOptions",
    ),
    "detect": OtherCommand(
        "documents -> the entities that they may speak of, by a dataset of mentions",
        "trainer.mboe.detect.DetectOptions",
    ),
    "mteb": OtherCommand(
        "MewsC-16 -> its statistics and the scores of models by mteb (needs the extra mteb)",
        "mteb.options.MtebOptions",
    ),
    "completion": OtherCommand(
        "a script that completes commands and options in bash or zsh",
        "completion.CompletionOptions",
    ),
}
# What --help shows of all of them.
SUMMARIES = {
    **{name: command.summary for name, command in COMMANDS.items()},
    **{name: command.summary for name, command in TRAINER.items()},
}


def command_parser(name: str) -> FlagParser:
    """Return the parser of a command's flags."""
    command = COMMANDS[name]
    parser = FlagParser(
        prog=f"wikianchor {name}",
        description=command.description,
        epilog=command.epilog,
        formatter_class=HelpFormatter,
        passes_on=command.is_pipeline,
    )
    add_options(parser, command.options)
    if command.printing:
        add_options(parser, command.printing)
    return add_config(parser, name)
