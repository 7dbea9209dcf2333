"""Wikidata items out of dump lines: ranks, old dumps, the byte filter, and every real sample."""

import bz2
import gzip
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.io.errors import InputError
from wikianchor.pipelines.wikimedia import wikidata
from wikianchor.pipelines.wikimedia.wikidata import (
    META_CLASSES,
    BadLine,
    Item,
    Skip,
    iter_lines,
    parse_item,
    wanted_filter,
)

WIKIS = {"enwiki", "jawiki", "be_x_oldwiki"}


def statement(value: Any, rank: str = "normal", snaktype: str = "value") -> dict[str, Any]:
    snak: dict[str, Any] = {"snaktype": snaktype, "property": "P31"}
    if snaktype == "value":
        snak["datavalue"] = {"type": "wikibase-entityid", "value": value}
    return {"mainsnak": snak, "type": "statement", "rank": rank}


def to(qid: int, rank: str = "normal") -> dict[str, Any]:
    return statement({"entity-type": "item", "numeric-id": qid, "id": f"Q{qid}"}, rank)


NO_VALUE = statement(None, snaktype="novalue")
SOME_VALUE = statement(None, snaktype="somevalue")


def entity(**parts: Any) -> dict[str, Any]:
    sitelinks = {"enwiki": {"site": "enwiki", "title": "Douglas Adams", "badges": []}}
    return {"type": "item", "id": "Q42", "labels": {}, "claims": {}, "sitelinks": sitelinks} | parts


def parse(**parts: Any) -> Item:
    item = parse_item(json.dumps(entity(**parts)).encode(), WIKIS, {"en", "ja", "mul"})
    assert isinstance(item, Item)
    return item


def skip(line: dict[str, Any]) -> Skip:
    parsed = parse_item(json.dumps(line).encode(), WIKIS, {"en"})
    assert isinstance(parsed, Skip)
    return parsed


class TestTexts:
    DESCRIPTIONS: ClassVar = {code: {"language": code, "value": f"writer {code}"} for code in ("en", "fr", "ja")}
    ALIASES: ClassVar = {
        "ja": [{"language": "ja", "value": "アダムス"}],
        "en": [{"language": "en", "value": name} for name in ("DNA", "Bop Ad", "DNA")],
        "fr": [{"language": "fr", "value": "Adams"}],
    }

    def read(self, *texts: str, **parts: Any) -> Item:
        labels = {"en": {"language": "en", "value": "Douglas Adams"}}
        given = {"labels": labels, "descriptions": self.DESCRIPTIONS, "aliases": self.ALIASES} | parts
        item = parse_item(json.dumps(entity(**given)).encode(), WIKIS, ["en", "ja"], texts)
        assert isinstance(item, Item)
        return item

    def test_texts_that_are_asked_for_in_the_languages_asked_for(self) -> None:
        item = self.read("labels", "descriptions", "aliases")
        assert item.labels == (("en", "Douglas Adams"),)
        assert item.descriptions == (("en", "writer en"), ("ja", "writer ja"))
        assert item.aliases == (("en", "DNA"), ("en", "Bop Ad"), ("ja", "アダムス"))

    def test_others_are_left_out(self) -> None:
        item = self.read("aliases", descriptions=[])
        assert (item.labels, item.descriptions, len(item.aliases)) == ((), (), 3)
        assert parse(descriptions=self.DESCRIPTIONS).descriptions == ()

    @pytest.mark.parametrize("aliases", [{"en": "DNA"}, {"en": ["DNA"]}, {"en": [{"value": 1}]}])
    def test_aliases_of_another_form(self, aliases: Any) -> None:
        with pytest.raises(BadLine, match="aliases: the entry en has no value"):
            self.read("aliases", aliases=aliases)


class TestTypes:
    def test_normal_statements_in_order_each_once(self) -> None:
        item = parse(claims={"P31": [to(5), to(36180), to(5)]})
        assert (item.types, item.type_route) == ((5, 36180), "instance_of")

    def test_preferred_hides_normal_and_deprecated_never_counts(self) -> None:
        item = parse(claims={"P31": [to(1), to(2, "preferred"), to(3, "deprecated"), to(4, "preferred")]})
        assert item.types == (2, 4)
        assert item.instance_of_any_rank == (1, 2, 3, 4)

    def test_deprecated_alone_is_no_type(self) -> None:
        item = parse(claims={"P31": [to(3, "deprecated")]})
        assert (item.types, item.type_route, item.instance_of_any_rank) == ((), "none", (3,))

    @pytest.mark.parametrize("empty", [NO_VALUE, SOME_VALUE])
    def test_a_statement_without_value_loses_only_itself(self, empty: dict[str, Any]) -> None:
        item = parse(claims={"P31": [empty, to(5), empty, to(6)]})
        assert item.types == item.instance_of_any_rank == (5, 6)

    def test_a_preferred_no_value_hides_the_normal_ones(self) -> None:
        item = parse(claims={"P31": [to(5), NO_VALUE | {"rank": "preferred"}], "P279": [to(7)]})
        assert (item.types, item.type_route) == ((7,), "subclass_of")

    def test_superclasses_stand_in_where_there_is_no_type(self) -> None:
        item = parse(claims={"P31": [SOME_VALUE], "P279": [to(8), to(7, "preferred")]})
        assert (item.types, item.type_route, item.superclasses) == ((7,), "subclass_of", (7,))

    def test_superclasses_stand_beside_types(self) -> None:
        item = parse(claims={"P31": [to(5)], "P279": [to(7)], "P106": [to(9, "deprecated"), to(10)]})
        assert (item.types, item.superclasses, item.occupations) == ((5,), (7,), (10,))

    @pytest.mark.parametrize(
        ("value", "types"),
        [
            ({"entity-type": "item", "numeric-id": 5}, (5,)),
            ({"entity-type": "item", "id": "Q5"}, (5,)),
            ({"id": "Q5"}, (5,)),
            ({"entity-type": "property", "numeric-id": 5}, ()),
            ({"entity-type": "property", "numeric-id": 5, "id": "P5"}, ()),
            ({"entity-type": "lexeme", "id": "L5"}, ()),
            ("text of a property that once had another type", ()),
            ({"amount": "+5"}, ()),
        ],
    )
    def test_forms_of_a_value(self, value: Any, types: tuple[int, ...]) -> None:
        assert parse(claims={"P31": [statement(value)]}).types == types


class TestParts:
    def test_only_wanted_sitelinks_sorted(self) -> None:
        sites = ["jawiki", "commonswiki", "enwikiquote", "enwiki", "be_x_oldwiki", "frwiki"]
        item = parse(sitelinks={site: {"site": site, "title": f"in {site}"} for site in sites})
        assert item.sitelinks == tuple((site, f"in {site}") for site in ("be_x_oldwiki", "enwiki", "jawiki"))

    def test_labels_of_wanted_languages(self) -> None:
        labels = {code: {"language": code, "value": f"label {code}"} for code in ("mul", "en", "de")}
        assert parse(labels=labels).labels == (("en", "label en"), ("mul", "label mul"))

    def test_lastrevid(self) -> None:
        assert parse(lastrevid=7).lastrevid == 7
        assert parse().lastrevid == 0

    def test_empty_php_arrays_are_empty_maps(self) -> None:
        item = parse(claims=[], labels=[])
        assert (item.types, item.labels) == ((), ())
        assert skip(entity(sitelinks=[])) is Skip.NO_SITELINK


class TestSkips:
    @pytest.mark.parametrize("type_", ["property", "lexeme", "mediainfo"])
    def test_other_entities(self, type_: str) -> None:
        assert skip({"type": type_, "id": "P31"}) is Skip.NOT_AN_ITEM

    @pytest.mark.parametrize(
        "line", [{"entity": "Q1", "redirect": "Q2"}, {"type": "item", "id": "Q1", "redirect": "Q2"}]
    )
    def test_redirects(self, line: dict[str, Any]) -> None:
        assert skip(line) is Skip.REDIRECT

    def test_no_wanted_sitelink(self) -> None:
        assert skip(entity(sitelinks={"commonswiki": {"title": "Douglas Adams"}})) is Skip.NO_SITELINK
        assert skip({"type": "item", "id": "Q42"}) is Skip.NO_SITELINK

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b'{"type":"item"', "not JSON"),
            (b"\xff\xfe", "not JSON"),
            (b'{"type":"item","labels":{"en":{"value":"\\ud800"}}}', "not JSON"),
            (b'"type": "item"', "not JSON"),
            (b"42", "not a JSON object"),
            (b'{"id":"Q1"}', "no type"),
            (b'{"type":"item","id":"kittens"}', "'kittens'"),
            (b'{"type":"item","id":"Q0"}', "'Q0'"),
            (b'{"type":"item","id":"Q1"},{"type":"item","id":"Q2"}', "several entities on one line"),
            (json.dumps(entity(sitelinks={"enwiki": "Douglas Adams"})).encode(), "sitelinks: the entry enwiki"),
            (json.dumps(entity(claims="none")).encode(), "claims is not an object"),
            (json.dumps(entity(claims={"P31": {"0": {}}})).encode(), "P31 is not a list"),
            (json.dumps(entity(claims={"P31": ["Q5"]})).encode(), "P31 is not a list"),
            (json.dumps(entity(lastrevid="7")).encode(), "lastrevid"),
        ],
    )
    def test_bad_lines(self, line: bytes, reason: str) -> None:
        with pytest.raises(BadLine) as raised:
            parse_item(line, WIKIS, ())
        assert reason in str(raised.value)
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 200


def lines(*chunks: bytes) -> list[bytes]:
    return list(iter_lines(chunks, "dump.json"))


class TestLines:
    ARRAY = b'[\n{"id":"Q1"},\n{"id":"Q2"},\n{"id":"Q3"}\n]\n'

    @pytest.mark.parametrize(
        "text",
        [
            ARRAY,
            ARRAY.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + ARRAY,
            ARRAY.replace(b"[\n", b"[").replace(b"\n]\n", b"]"),
            b'{"id":"Q1"}\n{"id":"Q2"}\n\n{"id":"Q3"}',
            b'\xef\xbb\xbf{"id":"Q1"}\n , {"id":"Q2"}\n{"id":"Q3"}\n',
        ],
    )
    def test_array_and_ndjson_come_out_alike(self, text: bytes) -> None:
        assert lines(text) == [b'{"id":"Q1"}', b'{"id":"Q2"}', b'{"id":"Q3"}']

    def test_nothing_in_nothing_out(self) -> None:
        assert lines() == lines(b"") == lines(b"[\n]\n") == []

    def test_an_entity_keeps_its_brackets_and_commas(self) -> None:
        assert lines(b'{"claims":[],"x":[1,]}\n') == [b'{"claims":[],"x":[1,]}']

    @given(st.lists(st.integers(0, len(ARRAY)), max_size=8))
    def test_chunks_may_be_cut_anywhere(self, cuts: list[int]) -> None:
        edges = [0, *sorted(cuts), len(self.ARRAY)]
        assert lines(*(self.ARRAY[a:b] for a, b in itertools.pairwise(edges))) == lines(self.ARRAY)

    @pytest.mark.parametrize("start", [b"[\n    {\n", b"{\n", b'{\r\n  "entities": {\n'])
    def test_pretty_printed_json_says_how_to_mend_it(self, start: bytes) -> None:
        with pytest.raises(InputError, match=r"^dump\.json: .* jq "):
            lines(start + b'        "type": "item",\n')

    def test_an_array_without_newlines_says_how_to_mend_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wikidata, "_LONGEST_LINE", 1000)
        with pytest.raises(InputError, match=r"^dump\.json: a line is longer .* jq "):
            lines(*([b'{"id":"Q1"},'] * 100))


TEXT = st.text() | st.sampled_from(["enwiki", "sitelinks", '"sitelinks":', '\\"enwiki\\":', "\\", ":"])


@st.composite
def entities(draw: st.DrawFn) -> bytes:
    """Lines of the data model with hostile texts, keys in any order and any spacing."""
    sites = draw(
        st.lists(st.sampled_from([*sorted(WIKIS), "enwikiquote", "wiki", "xenwiki", "commonswiki"]), unique=True)
    )
    parts = {
        "type": draw(st.sampled_from(["item", "item", "item", "property"])),
        "id": f"Q{draw(st.integers(1, 10**9))}",
        "labels": {"en": {"language": "en", "value": draw(TEXT)}},
        "aliases": {"en": [{"language": "en", "value": draw(TEXT)}]},
        "claims": {"P31": [to(5), statement(draw(TEXT))]},
        "sitelinks": {site: {"site": site, "title": draw(TEXT), "badges": []} for site in sites} or draw(st.just([])),
        "lastrevid": draw(st.integers(0, 10**10)),
    }
    keys = draw(st.permutations(sorted(parts)))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,  ", "\t: ")]))
    return json.dumps(
        {key: parts[key] for key in keys}, ensure_ascii=draw(st.booleans()), separators=separators
    ).encode(errors="surrogatepass")


class TestFilter:
    @given(entities())
    def test_it_never_rejects_what_parse_item_keeps(self, line: bytes) -> None:
        try:
            parsed = parse_item(line, WIKIS, ())
        except BadLine:  # half a surrogate pair
            return
        wanted = wanted_filter(WIKIS)(line)
        if isinstance(parsed, Item):
            assert wanted

    @given(st.binary(max_size=60))
    def test_it_never_rejects_a_line_that_is_not_whole(self, text: bytes) -> None:
        assert wanted_filter(WIKIS)(b'{"type":"item",' + text + b"x")

    @pytest.mark.parametrize(
        "line",
        [
            entity(sitelinks={}),
            entity(sitelinks=[]),
            entity(sitelinks={"enwikiquote": {"site": "enwikiquote", "title": "xenwiki"}}),
            entity(sitelinks={}, labels={"en": {"value": "enwiki"}}),
            {"type": "property", "id": "P1", "labels": {"en": {"value": "sitelinks"}}},
            {"type": "property", "id": "P1"},
        ],
    )
    def test_it_rejects_lines_without_a_wanted_sitelink(self, line: dict[str, Any]) -> None:
        assert not wanted_filter(WIKIS)(json.dumps(line).encode())

    def test_the_word_as_a_label_after_the_sitelinks(self) -> None:
        line = json.dumps(entity() | {"aliases": {"en": [{"value": "sitelinks"}]}}).encode()
        assert line.index(b'"enwiki"') < line.rindex(b'"sitelinks"')
        assert wanted_filter(["enwiki"])(line)


def test_meta_classes_are_known_by_reason() -> None:
    assert {4167410, 22808320, 13406463, 4167836, 11266439} <= META_CLASSES.keys()
    assert 5 not in META_CLASSES
    assert all(META_CLASSES.values())


def chunks_of(path: Path) -> Iterator[bytes]:
    opener = {".bz2": bz2.open, ".gz": gzip.open}.get(path.suffix, open)
    with opener(path, "rb") as file:
        while chunk := file.read(100_000):
            yield chunk


@pytest.mark.real
class TestRealDumps:
    # name: (lines, items with a page on one of the wikis, bad lines)
    EXPECTED: ClassVar = {
        "jsondumpreader_3valid-2invalid.json": (5, 1, 1),  # an item called "kittens"
        "jsondumpreader_five-entities.json.bz2": (5, 2, 0),
        "opentapioca_sample_wikidata_items.json.bz2": (100, 100, 0),
        "qrank_twenty_entities.json.bz2": (20, 20, 0),
        "wdsub_2lines.json.gz": (2, 2, 0),
        "wdtk_mock-dump-for-long-testing.json": (101, 0, 0),
        "wdtk_mock-dump-with-bugs.json": (101, 0, 0),
        "wdtk_sample-dump-20150815.json.gz": (101, 0, 0),
        "wikibrain_testDump.json.bz2": (1704, 399, 0),
    }
    PRETTY: ClassVar = {
        "qwikidata_wd_L3354.json",
        "qwikidata_wd_P279.json",
        "qwikidata_wd_Q42.json",
        "wdsub_humans.json.gz",
    }
    WIKIS: ClassVar = {"enwiki", "dewiki", "jawiki"}

    def test_every_file(self, data_dir: Path) -> None:
        parsed = {}
        wanted = wanted_filter(self.WIKIS)
        for path in sorted((data_dir / "wikidata").glob("*.json*")):
            if path.name in self.PRETTY:
                with pytest.raises(InputError, match="several lines"):
                    list(iter_lines(chunks_of(path), path.name))
                continue
            count: Counter[str] = Counter()
            for line in iter_lines(chunks_of(path), path.name):
                count["lines"] += 1
                try:
                    item = parse_item(line, self.WIKIS, {"en"})
                except BadLine:
                    count["bad"] += 1
                    continue
                if isinstance(item, Item):
                    assert wanted(line)
                    self.check(item, json.loads(line))
                    count["items"] += 1
                else:
                    assert not wanted(line)
            parsed[path.name] = (count["lines"], count["items"], count["bad"])
        assert parsed == self.EXPECTED

    def check(self, item: Item, entity: dict[str, Any]) -> None:
        """Against the same facts got the long way round."""
        assert item.qid == int(entity["id"][1:])
        assert dict(item.sitelinks) == {
            site: link["title"] for site, link in entity["sitelinks"].items() if site in self.WIKIS
        }
        for statement in entity["claims"].get("P31", []) if entity["claims"] else []:
            value = statement["mainsnak"].get("datavalue", {}).get("value", {})
            if value:
                assert value["numeric-id"] in item.instance_of_any_rank
        if item.type_route == "instance_of":
            assert set(item.types) <= set(item.instance_of_any_rank)

    def test_known_items(self, data_dir: Path) -> None:
        items = {}
        for path in sorted((data_dir / "wikidata").glob("opentapioca*")):
            for line in iter_lines(chunks_of(path)):
                item = parse_item(line, self.WIKIS, {"en"})
                assert isinstance(item, Item)
                items[item.qid] = item
        belgium = items[31]
        assert (belgium.types, belgium.type_route) == ((3624078, 43702, 6256), "instance_of")
        assert belgium.sitelinks == (("dewiki", "Belgien"), ("enwiki", "Belgium"), ("jawiki", "ベルギー"))
        assert belgium.labels == (("en", "Belgium"),)
        oslo = items[585]  # "capital" is preferred over city, municipality and the like
        assert (oslo.types, oslo.instance_of_any_rank) == ((5119,), (5119, 1549591, 755707, 192299, 515, 1306755))
