"""Write the card of a dataset, the README.md that people, the Hub and `datasets.load_dataset` read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from wikianchor.io.hub import hub_languages
from wikianchor.io.markdown import markdown_table
from wikianchor.io.parsing import malformed
from wikianchor.pipelines.dataset.provenance import dumps_of, install_line
from wikianchor.pipelines.dataset.reasons import reason
from wikianchor.pipelines.dataset.split_configs import split_config, split_of
from wikianchor.schemas import mewsc16
from wikianchor.schemas.pairs import SPLITS

if TYPE_CHECKING:
    from jinja2 import Environment

ATTRIBUTION = (
    "Text is from Wikipedia, by its authors, under CC BY-SA 4.0 (older text also under the GFDL). A row's page and\n"
    "revision lead to them: `https://<host of the wiki>/w/index.php?oldid=<rev_id>`. It was taken out of its markup\n"
    "and cut into sentences."
)
CC0 = "Facts are from Wikidata, under CC0."
GIVEN = (
    "Text is that of the files named in `manifest.json`, and under their licence. Sentences with other nouns are made "
    "up by a T5."
)
_LICENCES = {
    **dict.fromkeys(("entities", "interlanguage"), (("cc0-1.0",), CC0)),
    **dict.fromkeys(("corpus", "negatives"), (("other",), GIVEN)),
}
# The licences of mewsc16 that the Hub has a name for. In the head of the card the others are "other"; rows have their
# own.
HUB_LICENCES = frozenset(("cc-by-2.5", "cc-by-4.0", "cc-by-sa-4.0", "gfdl"))


def licences(name: str) -> tuple[str, ...]:
    """Return the licences of a dataset's rows, by the Hub's names."""
    return _LICENCES.get(name, (("cc-by-sa-4.0",), ""))[0]


# Where a ledger has its counts by wiki.
_BY_WIKI = {
    **dict.fromkeys(("pairs", "mentions", "documents", "linking", "retrieval"), "links"),
    **dict.fromkeys(("export", "interlanguage"), "rows"),
    "templates": "templates",
}
# What `wikianchor download` fetches for a dataset.
_TARGETS = {"sentences": "sentences", "templates": "sentences", "entities": "entities", "mewsc16": "mewsc16"}
# Papers that datasets follow, by the names of their citations in templates/citation.md.
_PAPERS = {"mentions": "m-boe", "interlanguage": "m-boe", "corpus": "sdjc", "negatives": "sdjc"}


def card(
    manifest: Mapping[str, Any],
    directory: str = "DIR",
    schemas: Mapping[str, pa.Schema] = MappingProxyType({}),
    rows: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the card as Markdown with its YAML head (https://huggingface.co/docs/hub/datasets-manual-configuration).

    Args:
        manifest: the manifest of the dataset; `languages` in it maps a language to the config that has its rows.
        directory: the directory in the examples, or a repository of the Hub, as user/name.
        schemas: the schema of each config, in the card of a release.
        rows: some rows of the main config, in the card of a release.

    Raises:
        InputError: the manifest, of someone else's dataset, has another form.
    """
    with malformed("manifest.json: has another form than a manifest of ours"):
        return _card(manifest, directory, schemas, rows)


def _card(
    manifest: Mapping[str, Any], directory: str, schemas: Mapping[str, pa.Schema], rows: Sequence[Mapping[str, Any]]
) -> str:
    name = manifest["dataset"]
    dumps, made_with = dumps_of(manifest), manifest.get("made_with", {})
    origin = {
        "directory": directory,
        "dumps": dumps,
        "paper": _PAPERS.get(name, "ease"),
        "download": _download(name, dumps),
        "made_with": made_with,
        "install": install_line(made_with),
    }
    if name == "mewsc16":
        return _mewsc16_card(manifest, origin)
    configs, languages = manifest["configs"], manifest.get("languages", {})
    directories = config_directories(manifest)
    return _render(
        "card.md",
        **origin,
        name=name,
        licences=licences(name),
        notice=_LICENCES.get(name, ((), ATTRIBUTION))[1],
        languages=languages,
        codes=hub_languages(languages),
        configs=configs,
        options=manifest.get("options", {}),
        directories=directories,
        files_of_splits=files_of_splits(manifest),
        endings={config: _ending(manifest, directories[config]) for config in directories},
        size_category=_size_category(configs.get(name, {"rows": 0})["rows"]),
        files=f"hf://datasets/{directory}" if re.fullmatch(r"[\w.-]+/[\w.-]+", directory) else directory,
        example=next(iter((*languages, *directories)), ""),
        # The configs of languages have the columns of the main one.
        columns={
            config: _columns(schemas[config]) for config in directories if config in schemas and config not in languages
        },
        rows=[json.dumps(row, ensure_ascii=False, indent=1, default=str) for row in rows],
        statistics=_statistics(manifest),
    )


def _columns(schema: pa.Schema) -> str:
    rows = [
        [
            f"`{column.name}`",
            _LIST.sub(r"list of \1", str(column.type)),
            (column.metadata or {}).get(b"description", b"").decode(),
        ]
        for column in schema
    ]
    return markdown_table(["column", "type", "meaning"], rows, numbers=False)


# A list type in the words of Arrow.
_LIST = re.compile(r"list<element: (\w+).*>")


def _statistics(manifest: Mapping[str, Any]) -> str:
    """Return a table with the counts of each wiki, "" for a dataset that has none."""
    name, ledger = manifest["dataset"], manifest.get("ledger", {})
    if name == "sentences":
        counts = {
            wiki: {kind: _numbers(of_wiki.get(kind)).get(bucket, 0) for kind, bucket in _KEPT}
            for wiki, of_wiki in ledger.items()
        }
    elif name == "entities":
        counts = {wiki: {"pages with an item": number} for wiki, number in _numbers(ledger.get("sitelinks")).items()}
    else:
        counts = {wiki: _numbers(of_wiki) for wiki, of_wiki in ledger.get(_BY_WIKI.get(name, ""), {}).items()}
    names = list(dict.fromkeys(bucket for of_wiki in counts.values() for bucket in sorted(of_wiki, key=_rank)))
    if not names:
        return ""
    rows = [[wiki, *(f"{of_wiki.get(bucket, 0):,}" for bucket in names)] for wiki, of_wiki in sorted(counts.items())]
    meanings = [f"- `{bucket}`: {meaning}" for bucket in names if (meaning := reason(bucket)) and bucket != "kept"]
    return "\n".join([markdown_table(["wiki", *names], rows), *(["", *meanings] if meanings else [])])


def _numbers(counts: object) -> dict[str, int]:
    """Return the counts of a ledger that are numbers: someone else's may have others."""
    return (
        {key: number for key, number in counts.items() if isinstance(number, int)} if isinstance(counts, dict) else {}
    )


_KEPT = (("pages", "articles"), ("sentences", "kept"), ("links", "kept"))


def _rank(bucket: str) -> tuple[bool, bool, str]:
    """Return a sort key: what was seen, what was kept, then the reasons."""
    return bucket != "seen", bucket != "kept", bucket


def _download(name: str, dumps: Sequence[Mapping[str, Any]]) -> str:
    """Return the command that fetches the dumps, "" where their names do not say which ones they are."""
    wikis = {str(dump["path"]).partition("-")[0] for dump in dumps if ".xml" in dump["path"]} or {
        str(dump["path"]).partition("-")[0] for dump in dumps if ".sql" in dump["path"]
    }
    dates = {dump["date"] for dump in dumps if ".xml" in dump["path"]} or {dump["date"] for dump in dumps}
    if not wikis or len(dates) != 1 or "" in dates:
        return ""
    target = _TARGETS.get(name, "pairs")
    return f"wikianchor download --for={target} --wikis={','.join(sorted(wikis))} --date={min(dates)} --output=dumps"


def _mewsc16_card(manifest: Mapping[str, Any], origin: Mapping[str, Any]) -> str:
    names = {name for counts in manifest["ledger"].values() for name in counts.get("licences", {})}
    return _render(
        "mewsc16.md",
        **{**manifest, **origin, "configs": dict(sorted(manifest["configs"].items()))},
        licences=sorted({name if name in HUB_LICENCES else "other" for name in names}),
        schema=mewsc16.SCHEMA,
        topics=mewsc16.TOPICS,
    )


def _render(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(values)


@cache
def _templates() -> Environment:
    # Deferred import: Jinja2 takes 35 ms, and a card is written at the end of a run.
    from jinja2 import ChainableUndefined, Environment, PackageLoader

    loader = PackageLoader("wikianchor.pipelines.dataset")
    # Markdown is not escaped.
    return Environment(
        loader=loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=ChainableUndefined
    )


def config_directories(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the directory of each config, the main config first; each language is a config too. A split of a config is
    left out: see `files_of_splits`."""
    name = manifest["dataset"]
    configs = sorted(
        {split_of(config)[0] for config in manifest["configs"]}, key=lambda config: (config != name, config)
    )
    languages = {language: f"data/{config}" for language, config in manifest.get("languages", {}).items()}
    return {config: f"data/{config}" for config in configs} | languages


def files_of_splits(manifest: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the glob of the files of each split of each config of `config_directories`, as the Hub wants them."""
    return {
        config: {
            split: f"{split_config(directory, split)}/{split}-*.{_ending(manifest, split_config(directory, split))}"
            for split in SPLITS
            if split == SPLITS[0] or split_config(directory.removeprefix("data/"), split) in manifest["configs"]
        }
        for config, directory in config_directories(manifest).items()
    }


def _ending(manifest: Mapping[str, Any], directory: str) -> str:
    """Return the ending of the files of a config, given its directory: parquet, jsonl.gz or csv.gz."""
    shards = manifest["configs"].get(directory.rpartition("/")[2], {"shards": []})["shards"]
    return next((shard["path"].rpartition("/")[2].partition(".")[2] for shard in shards), "parquet")


def _size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows."""
    names = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")
    return names[min(len(names) - 1, max(0, len(str(rows)) - 3))]
