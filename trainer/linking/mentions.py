"""Read mentions with their items from files of public sets.

What is known of each format:

- Mewsli-9 (Botha et al., 2020; github.com/google-research/google-research, dense_representations_for_entity_retrieval/
  mel). A directory for each language: `mentions.tsv` with a header, of which `docid`, `position`, `length` (in code
  points) and `qid` are read, and `text/DOCID`, the text of a document.
- Mewsli-X (Ruder et al., 2021; mewsli-x.md there). Lines of JSON: `context` with `text`, `language` and `document_id`,
  and `mentions`, each with `entity_id` and `mention_span` (`start`, `end`, `text`). Released files have an empty text,
  which its script fills in.
- AIDA (Hoffart et al., 2011), in its CoNLL-YAGO form. A document begins with -DOCSTART-; a line is a token, with tabs B
  or I, the mention, the YAGO entity or --NME--, the address of the Wikipedia article, its id and a Freebase id. Empty
  lines end sentences.
- ELEVANT (Bast et al., 2022; github.com/ad-freiburg/elevant, docs/our_jsonl_format.md and docs/add_benchmark.md). Lines
  of JSON: `text`, `labels` with `span` and `entity_id`, and `entity_mentions` with `span`, `id` and `candidates`, the
  answers of a linker. In the simple form a label has `start_char`, `end_char` and `entity_reference`.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.parsing import malformed, unreadable

# Characters of the context on each side.
CONTEXT = 600
_ITEM = re.compile(r"Q([1-9]\d*)")
_ARTICLE = re.compile(r"https?://(\w[\w-]*)\.wikipedia\.org/wiki/(.+)")


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A mention and what it stands for.

    Attributes:
        source: name of the set that it is of.
        language: code of its language.
        left, surface, right: its context and text.
        qid: number of the item; 0 where only a title is known.
        title: title of the article, with its language before a colon; "" where the item is known.
        answers: items in the order in which another linker ranks them; None without one.
        is_counted: whether the link is among those of the counts of names, as those of a dataset `linking` are.
        is_candidate: whether another link gives the item this name; of other sets that is not known.
    """

    source: str
    language: str
    left: str
    surface: str
    right: str
    qid: int = 0
    title: str = ""
    answers: tuple[int, ...] | None = None
    is_counted: bool = False
    is_candidate: bool = True


def read_mentions(paths: str, language: str) -> Iterator[Mention]:
    """Yield the mentions of files.

    Args:
        paths: files and directories, with commas.
        language: that of files that name none.

    Raises:
        UsageError: a path is not there, or of no known format.
        InputError: a file is malformed.
    """
    for path in files_of(paths):
        name = os.path.basename(path)
        if name == "mentions.tsv":
            yield from read_mewsli9(path)
        elif name.endswith(".tsv"):
            yield from read_aida(path, language)
        elif name.endswith(".jsonl"):
            yield from read_lines(path, language)
        else:
            raise UsageError(f"--data={path}: no known format: name mentions.tsv, .tsv of AIDA, or .jsonl")


def files_of(paths: str) -> list[str]:
    """Return files, and those in directories that have a known ending.

    Raises:
        UsageError: a path is not there.
    """
    files: list[str] = []
    for path in filter(None, paths.split(",")):
        if os.path.isdir(path):
            inner = sorted(glob.glob(f"{glob.escape(path)}/**/*", recursive=True))
            # Other tables of Mewsli-9 lie beside its mentions.
            files += [name for name in inner if name.endswith(("/mentions.tsv", ".jsonl"))]
        elif os.path.exists(path):
            files.append(path)
        else:
            raise UsageError(f"--data={path}: no such file or directory")
    return files


def _spanned(text: str, start: int, end: int, **known: Any) -> Mention:
    return Mention(
        left=text[max(0, start - CONTEXT) : start], surface=text[start:end], right=text[end : end + CONTEXT], **known
    )


def _text(value: Any) -> str:
    """Return a text of a file.

    Raises:
        TypeError: it is no text.
    """
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of a text")
    return value


def _number(item: str) -> int:
    """Return the number of an item, 0 for what is no item, such as NIL."""
    match = _ITEM.fullmatch(item)
    return int(match[1]) if match else 0


def read_mewsli9(path: str) -> Iterator[Mention]:
    """Yield the mentions of a language of Mewsli-9.

    Args:
        path: its `mentions.tsv`; the name of the directory is the language.

    Raises:
        InputError: a column or a document is missing.
    """
    directory = os.path.dirname(os.path.abspath(path))
    language, texts = os.path.basename(directory), dict[str, str]()
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        head = next(file, "").rstrip("\r\n").split("\t")
        for number, line in enumerate(file, 2):
            with malformed(f"{path} line {number}: not a mention with docid, position, length and qid"):
                row = dict(zip(head, line.rstrip("\r\n").split("\t"), strict=True))
                name, start, length, item = row["docid"], int(row["position"]), int(row["length"]), row["qid"]
            if name not in texts:
                # The mentions of a document follow each other.
                source = Path(directory, "text", os.path.basename(name))
                with unreadable(f"{source}: cannot be read", "fetch the texts of the set first"):
                    texts = {name: source.read_bytes().decode()}
            yield _spanned(texts[name], start, start + length, source="Mewsli-9", language=language, qid=_number(item))


def read_aida(path: str, language: str) -> Iterator[Mention]:
    """Yield the mentions of AIDA with an article, tokens joined by spaces.

    Raises:
        InputError: a mention has no address and is not --NME--.
    """
    tokens, spans, at = list[str](), list[tuple[int, int, str]](), 0
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        for number, line in enumerate(chain(file, ["-DOCSTART-"]), 1):
            if line.startswith("-DOCSTART-"):
                text = " ".join(tokens)
                for start, end, title in spans:
                    yield _spanned(text, start, end, source="AIDA", language=language, title=title)
                tokens, spans, at = [], [], 0
                continue
            token, *fields = line.rstrip("\r\n").split("\t")
            if not token:
                # The end of a sentence.
                continue
            tokens.append(token)
            start, at = at, at + len(token) + 1
            if fields[:1] == ["I"] and spans and spans[-1][1] == start - 1:
                spans[-1] = (spans[-1][0], start + len(token), spans[-1][2])
            elif fields[:1] == ["B"] and fields[2:3] != ["--NME--"]:
                match = _ARTICLE.fullmatch(fields[3]) if len(fields) > 3 else None
                if match is None:
                    raise InputError(f"{path} line {number}: a mention without the address of an article or --NME--")
                spans.append((start, start + len(token), f"{match[1]}:{unquote(match[2]).replace('_', ' ')}"))


def read_lines(path: str, language: str) -> Iterator[Mention]:
    """Yield the mentions of a file of Mewsli-X or ELEVANT.

    Raises:
        InputError: a line is malformed.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            with malformed(f"{path} line {number}: not a document of Mewsli-X (context, mentions) or ELEVANT (labels)"):
                document = json.loads(line)
                mentions = list(_mewsli_x(document) if "context" in document else _elevant(document, language))
            yield from mentions


def _mewsli_x(document: Mapping[str, Any]) -> Iterator[Mention]:
    context = document["context"]
    for mention in document["mentions"]:
        span, qid = mention["mention_span"], _number(mention["entity_id"])
        # A released file has no text but that of the mention.
        text = _text(context["text"] or span["text"])
        start, end = (int(span["start"]), int(span["end"])) if context["text"] else (0, len(text))
        yield _spanned(text, start, end, source="Mewsli-X", language=_text(context["language"]), qid=qid)


def _elevant(document: Mapping[str, Any], language: str) -> Iterator[Mention]:
    answers = document.get("entity_mentions")
    by_span = {
        tuple(answer["span"]): tuple(map(_number, dict.fromkeys((answer["id"] or "", *answer.get("candidates", ())))))
        for answer in answers or ()
    }
    for label in document["labels"]:
        start, end = label["span"] if "span" in label else (label["start_char"], label["end_char"])
        entity = str(label.get("entity_id") or label["entity_reference"])
        if label.get("optional"):
            continue
        article = _ARTICLE.fullmatch(entity)
        title = f"{article[1]}:{unquote(article[2])}" if article else f"{language}:{entity}"
        is_title = not _number(entity) and "entity_reference" in label
        yield _spanned(
            _text(document["text"]),
            start,
            end,
            source="ELEVANT",
            language=language,
            qid=_number(entity),
            title=title.replace("_", " ") if is_title else "",
            answers=by_span.get((start, end), ()) if answers else None,
        )
