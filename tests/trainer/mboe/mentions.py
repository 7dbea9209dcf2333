"""A small `mentions` dataset, laid out as `wikianchor mentions` does."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import wikianchor.schemas.entities
import wikianchor.schemas.mentions
from wikianchor.aliases.folding import fold

# Name, item, links with that name to the item, places where the name stands.
Name = tuple[str, int, int, int]


def write_mentions(
    directory: Path, names: Mapping[str, Iterable[Name]], version: str = wikianchor.schemas.mentions.VERSION
) -> Path:
    """Write a dataset; `names` by language."""
    rows: list[dict[str, Any]] = []
    for language, language_names in sorted(names.items()):
        by_name: dict[str, list[Name]] = defaultdict(list)
        for name in language_names:
            by_name[fold(name[0])].append(name)
        for key, members in sorted(by_name.items()):
            total = sum(links for _, _, links, _ in members)
            for surface, qid, links, occurrences in sorted(
                members, key=lambda name_counts: (-name_counts[2], name_counts[1])
            ):
                counts = {
                    "links": links,
                    "linked_documents": links,
                    "occurrences": occurrences,
                    "documents": occurrences,
                    "name_links": total,
                    "name_linked_documents": total,
                }
                row = {"wiki": f"{language}wiki", "surface": surface, "key": key, "qid": qid, "origins": ["anchor"]}
                rates = {"link_probability": total / max(1, occurrences), "commonness": links / max(1, total)}
                rows.append({**row, **counts, **rates})
    configs: dict[str, Any] = {}
    chosen = [row for row in rows if row["link_probability"] >= 0.01 and row["commonness"] >= 0.05]
    for config, schema, members in (
        ("mentions", wikianchor.schemas.mentions.SCHEMA, rows),
        ("candidates", wikianchor.schemas.mentions.CANDIDATES, chosen),
    ):
        path = directory / f"data/{config}/train-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = [{name: row[name] for name in schema.names} for row in members]
        pq.write_table(pa.Table.from_pylist(kept, schema), path)
        content = path.read_bytes()
        shard = {
            "path": str(path.relative_to(directory)),
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        configs[config] = {"rows": len(kept), "shards": [shard]}
    options = {
        "languages": {f"{language}wiki": language for language in names},
        "link_probability": 0.01,
        "commonness": 0.05,
    }
    head = {"dataset": "mentions", "schema_version": version, "inputs": [], "options": options}
    (directory / "manifest.json").write_text(json.dumps({**head, "configs": configs}))
    return directory


def write_interlanguage(directory: Path, wiki: str = "enwiki", items: int = 39) -> Path:
    """Write a dataset `interlanguage` of the items 1 to 39, whose titles are "Thing 1" and so on."""
    rows = [
        {"qid": qid, "wiki": wiki, "title": f"Thing {qid}", "page_id": qid, "redirect": False}
        for qid in range(1, items + 1)
    ]
    return write_titles(directory, "interlanguage", "interlanguage", rows, wikianchor.schemas.mentions.INTERLANGUAGE)


def write_sitelinks(directory: Path, wiki: str = "enwiki", items: int = 39) -> Path:
    """Write a dataset `entities` with nothing but such titles."""
    rows = [{"qid": qid, "wiki": wiki, "title": f"Thing {qid}", "source": "wikidata"} for qid in range(1, items + 1)]
    return write_titles(directory, "entities", "sitelinks", rows, wikianchor.schemas.entities.SITELINKS)


def write_titles(directory: Path, dataset: str, config: str, rows: list[dict[str, Any]], schema: pa.Schema) -> Path:
    """Write a dataset of one config and one shard."""
    path = directory / f"data/{config}/train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    content = path.read_bytes()
    shard = {
        "path": str(path.relative_to(directory)),
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    head = {"dataset": dataset, "schema_version": "1.0"}
    (directory / "manifest.json").write_text(
        json.dumps({**head, "configs": {config: {"rows": len(rows), "shards": [shard]}}})
    )
    return directory
