"""The command line of `wikianchor pairs`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from wikianchor.io.errors import UsageError


@dataclass(frozen=True)
class Choices:
    """What decides which pairs come out. Attributes: see the flags of the same names.

    Three presets stand ready. `default` is ours. `paper` is section 3 of EASE (Nishikawa et al., NAACL 2022): entities
    linked to more than ten times in the corpus, types from "instance of" alone, one of several at random, one negative
    from all entities of that type that the page does not link to, a million pairs of English (section 4.1; for 50,000
    of each language as in 5.1 add --sample=50000 --sample_per_wiki). `released` is what the code beside that paper
    does, build_dataset/ in its repository: entities have a page in English Wikipedia and are counted there, types are
    P31 of any rank, an entity keeps one type and ten candidates for the whole corpus, at most 10,000 pairs are of one
    entity, then a million are sampled, each language by itself.

    Both are silent on the page's own entity, on humans, on types of few entities and on duplicates, so what we do about
    these is off in them. What no flag turns off: links by way of a redirect to a section, links of a page to itself,
    and disambiguation pages, lists and the like as entities are left out.
    """

    min_links: int = 10
    floor: str = "corpus"
    negatives: int = 1
    candidates: int = 0
    types: str = "best_rank"
    refine_humans: int = 1000
    back_off: bool = True
    own_page_negatives: bool = False
    section_links: bool = False
    required_wiki: str = ""
    duplicates: bool = False
    max_per_entity: int = 0
    sample: int = 0
    sample_per_wiki: bool = False
    seed: int = 42


PRESETS: Mapping[str, Choices] = {
    "default": Choices(),
    "paper": Choices(
        types="instance_of",
        refine_humans=0,
        back_off=False,
        own_page_negatives=True,
        duplicates=True,
        sample=1_000_000,
    ),
    "released": Choices(
        floor="enwiki",
        candidates=10,
        types="any_rank",
        refine_humans=0,
        back_off=False,
        own_page_negatives=True,
        required_wiki="enwiki",
        duplicates=True,
        max_per_entity=10_000,
        sample=1_000_000,
        sample_per_wiki=True,
    ),
}


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    sentences: str
    entities: str
    output: str
    choices: Choices = Choices()
    rows_per_shard: int = 250_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--sentences",
        required=True,
        metavar="DIRS",
        help="datasets of `wikianchor sentences`: directories, globs, or the directory that holds them",
    )
    parser.add_argument("--entities", required=True, metavar="DIR", help="dataset of `wikianchor entities`")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dataset")
    add_choices(parser)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that decide which pairs come out; `build` has them too."""
    add = parser.add_argument_group("which pairs come out").add_argument
    add(
        "--preset",
        choices=sorted(PRESETS),
        default="default",
        help="start from our choices, those of the EASE paper (for several languages add --sample=50000 "
        "--sample_per_wiki), or those of its released code (needs enwiki among the wikis)",
    )
    add("--min_links", type=int, metavar="N", help="keep entities linked to more often than N times (10)")
    add(
        "--floor",
        metavar="SCOPE",
        help="where links are counted for that: corpus (all wikis given), wiki (each by itself), or one such as enwiki",
    )
    add("--negatives", type=int, metavar="K", help="hard negatives for each pair (1); with 0, entities need no type")
    add(
        "--candidates",
        type=int,
        metavar="N",
        help="draw negatives from N entities fixed for each entity; 0: from its whole type (0)",
    )
    add(
        "--types",
        choices=("best_rank", "instance_of", "any_rank"),
        help="which Wikidata types count: P31 else P279, P31, or P31 of any rank",
    )
    add(
        "--refine_humans",
        type=int,
        metavar="N",
        help="where there are more than N humans, type them by occupation; 0: never (1000)",
    )
    add(
        "--back_off",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="go to the superclass of a type that has too few entities",
    )
    add(
        "--own_page_negatives",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="let the page's own entity be a negative",
    )
    add(
        "--section_links",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="take a link to a section for a link to its page",
    )
    add("--required_wiki", metavar="WIKI", help="keep entities that have a page in this wiki")
    add(
        "--duplicates",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="keep pairs of one entity and one sentence, numbers aside, that a wiki has several times",
    )
    add("--max_per_entity", type=int, metavar="N", help="at most N pairs of one entity; 0: any number (0)")
    add("--sample", type=int, metavar="N", help="exactly N pairs, or all where there are fewer; 0: all (0)")
    add(
        "--sample_per_wiki",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="take the sample from each wiki, and count --max_per_entity in each",
    )
    add("--seed", type=int, help="key of every choice (42)")


def choices_from(arguments: argparse.Namespace) -> Choices:
    """Read the flags: a preset, and what was said besides.

    Raises:
        UsageError: a number is out of range.
    """
    preset = PRESETS[arguments.preset]
    given = {name: getattr(arguments, name) for name in asdict(preset) if getattr(arguments, name) is not None}
    choices = replace(preset, **given)
    for name in ("min_links", "negatives", "candidates", "refine_humans", "max_per_entity", "sample"):
        if getattr(choices, name) < 0:
            raise UsageError(f"--{name}={getattr(choices, name)}: must not be negative")
    if choices.candidates and choices.candidates < choices.negatives:
        raise UsageError(f"--candidates={choices.candidates} is fewer than --negatives={choices.negatives}")
    return choices


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags."""
    return Config(arguments.sentences, arguments.entities, arguments.output, choices_from(arguments))
