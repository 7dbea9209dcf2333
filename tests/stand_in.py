"""Stand-ins for what the stages read: datasets written by hand, and a Wikidata for real slices of Wikipedia."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from wikianchor.io.rules import stage_digest
from wikianchor.pipelines.arrays.hashing import hash_string, mix
from wikianchor.pipelines.dataset.manifest import commit
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import open_datasets, read_batches
from wikianchor.pipelines.dataset.workspace import UNFINISHED, Workspace, workspace_of
from wikianchor.pipelines.pairs import graph as pairs
from wikianchor.pipelines.pairs.options import PairChoices, PairsOptions
from wikianchor.schemas import documents as documents_schema
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import sentences as sentences_schema
from wikianchor.schemas import titles as titles_schema

_LINK = re.compile(r"\[\[([^\]|#]+)(?:#([^\]|]*))?(?:\|([^\]]*))?\]\]")


@dataclass(frozen=True)
class Page:
    """A page as a test writes it. Sentences and fragments hold links as [[Target#fragment|label]]; `links` are
    those elsewhere. Fragments are list items, or cells of tables if they begin with "| "."""

    title: str
    sentences: Sequence[str] = ()
    links: Sequence[str] = ()
    flags: Sequence[str] = ()
    redirect: str | None = None
    fragment: str = ""
    page_id: int = 0
    fragments: Sequence[str] = ()


@dataclass(frozen=True)
class Item:
    """A Wikidata item as a test writes it; `sitelinks` are titles by wiki."""

    qid: int
    types: Sequence[int] = ()
    sitelinks: Mapping[str, str] = field(default_factory=dict)
    route: str = "instance_of"
    any_rank: Sequence[int] | None = None
    superclasses: Sequence[int] = ()
    occupations: Sequence[int] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    aliases: Sequence[tuple[str, str]] = ()


def read_sentence(marked: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a sentence and its links, as in the dataset."""
    text, links, at = "", [], 0
    for match in _LINK.finditer(marked):
        text += marked[at : match.start()]
        label = match[3] or match[1]
        links.append(
            {"start": len(text), "end": len(text) + len(label), "target": match[1], "fragment": match[2] or ""}
        )
        text += label
        at = match.end()
    return text + marked[at:], links


def sentence_rows(wiki: str, pages: Iterable[Page]) -> list[dict[str, Any]]:
    """Return rows of `sentences`. Pages without an id get their place."""
    return [
        {
            "wiki": wiki,
            "page_id": page.page_id or position,
            "rev_id": 1000 + (page.page_id or position),
            "title": page.title,
            "region": "lead",
            "sentence_index": number,
            "text": read_sentence(marked)[0],
            "links": read_sentence(marked)[1],
        }
        for position, page in enumerate(pages, 1)
        for number, marked in enumerate(page.sentences)
    ]


def fragment_rows(wiki: str, pages: Iterable[Page]) -> list[dict[str, Any]]:
    """Return rows of `fragments`; pages have ids."""
    rows = sentence_rows(wiki, [replace(page, sentences=page.fragments) for page in pages])
    return [
        {
            **row,
            "region": "table" if row["text"].startswith("| ") else "list",
            "sentence_index": 1000 + row["sentence_index"],
        }
        for row in rows
    ]


def title_rows(wiki: str, pages: Iterable[Page]) -> list[dict[str, Any]]:
    """Return rows of `titles`."""
    return [
        {
            "wiki": wiki,
            "title": page.title,
            "page_id": page.page_id or position,
            "rev_id": 1000 + (page.page_id or position),
            "redirect": page.redirect,
            "redirect_fragment": None if page.redirect is None else page.fragment,
            "flags": list(page.flags),
            "links": sorted(
                {link["target"] for marked in (*page.sentences, *page.fragments) for link in read_sentence(marked)[1]}
                | set(page.links)
            ),
        }
        for position, page in enumerate(pages, 1)
    ]


def write_dataset(
    directory: Path,
    name: str,
    options: Mapping[str, Any],
    configs: Mapping[str, tuple[pa.Schema, Sequence[list[dict[str, Any]]]]],
    version: str = "1.0",
) -> Path:
    """Write a finished dataset: for each config its schema, and rows for each of its shards."""
    parts = []
    for config, (schema, shards) in configs.items():
        for order, rows in enumerate(shards):
            with PartWriter(work_of(directory).parts, config, order, schema) as writer:
                writer.write(pa.Table.from_pylist(rows, schema))
            parts += [writer.part] if writer.part else []
    head = {"dataset": name, "schema_version": version, "inputs": [], "options": dict(options)}
    made_with = {"rules": stage_digest(name)}
    commit(str(directory), work_of(directory).parts, parts, {**head, "made_with": made_with, "ledger": {}})
    shutil.rmtree(directory / UNFINISHED)
    return directory


def work_of(directory: Path | str) -> Workspace:
    """Return where a run works that is to write a dataset, shuffling by files."""
    return workspace_of(str(directory), "test", "files")


def write_sentences(
    directory: Path, wiki: str, pages: Sequence[Page], shards: int = 1, documents: Sequence[dict[str, Any]] = ()
) -> Path:
    """Write `sentences` and `titles` of a wiki, cut into shards at pages, and rows of `documents` if there are any."""
    pages = [Page(**{**page.__dict__, "page_id": page.page_id or position}) for position, page in enumerate(pages, 1)]
    size = -(-len(pages) // shards)
    cuts = [pages[first : first + size] for first in range(0, len(pages), size)]
    return write_dataset(
        directory,
        "sentences",
        {"wiki": wiki, "language": wiki.removesuffix("wiki"), "splitter": "rules"},
        {
            "sentences": (sentences_schema.SCHEMA, [sentence_rows(wiki, cut) for cut in cuts]),
            "fragments": (sentences_schema.FRAGMENTS, [fragment_rows(wiki, cut) for cut in cuts]),
            "titles": (titles_schema.SCHEMA, [title_rows(wiki, cut) for cut in cuts]),
            **({"documents": (documents_schema.SCHEMA, [list(documents)])} if documents else {}),
        },
    )


def text_rows(texts: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return labels, descriptions or aliases as in the dataset."""
    return [{"language": language, "text": text} for language, text in texts]


def write_entities(
    directory: Path,
    wikis: Sequence[str],
    items: Sequence[Item],
    page_props: Mapping[str, Mapping[int, int]] | None = None,
    labels: Sequence[str] = ("en",),
    texts: Sequence[str] = ("labels",),
) -> Path:
    """Write `entities` and `sitelinks`; `page_props` are items by page id, by wiki."""
    rows = [
        {
            "qid": item.qid,
            "types": list(item.types),
            "type_route": item.route if item.types else "none",
            "any_rank_types": list(item.types if item.any_rank is None else item.any_rank),
            "superclasses": list(item.superclasses),
            "occupations": list(item.occupations),
            "labels": text_rows(item.labels.items()),
            "lastrevid": 1,
            "descriptions": text_rows(item.descriptions.items()) if "descriptions" in texts else None,
            "aliases": text_rows(item.aliases) if "aliases" in texts else None,
        }
        for item in items
    ]
    sitelinks = [
        {"wiki": wiki, "qid": item.qid, "title": item.sitelinks[wiki], "page_id": None, "source": "wikidata"}
        for wiki in wikis
        for item in items
        if wiki in item.sitelinks
    ]
    sitelinks += [
        {"wiki": wiki, "qid": qid, "title": None, "page_id": page_id, "source": "page_props"}
        for wiki, result in (page_props or {}).items()
        for page_id, qid in result.items()
    ]
    return write_dataset(
        directory,
        "entities",
        {"wikis": sorted(wikis), "labels": list(labels), "texts": list(texts)},
        {
            "entities": (entities_schema.SCHEMA, [rows]),
            "sitelinks": (entities_schema.SITELINKS, [sitelinks]),
        },
    )


def run_pairs(
    sentences: Sequence[Path],
    entities: Path,
    output: Path,
    flags: Sequence[str] = (),
    rows_per_shard: int = 250_000,
    **choices: Any,
) -> dict[str, Any]:
    """Run `pairs` and return its manifest. Entities need one link where nothing else is said."""
    config = PairsOptions(
        sentences=",".join(map(str, sentences)),
        entities=str(entities),
        output=str(output),
        choices=PairChoices(**{"min_links": 0, **choices}),
        rows_per_shard=rows_per_shard,
    )
    return pairs.run(config, list(flags))


def read_rows(directory: Path, config: str) -> list[dict[str, Any]]:
    """Return all rows of a config, shard by shard."""
    shards = sorted((directory / "data" / config).glob("*.parquet"))
    return [row for shard in shards for row in pq.read_table(shard).to_pylist()]


def digests(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the checksums of a dataset's shards by config."""
    return {name: [shard["sha256"] for shard in result["shards"]] for name, result in manifest["configs"].items()}


def small_wiki(pages: int = 40, types: int = 3, wiki: str = "enwiki") -> tuple[list[Page], list[Item]]:
    """Return pages that link to each other, each about an item of one of a few types, and these items. Some are
    linked often, and sentences come again."""
    titles = [f"{wiki} thing {number}" for number in range(pages)]
    result = []
    for number, title in enumerate(titles):
        draw = mix(7, [hash_string(title)] * 12, range(12)) % pages  # type: ignore[arg-type]
        targets = [titles[int(position) ** 2 // pages] for position in draw]
        sentences = [
            f"A [[{first}]] of {number} was {kind} [[{second}|seen]] by day."
            for kind, first, second in zip("abcdef", targets[:6], targets[6:], strict=True)
        ]
        result.append(Page(title, [*sentences, f"In [[{titles[0]}]] there are {number} trees."]))
    items = [
        Item(1000 + number, [100 + number % types], {wiki: title}, labels={"en": title.upper()})
        for number, title in enumerate(titles)
    ]
    return result, items


TYPES = (5, 515, 11424, 16521, 6256, 4830453, 523, 101352)


def wikidata_for(sentences: Sequence[Path], path: Path) -> Path:
    """Write a Wikidata dump with an item for each article and each link target of datasets of sentences.

    One title in two wikis is one item; its types are chosen by a hash of the title, the first type most often. One in
    twelve is a class and has superclasses only, one in twelve has no type; humans have occupations.
    """
    sitelinks: dict[str, dict[str, str]] = {}
    for dataset in open_datasets(",".join(map(str, sentences)), "sentences", sentences_schema.VERSION, "sentences"):
        wiki = dataset.manifest["options"]["wiki"]
        redirects: set[str] = set()
        titles: set[str] = set()
        for shard in dataset.shards("titles"):
            for batch in read_batches(shard, ["title", "redirect", "links"]):
                for row in batch.to_pylist():
                    (titles if row["redirect"] is None else redirects).add(row["title"])
                    titles.update(row["links"])
        for title in titles - redirects:
            sitelinks.setdefault(title, {})[wiki] = title
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        lines = [_entity(number, title, sitelinks[title]) for number, title in enumerate(sorted(sitelinks), 1000)]
        file.write("[\n" + ",\n".join(lines) + "\n]\n")
    return path


def _entity(number: int, title: str, sitelinks: Mapping[str, str]) -> str:
    draw = hash_string(title)
    kind = draw % 12
    types = {TYPES[0 if draw >> 8 & 1 else (draw >> 16) % len(TYPES)], TYPES[(draw >> 24) % len(TYPES)]}
    claims: dict[str, Iterable[int]] = {}
    if kind == 0:
        claims["P279"] = types
    elif kind > 1:
        claims["P31"] = types
        if 5 in types:
            claims["P106"] = {30_000_000 + (draw >> 32) % 40}
    entity = {
        "type": "item",
        "id": f"Q{number}",
        "labels": {"en": {"language": "en", "value": title}},
        "claims": {name: [statement(name, value) for value in sorted(values)] for name, values in claims.items()},
        "sitelinks": {wiki: {"site": wiki, "title": name, "badges": []} for wiki, name in sitelinks.items()},
        "lastrevid": 1,
    }
    return json.dumps(entity, ensure_ascii=False)


def statement(name: str, value: int) -> dict[str, Any]:
    """Return a statement of a Wikidata item whose value is an item."""
    snak = {
        "snaktype": "value",
        "property": name,
        "datavalue": {
            "value": {"entity-type": "item", "numeric-id": value, "id": f"Q{value}"},
            "type": "wikibase-entityid",
        },
    }
    return {"mainsnak": snak, "type": "statement", "rank": "normal"}
