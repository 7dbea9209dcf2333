"""Read a dataset `linking`: the mentions that it holds out, candidates of names, and texts of items.

Only what the mentions at hand need is kept, so memory does not grow with the wiki.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

import wikianchor.schemas.linking as schema
from wikianchor.aliases.folding import fold, is_chinese, without_quotes
from wikianchor.io.errors import InputError
from wikianchor.io.manifests import reread
from wikianchor.io.parsing import malformed
from wikianchor.trainer.data.shards import list_shards, read_manifest, read_shard
from wikianchor.trainer.linking.mentions import Mention

# The held-out rows, else all.
HELD_OUT = ("linking_test", "linking_dev", "linking")
_COLUMNS = ("wiki", "page_id", "start", "left", "surface", "right", "target_wiki", "fragment", "qid", "held_out_rank")


class Name(NamedTuple):
    """The candidates of a name: its number of links, and the items with the shares of these that lead to them."""

    links: int
    candidates: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Linking:
    """A dataset `linking`.

    Attributes:
        path: its directory.
        manifest: the content of manifest.json.
        names: the wiki whose names are those of each wiki.
        wikis: the wiki of the names of each language, by the code of the language.
    """

    path: str
    manifest: dict[str, Any]
    names: Mapping[str, str]
    wikis: Mapping[str, str]

    def shards(self, config: str) -> list[str]:
        """Return the paths of the shards of a config; none where it has no row."""
        return list_shards(self.path, self.manifest, config)[0] if config in self.manifest["configs"] else []

    def batches(self, config: str, expected: pa.Schema, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of a config."""
        for shard in self.shards(config):
            yield from read_shard(shard, expected, list(columns))


@reread
def open_linking(path: str) -> Linking:
    """Check the manifest of a dataset of `wikianchor linking`.

    Raises:
        InputError: the directory holds no finished dataset `linking` of a supported version, or no Parquet.
    """
    manifest = read_manifest(path, {"linking": schema.VERSION})
    with malformed(f"{path}/manifest.json: says nothing of names and format"):
        names, form = dict(manifest["options"]["names"]), str(manifest["options"]["format"])
    if form != "parquet":
        raise InputError(f"{path}: holds files of the format {form}: build it again with --format=parquet")
    return Linking(path, manifest, names, {language_of(wiki): names[wiki] for wiki in sorted(names)})


def language_of(wiki: str) -> str:
    """Return the code of the language of a wiki.

    >>> language_of("zh_yuewiki"), language_of("enwikinews")
    ('zh-yue', 'en')
    """
    return wiki.partition("wiki")[0].replace("_", "-")


def held_out(linking: Linking, sample: int, seed: int) -> Iterator[Mention]:
    """Yield the rows that a dataset holds out, or all of them where it holds out none.

    Links to sections are left out, and those to wikis whose names the dataset does not have.

    Args:
        linking: the dataset.
        sample: number of rows that are chosen by a hash; 0 for all.
        seed: key of the hash.
    """
    config = next((name for name in HELD_OUT if linking.shards(name)), HELD_OUT[-1])
    rows = (row for batch in linking.batches(config, schema.SCHEMA, _COLUMNS) for row in batch.to_pylist())
    names = linking.names
    whole_pages = (row for row in rows if row["target_wiki"] == names[row["wiki"]] and not row["fragment"])

    def order(row: Mapping[str, Any]) -> bytes:
        position = f"{row['wiki']} {row['page_id']} {row['start']}".encode()
        return hashlib.blake2b(position, digest_size=8, key=str(seed).encode()).digest()

    for row in heapq.nsmallest(sample, whole_pages, order) if sample else whole_pages:
        context = {name: row[name] for name in ("left", "surface", "right", "qid")}
        yield Mention(
            source=config,
            language=language_of(row["wiki"]),
            **context,
            # The links of a Wikinews are in no count of a Wikipedia.
            is_counted=names[row["wiki"]] == row["wiki"],
            is_candidate=row["held_out_rank"] is not None,
        )


def key_of(mention: Mention) -> str:
    """Return the folded name of a mention, as `mentions` has it."""
    return fold(without_quotes(mention.surface), is_chinese(mention.language))


def read_names(linking: Linking, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], Name]:
    """Return the candidates of names, given as (wiki, folded name)."""
    keys, names = pa.array(sorted({key for _, key in wanted}), pa.string()), dict[tuple[str, str], Name]()
    for batch in linking.batches("names", schema.NAMES, ("wiki", "key", "name_links", "candidates")):
        for row in batch.filter(pc.is_in(batch["key"], value_set=keys)).to_pylist():
            if (row["wiki"], row["key"]) in wanted:
                candidates = tuple((candidate["qid"], candidate["prior"]) for candidate in row["candidates"])
                names[row["wiki"], row["key"]] = Name(row["name_links"], candidates)
    return names


def find_titles(linking: Linking, titles: Collection[str]) -> dict[str, int]:
    """Return the items of titles, given with their language before a colon; those that have none are left out."""
    items: dict[str, int] = {}
    for batch in linking.batches("items", schema.ITEMS, ("qid", "pages")) if titles else ():
        for row in batch.to_pylist():
            names = (f"{language_of(page['wiki'])}:{page['title']}" for page in row["pages"])
            items |= {name: row["qid"] for name in names if name in titles}
    return items


def read_texts(linking: Linking, qids: Iterable[int], language: str) -> dict[int, str]:
    """Return the title and the lead of items in a language, else in the first one that there is, else a label."""
    wanted, texts = pa.array(sorted(set(qids)), pa.int64()), dict[int, str]()
    for batch in linking.batches("items", schema.ITEMS, ("qid", "labels", "pages")):
        for row in batch.filter(pc.is_in(batch["qid"], value_set=wanted)).to_pylist():
            pages = sorted(row["pages"], key=lambda page: (language_of(page["wiki"]) != language, page["wiki"]))
            labels = [label["text"] for label in row["labels"]]
            texts[row["qid"]] = next((f"{page['title']}. {page['lead']}" for page in pages), next(iter(labels), ""))
    return texts
