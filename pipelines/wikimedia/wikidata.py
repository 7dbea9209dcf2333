"""Read items from Wikidata's JSON dump: types, occupations, sitelinks and labels.

The dump has one entity per line, as a JSON array or as NDJSON. Call the functions in this order::

    may_have_sitelink = wanted_filter(wikis)
    for line in iter_lines(chunks, source):
        if may_have_sitelink(line):                      # most lines are dropped here, without being parsed
            item = parse_item(line, wikis, languages)    # an Item, or a Skip with the reason; raises BadLine

The format is the Wikibase JSON data model: https://doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, get_args

import orjson

from wikianchor.io.errors import InputError

PROPERTIES = INSTANCE_OF, SUBCLASS_OF, OCCUPATION = "P31", "P279", "P106"
# Ranks of statements.
RANKS = PREFERRED, NORMAL = "preferred", "normal"
# Keys of the JSON that only Wikibase has.
KEYS = CLAIMS, SITELINKS, LASTREVID, RANK, MAINSNAK, DATAVALUE, ENTITY_TYPE, NUMERIC_ID = (
    "claims",
    "sitelinks",
    "lastrevid",
    "rank",
    "mainsnak",
    "datavalue",
    "entity-type",
    "numeric-id",
)

TypeRoute = Literal["instance_of", "subclass_of", "none"]
# What the core is handed to read a dump with.
WORDS = {"properties": PROPERTIES, "routes": get_args(TypeRoute), "ranks": RANKS, "keys": KEYS}

# Classes of pages of the wikis themselves, which are no entities of the world, with the reason for each. An item with
# any of these types is excluded. Years, letters, given and family names are not in this table, because their pages are
# about them; options of `pairs` limit how often they occur. Articles on two topics are not in it either.
META_CLASSES: dict[int, str] = {
    # Pages that send the reader on to one of several things.
    4167410: "disambiguation page: names several things, is none of them",
    22808320: "human name disambiguation page: lists people who share a name",
    66480449: "surname disambiguation page: lists people who share a surname",
    61996773: "municipality name disambiguation page: lists places that share a name",
    15623926: "set index article: lists things of one kind that share a name",
    13406463: "list article: about its members, which are entities of their own",
    33532284: "list of lists: an index of list articles",
    # Categories: pages of another namespace, linked only with a leading colon.
    4167836: "category: sorts pages",
    15407973: "disambiguation category: sorts disambiguation pages",
    15647814: "administration category: sorts pages by upkeep they need",
    20010800: "user language category: sorts editors by the languages they know",
    23894233: "templates category: sorts templates",
    24046192: "stub category: sorts short pages",
    30432511: "meta category: sorts categories",
    56428020: "lists category: sorts list articles",
    59541917: "topic category: sorts pages about one topic",
    59542487: "set category: sorts pages about members of one set",
    67131190: "tracking category: sorts pages by a property of their wikitext",
    # Templates, modules and data that make up pages.
    11266439: "template: a part of pages",
    11753321: "navigational template: a box of links",
    19842659: "user language template: a mark on an editor's page",
    19887878: "infobox template: a box of facts",
    20769160: "userbox template: a mark on an editor's page",
    15184295: "module: Lua code of templates",
    26267864: "KML file: coordinates of another page",
    # Pages for and about the projects.
    4663903: "portal: an entrance page to a topic",
    14204246: "project page: about the wiki itself",
    16695773: "WikiProject: a group of editors",
    21025364: "WikiProject page: the pages of a group of editors",
    4656150: "policies and guidelines: rules of the wiki",
    56005592: "help page: instructions for editors",
    15633587: "main namespace page that is no article, such as a main page",
    17442446: "internal item: any other item made for the wikis' own use",
    17633526: "Wikinews article: a report, not the thing reported",
    # Items that stand for another item.
    17362920: "duplicated page: a second page about another item's subject",
    21286738: "permanent duplicate item: repeats another item",
    21528878: "redirect page: stands for its target",
}

# Bytes. Wikibase refuses to save an entity of more than a few MB.
_LONGEST_LINE = 64 << 20
_ONE_PER_LINE = "one entity per line is needed (jq -c '.[]' FILE, or jq -c '.entities[]' FILE for API output)"
_SITELINKS_KEY = b'"%s"' % SITELINKS.encode()
_COLON = re.compile(rb"\s*:")
_QID = re.compile(r"[Qq]([1-9][0-9]{0,9})")


class BadLine(ValueError):
    """A line that is no entity; the message is a short reason without the line itself."""


class Skip(Enum):
    """Why a valid line is no `Item`. The value is the name under which it is counted."""

    NOT_AN_ITEM = "not an item"  # a property, a lexeme, a media file
    REDIRECT = "redirect"  # the item was merged into another
    NO_SITELINK = "no wanted sitelink"


@dataclass(frozen=True)
class Item:
    """One Wikidata item, reduced to what the pipelines need.

    Attributes:
        qid: number of the item, 42 for Q42.
        types: best-rank values of P31 (instance of) in statement order; without any, those of P279 (subclass of).
        type_route: which of the two `types` come from.
        instance_of_any_rank: values of P31 of every rank, deprecated ones included, as the released code of EASE uses
            them.
        superclasses: best-rank values of P279.
        occupations: best-rank values of P106.
        sitelinks: (wiki, title) for each of the wikis that has a page, sorted by wiki; the title as in the dump.
        labels: (language, label) for each of the languages that has one, sorted. Newer dumps keep a label that many
            languages share only under the language "mul"; ask for that as well.
        lastrevid: revision of the item; 0 in older dumps, which do not contain it.
        descriptions: (language, description), as `labels`; empty unless they are asked for.
        aliases: (language, other name), several for a language, sorted by language and then as in the dump; empty
            unless they are asked for.
    """

    qid: int
    types: tuple[int, ...]
    type_route: TypeRoute
    instance_of_any_rank: tuple[int, ...]
    superclasses: tuple[int, ...]
    occupations: tuple[int, ...]
    sitelinks: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]
    lastrevid: int
    descriptions: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()


def iter_lines(chunks: Iterable[bytes], source: str = "the JSON dump") -> Iterator[bytes]:
    """Yield the JSON objects of a dump, one per line.

    Array brackets, trailing commas, carriage returns, a byte order mark and empty lines are dropped, so an array and
    NDJSON give the same lines.

    Args:
        chunks: the decompressed dump in chunks of any size; a few MB each are best.
        source: name of the file, for messages.

    Raises:
        InputError: the entities are not one per line (pretty-printed, or an array without line feeds).

    >>> list(iter_lines([b'[\\n{"id":"Q1"},\\n{"id"', b':"Q2"}\\n]\\n']))
    [b'{"id":"Q1"}', b'{"id":"Q2"}']
    """
    for block in line_blocks(chunks, source):
        yield from objects_of(block.split(b"\n"), source)


def line_blocks(chunks: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Yield the bytes of a dump in blocks of whole lines, without a byte order mark.

    Raises:
        InputError: a line is too long.
    """
    pending, pending_bytes, mark = [b""], 0, b"\xef\xbb\xbf"
    for chunk in chunks:
        end = chunk.find(b"\n")
        pending_bytes += len(chunk) if end < 0 else end
        if pending_bytes > _LONGEST_LINE:
            raise InputError(f"{source}: a line is longer than {_LONGEST_LINE >> 20} MB; {_ONE_PER_LINE}")
        if end < 0:
            pending.append(chunk)
            continue
        end = chunk.rfind(b"\n") + 1
        yield b"".join((*pending, memoryview(chunk)[:end])).removeprefix(mark)
        mark = b""
        pending = [chunk[end:]]
        pending_bytes = len(chunk) - end
    yield b"".join(pending).removeprefix(mark)


def objects_of(lines: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Yield the JSON objects of lines, without what is around them.

    Raises:
        InputError: an entity is spread over several lines.
    """
    for line in lines:
        # An entity begins with { and ends with }, so these characters are not part of it.
        stripped = line.strip(b" \t\r,[]")
        if stripped == b"{":
            raise InputError(f"{source}: an entity is spread over several lines; {_ONE_PER_LINE}")
        if stripped:
            yield stripped


def wanted_filter(wikis: Collection[str]) -> Callable[[bytes], bool]:
    """Return a fast test on the bytes of a line that is False only if `parse_item` cannot return an `Item`.

    Most items have no page on any wiki, and the test takes a small part of the time of parsing. Incomplete lines pass,
    so that `parse_item` reports what is wrong with them.

    Args:
        wikis: database names such as "enwiki", the most frequent first.

    >>> wanted_filter(["enwiki"])(b'{"type":"item","id":"Q1","sitelinks":{"dewiki":{"title":"A"}}}')
    False
    """
    keys = tuple(b'"%s"' % wiki.encode() for wiki in wikis)

    def wanted(line: bytes) -> bool:
        if not (line.startswith(b"{") and line.endswith(b"}")):
            return True
        # Sitelinks are near the end of the line, so search from the end. The word may also be a value, such as a label;
        # as a key it occurs once.
        at = line.rfind(_SITELINKS_KEY)
        while at >= 0 and not _COLON.match(line, at + len(_SITELINKS_KEY)):
            at = line.rfind(_SITELINKS_KEY, 0, at)
        if at < 0:
            return False
        # A generator here doubles the time per line.
        return any(map(line[at:].__contains__, keys))

    return wanted


def parse_item(
    line: bytes, wikis: Collection[str], label_languages: Collection[str], texts: Collection[str] = ("labels",)
) -> Item | Skip:
    """Parse one line of a dump.

    The format of 2014 is accepted too: empty maps written as `[]`, values with `numeric-id` and without `id`.

    Args:
        line: one entity, as `iter_lines` yields it.
        wikis: database names of the sitelinks to keep.
        label_languages: language codes of the labels to keep, and of descriptions and aliases.
        texts: which texts to keep: "labels", "descriptions", "aliases".

    Returns:
        The item, or the reason why the line is not an item with one of these sitelinks.

    Raises:
        BadLine: the line is no JSON object, or violates the data model.

    >>> line = b'{"type":"item","id":"Q42","claims":[],"sitelinks":{"enwiki":{"title":"Douglas Adams"}}}'
    >>> item = parse_item(line, ["enwiki"], ["en"])
    >>> item.qid, item.sitelinks, item.type_route
    (42, (('enwiki', 'Douglas Adams'),), 'none')
    >>> parse_item(line, ["dewiki"], ["en"])
    <Skip.NO_SITELINK: 'no wanted sitelink'>
    """
    entity = _load(line)
    if "redirect" in entity:
        return Skip.REDIRECT
    if entity.get("type") != "item":
        if not isinstance(entity.get("type"), str):
            raise BadLine("neither an entity nor a redirect: no type")
        return Skip.NOT_AN_ITEM
    qid = _qid(entity.get("id"))
    if qid is None:
        raise BadLine(f"an item whose id is {entity.get('id')!r:.40}")
    sitelinks = _texts(entity, SITELINKS, "title", wikis)
    if not sitelinks:
        return Skip.NO_SITELINK
    claims = _map(entity, CLAIMS)
    instance_of = _statements(claims, INSTANCE_OF)
    types = _values(_best(instance_of))
    superclasses = _values(_best(_statements(claims, SUBCLASS_OF)))
    route: TypeRoute = "instance_of" if types else "subclass_of" if superclasses else "none"
    lastrevid = entity.get(LASTREVID, 0)
    if not (type(lastrevid) is int and 0 <= lastrevid < 1 << 63):
        raise BadLine("lastrevid is not a number of 64 bits")
    return Item(
        qid=qid,
        types=types or superclasses,
        type_route=route,
        instance_of_any_rank=_values(instance_of),
        superclasses=superclasses,
        occupations=_values(_best(_statements(claims, OCCUPATION))),
        sitelinks=sitelinks,
        labels=_texts(entity, "labels", "value", label_languages) if "labels" in texts else (),
        lastrevid=lastrevid,
        descriptions=_texts(entity, "descriptions", "value", label_languages) if "descriptions" in texts else (),
        aliases=_texts(entity, "aliases", "value", label_languages) if "aliases" in texts else (),
    )


def wanted_items(
    lines: Iterable[bytes],
    wikis: Collection[str],
    languages: Collection[str],
    texts: Collection[str] = ("labels",),
    *,
    where: Callable[[int], str],
) -> Iterator[Item]:
    """Yield the items of a dump that have a page in one of some wikis.

    Args:
        lines: entities, as `iter_lines` yields them.
        wikis, languages, texts: as for `parse_item`.
        where: returns file and place of a line, given its number, for errors.

    Raises:
        InputError: a line is no entity.
    """
    is_wanted = wanted_filter(wikis)
    for number, line in enumerate(lines, 1):
        if is_wanted(line):
            try:
                item = parse_item(line, wikis, languages, texts)
            except BadLine as error:
                raise InputError(f"{where(number)}: {error}: fetch the file again") from error
            if isinstance(item, Item):
                yield item


def _load(line: bytes) -> dict[str, Any]:
    try:
        entity = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            orjson.loads(b"[%s]" % line)
        except orjson.JSONDecodeError:
            raise BadLine(f"not JSON: {error.msg}") from None
        raise BadLine(f"several entities on one line; {_ONE_PER_LINE}") from None
    if not isinstance(entity, dict):
        raise BadLine("not a JSON object")
    return entity


def _qid(value: object) -> int | None:
    match = _QID.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def _map(entity: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a map of the entity; empty if it is missing, null, or the empty list that PHP writes for an empty map."""
    value = entity.get(key) or {}
    if not isinstance(value, dict):
        raise BadLine(f"{key} is not an object")
    return value


def _texts(entity: dict[str, Any], key: str, field: str, wanted: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return (key, text) of the wanted entries of a map such as `{"enwiki": {"title": "Douglas Adams"}}`, by key.

    An entry of aliases is a list of them; a repeated one is kept once.
    """
    texts: dict[tuple[str, str], None] = {}
    values = _map(entity, key)
    for name in sorted(name for name in values if name in wanted):
        entries = values[name] if key == "aliases" else [values[name]]
        for entry in entries if isinstance(entries, list) else (None,):
            text = entry.get(field) if isinstance(entry, dict) else None
            if not isinstance(text, str):
                raise BadLine(f"{key}: the entry {name} has no {field}")
            texts[name, text] = None
    return tuple(texts)


def _statements(claims: dict[str, Any], prop: str) -> list[dict[str, Any]]:
    statements = claims.get(prop) or []
    if not isinstance(statements, list) or not all(isinstance(statement, dict) for statement in statements):
        raise BadLine(f"claims: {prop} is not a list of statements")
    return statements


def _best(statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the best-rank ("truthy") statements: the preferred ones, or without any the normal ones.

    As in the Wikidata Query Service, a preferred statement without a value hides the normal ones.
    """
    preferred = [statement for statement in statements if statement.get(RANK) == PREFERRED]
    return preferred or [statement for statement in statements if statement.get(RANK, NORMAL) == NORMAL]


def _values(statements: list[dict[str, Any]]) -> tuple[int, ...]:
    """Return the distinct items that are the values of statements, in order; statements without a value are skipped."""
    qids: dict[int, None] = {}
    for statement in statements:
        snak = statement.get(MAINSNAK)
        datavalue = snak.get(DATAVALUE) if isinstance(snak, dict) else None
        value = datavalue.get("value") if isinstance(datavalue, dict) else None
        if not isinstance(value, dict):
            continue
        qid = _qid(value.get("id"))
        if qid is None and "id" not in value and value.get(ENTITY_TYPE, "item") == "item":
            qid = _qid(f"Q{value.get(NUMERIC_ID)}")
        if qid is not None:
            qids[qid] = None
    return tuple(qids)
