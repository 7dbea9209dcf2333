"""The options of `wikianchor pairs`, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Negatives, Output, Sample
from wikianchor.io.options import at_least, between, option, option_group
from wikianchor.pipelines.pairs.excluded_types import GROUPS, types_named
from wikianchor.pipelines.wikimedia.dump_names import files_named
from wikianchor.pipelines.wikimedia.options import Entities, Mentions, SectionLinks, Sentences, Split

# Defaults by preset. `default` is ours. `paper` is section 3 of EASE (Nishikawa et al., NAACL 2022): entities linked to
# more than ten times in the corpus, types from "instance of" alone, one of several at random, one negative from all
# entities of that type that the page does not link to, a million pairs of English (section 4.1; for 50,000 of each
# language as in 5.1 add --sample=50000 --sample_per_wiki). `released` is what the code beside that paper does,
# build_dataset/ in its repository: entities have a page in English Wikipedia and are counted there, types are P31 of
# any rank, an entity keeps one type and ten candidates for the whole corpus, at most 10,000 pairs are of one entity,
# then a million are sampled, each language by itself.
#
# Both are silent on the page's own entity, on humans, on types of few entities and on duplicates, so what we do about
# these is off in them. Three rules have no flag: links by way of a redirect to a section, links of a page to itself,
# and disambiguation pages, lists and the like as entities are left out.
_PUBLISHED = {
    **{"refine_humans": 0, "back_off": False, "own_page_negatives": True, "duplicates": True, "sample": 1_000_000},
    **{"exclude_types": (), "named_negatives": True, "pageless_negatives": True, "max_repeats": 0},
    # Of `build`.
    "splitter": "polyglot",
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {**_PUBLISHED, "types": "instance_of"},
    "released": {
        **_PUBLISHED,
        **{"floor": "enwiki", "required_wiki": "enwiki", "types": "any_rank", "candidates": 10},
        **{"max_per_entity": 10_000, "sample_per_wiki": True},
    },
}


@dataclass(frozen=True, kw_only=True)
class PairChoices(Split, SectionLinks, Negatives, Sample):
    """Options that decide which pairs come out; `build` has them too."""

    preset: str = option(
        "default",
        presets=PRESETS,
        help="start from our choices, those of the EASE paper (for several languages add --sample=50000 "
        "--sample_per_wiki), or those of its released code (needs enwiki among the wikis); --preset=NAME --help shows "
        "its defaults",
        recorded=False,
    )
    min_links: int = option(10, help="keep entities linked to more often than N times", check=at_least(0))
    floor: str = option(
        "corpus",
        metavar="SCOPE",
        help="where links are counted for that: corpus (all wikis given), wiki (each by itself), or one such as enwiki",
    )
    candidates: int = option(
        0,
        help="draw negatives from N entities fixed for each entity; 0: from its whole type",
        check=between(0, 100_000),
    )
    types: str = option(
        "best_rank",
        choices=("best_rank", "instance_of", "any_rank"),
        help="which Wikidata types count: P31 else P279, P31, or P31 of any rank",
    )
    refine_humans: int = option(
        1000, help="where there are more than N humans, type them by occupation; 0: never", check=at_least(0)
    )
    exclude_types: tuple[str, ...] = option(
        tuple(GROUPS),
        metavar="TYPES",
        help="leave out entities of these Wikidata types and their subclasses, as negatives too: "
        f"{', '.join(GROUPS)}, items such as Q101352 (family name), or none",
        parse=types_named,
        unset="none",
    )
    back_off: bool = option(default=True, help="go to the superclass of a type that has too few entities")
    own_page_negatives: bool = option(default=False, help="let the page's own entity be a negative")
    named_negatives: bool = option(
        default=False, help="let an entity be a negative whose title, redirect or label is in the text of the page"
    )
    pageless_negatives: bool = option(
        default=False,
        help="draw negatives from entities of all wikis alike; else from those with a page in the row's wiki, where "
        "there are any",
    )
    required_wiki: str = option("", metavar="WIKI", help="keep entities that have a page in this wiki", unset="any")
    duplicates: bool = option(
        default=False, help="keep pairs of one entity and one sentence, numbers aside, that a wiki has several times"
    )
    max_near_duplicates: int = option(
        0,
        help="at most N sentences of a wiki that differ only in links, their page's title and digits; 0: any number",
        check=at_least(0),
    )
    max_repeats: int = option(
        5, help="at most N sentences of all wikis that differ only in digits; 0: any number", check=at_least(0)
    )
    exclude_text: tuple[str, ...] = option(
        (),
        metavar="FILES",
        help="leave out sentences that share eight words in a row with a text of these files, such as evaluation sets: "
        ".txt or .tsv, .csv, .jsonl, .parquet",
        parse=files_named,
        recorded=False,
    )
    max_per_entity: int = option(0, help="at most N pairs of one entity; 0: any number", check=at_least(0))
    sample_per_wiki: bool = option(
        default=False, help="take the sample from each wiki, and count --max_per_entity in each"
    )

    @property
    def other_wikis(self) -> tuple[str, ...]:
        """Wikis whose sitelinks are needed, though their sentences are not."""
        return (self.required_wiki,) if self.required_wiki else ()

    def completed(self) -> PairChoices:
        """Check that the options go together.

        Raises:
            UsageError: they do not.
        """
        if self.candidates and self.candidates < self.negatives:
            raise UsageError(f"--candidates={self.candidates} is fewer than --negatives={self.negatives}")
        return self


@dataclass(frozen=True, kw_only=True)
class PairsOptions(Mentions, Output, Entities, Sentences):
    """Options of the stage `pairs`."""

    FIRST: ClassVar[tuple[str, ...]] = ("sentences", "entities", "output", "sample", "negatives")
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "mentions": {
            "help": "datasets of `wikianchor mentions`: their names of entities count too where a page must not name a "
            "negative"
        }
    }

    mentions: str = ""
    choices: PairChoices = option_group(PairChoices, "which pairs come out")
    rows_per_shard: int = 250_000
