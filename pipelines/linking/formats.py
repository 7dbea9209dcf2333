"""Write rows of `linking` as other programs read them: lines of JSON in place of Parquet.

Each function takes rows, as dictionaries of the schema, and returns the lines of a config of a format. What is known of
each format:

- KILT (Petroni et al., 2021; github.com/facebookresearch/KILT, README, "Data format"). A datum has `id`, `input`,
  `output`, a list of {`answer`, `provenance`: [{`wikipedia_id`, `title`}]}, and `meta`. In its sets for entity linking
  `input` is the text with [START_ENT] and [END_ENT] around the mention, and `meta` has `left_context`, `mention` and
  `right_context`. A page of its knowledge source has `wikipedia_id`, `wikipedia_title`, `text` (a list of paragraphs)
  and `wikidata_info`.
- BLINK (Wu et al., 2020; github.com/facebookresearch/BLINK, blink/biencoder/data_process.py). A mention has
  `context_left`, `mention`, `context_right`, `label` (the description that is encoded), `label_title` and `label_id`,
  an integer. An entity of `entity.jsonl` has `title`, `text`, `entity` and `idx`, of which the number after "curid=" is
  read.
- mGENRE (De Cao et al., 2022; github.com/facebookresearch/GENRE, examples_mgenre). The source is the text with
  [START] and [END] around the mention, the target "TITLE >> LANGUAGE"; fairseq reads them as two files of lines, so
  neither has a line feed. Its trie is made of the targets of all titles.
- spaCy (spacy.io/api/inmemorylookupkb). `add_entity(entity, freq, entity_vector)` needs a vector, which the user makes
  of `text`; `add_alias(alias, entities, probabilities)` matches the text of a mention exactly, and the probabilities
  of an alias add up to at most 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wikianchor.pipelines.wikimedia.addresses import host_of
from wikianchor.pipelines.wikimedia.languages import language_of_wiki

Row = Mapping[str, Any]


def _id(row: Row) -> str:
    return f"{row['wiki']}:{row['page_id']}:{row['start']}"


def _marked(row: Row, first: str, last: str) -> str:
    return f"{row['left']}{first} {row['surface']} {last}{row['right']}"


def _page_id(wiki: str, page_id: int | None, others: bool) -> str:
    """Return the id of a page, with its wiki where there are several."""
    return "" if page_id is None else f"{wiki}:{page_id}" if others else str(page_id)


def lines_of(format: str, config: str, rows: Sequence[Row], others: bool) -> list[dict[str, Any]]:
    """Return the lines of a format for rows; none where the format has nothing of the config.

    Args:
        format: one of `LINKING_FORMATS`, but the first.
        config: `linking`, `items` or `names`.
        rows: those of the config; of `linking` with `page` and `lead`, the page id and the lead of the target.
        others: whether there are several wikis.
    """
    writer = {
        ("kilt", "linking"): lambda row: _kilt(row, others),
        ("kilt", "items"): lambda row: _kilt_pages(row, others),
        ("blink", "linking"): _blink,
        ("blink", "items"): _blink_entities,
        ("mgenre", "linking"): _mgenre,
        ("mgenre", "items"): _mgenre_titles,
        ("spacy", "linking"): _spacy,
        ("spacy", "items"): _spacy_entities,
        ("spacy", "names"): _spacy_aliases,
    }.get((format, config))
    return [line for row in rows for line in writer(row)] if writer else []


def _kilt(row: Row, others: bool) -> Iterator[dict[str, Any]]:
    page = {"wikipedia_id": _page_id(row["target_wiki"], row["page"], others), "title": row["target"]}
    context = {"left_context": row["left"], "mention": row["surface"], "right_context": row["right"]}
    yield {
        "id": _id(row),
        "input": _marked(row, "[START_ENT]", "[END_ENT]"),
        "output": [{"answer": row["target"], "provenance": [page]}],
        "meta": {**context, "wikidata_id": f"Q{row['qid']}", "item_split": row["item_split"]},
    }


def _kilt_pages(row: Row, others: bool) -> Iterator[dict[str, Any]]:
    texts = {text["language"]: text["text"] for text in row["descriptions"] or ()}
    for page in row["pages"]:
        name = _page_id(page["wiki"], page["page_id"], others)
        info = {"wikidata_id": f"Q{row['qid']}", "description": texts.get(language_of_wiki(page["wiki"]), "")}
        yield {
            "_id": name,
            "wikipedia_id": name,
            "wikipedia_title": page["title"],
            "text": [page["title"], page["lead"]],
            "wikidata_info": info,
        }


def _blink(row: Row) -> Iterator[dict[str, Any]]:
    yield {
        "id": _id(row),
        "context_left": row["left"],
        "mention": row["surface"],
        "context_right": row["right"],
        "label": row["lead"],
        "label_title": row["target"],
        "label_id": row["qid"],
        "item_split": row["item_split"],
    }


def _blink_entities(row: Row) -> Iterator[dict[str, Any]]:
    for page in row["pages"]:
        address = f"https://{host_of(page['wiki'])}/wiki?curid={page['page_id']}"
        yield {
            "text": page["lead"],
            "idx": address,
            "title": page["title"],
            "entity": page["title"],
            "label_id": row["qid"],
        }


def _target(title: str, wiki: str) -> str:
    return f"{title} >> {language_of_wiki(wiki)}"


def _mgenre(row: Row) -> Iterator[dict[str, Any]]:
    yield {
        "id": _id(row),
        "source": " ".join(_marked(row, "[START]", "[END]").split()),
        "target": _target(row["target"], row["target_wiki"]),
        "wikidata_id": f"Q{row['qid']}",
        "item_split": row["item_split"],
    }


def _mgenre_titles(row: Row) -> Iterator[dict[str, Any]]:
    titles = [_target(page["title"], page["wiki"]) for page in row["pages"]]
    yield {"wikidata_id": f"Q{row['qid']}", "titles": titles}


def _spacy(row: Row) -> Iterator[dict[str, Any]]:
    start = len(row["left"])
    yield {
        "id": _id(row),
        "text": f"{row['left']}{row['surface']}{row['right']}",
        "start": start,
        "end": start + len(row["surface"]),
        "entity": f"Q{row['qid']}",
        "item_split": row["item_split"],
    }


def _spacy_entities(row: Row) -> Iterator[dict[str, Any]]:
    texts = [page["lead"] for page in row["pages"]] + [text["text"] for text in row["descriptions"] or ()]
    yield {"entity": f"Q{row['qid']}", "freq": row["links"], "text": next(filter(None, texts), "")}


def _spacy_aliases(row: Row) -> Iterator[dict[str, Any]]:
    for surface in row["surfaces"]:
        yield {
            "wiki": row["wiki"],
            "alias": surface,
            "entities": [f"Q{candidate['qid']}" for candidate in row["candidates"]],
            # Rounded down: float32 may add up to more than 1.
            "probabilities": [int(candidate["prior"] * 1e6) / 1e6 for candidate in row["candidates"]],
        }
