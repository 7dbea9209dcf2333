"""What a template shows by the wiki's own definition, and where that stands in the text."""

from __future__ import annotations

import contextlib
import random
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.wikimedia.core import core_of
from wikianchor.pipelines.wikimedia.core_rules import site_rules
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor
from wikianchor.pipelines.wikimedia.wikitext.braces import Argument, Call, parse_braces
from wikianchor.pipelines.wikimedia.wikitext.definitions import Definitions, template_title, transcluded
from wikianchor.pipelines.wikimedia.wikitext.expressions import ExpressionError, evaluate
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import UNKNOWN
from wikianchor.pipelines.wikimedia.wikitext.template_pages import Facts, definition_of, facts_of

PAGES = {
    "Bold": "'''{{{1}}}'''",
    "Country": "[[{{{1|}}}]]{{#if:{{{2|}}}|, in [[{{{2}}}]]}}",
    "Depth": "{{#switch:{{lc:{{{1|}}}}}|a|b=early|c=late|#default=unknown}}",
    "Age": "{{#expr:2020-{{{1}}}}}",
    "Note": '<sup class="noprint">[[[Help:Sources|source?]]]</sup>',
    "Box": '{| class="infobox"\n| {{{1}}}\n|}',
    "Notice": "''This page is short.''",
    "Lua": "{{#invoke:Units|main|{{{1}}}}}",
    "Length": "{{Lua|{{{1}}}}} long",
    "Convert": "{{#invoke:Convert|convert}}",
    "Sort": '<span style="display:none">0042</span>42',
    "Loop": "{{Loop}}",
    "Bomb": "{{Bomb}}{{Bomb}}{{Bomb}}",
    "Twice": "{{{1}}}{{{1}}}",
    "Title": "{{PAGENAME}}",
    "Broken": "{{#if:|",
}


PIECES = (
    *(
        "<noinclude>",
        "</NoInclude >",
        "<onlyinclude>",
        "</onlyinclude>",
        "<includeonly/>",
        "<noıncludE>",
        "<!--",
        "-->",
    ),
    *(
        "-->",
        "<ref>",
        "</ref>",
        "<nowiki>",
        "</nowiki>",
        "&lt;",
        "Vorlage:",
        "int:",
        "int: ß_a",
        "Benutzer:",
        "/",
        "#",
        "_",
    ),
    *("{{", "}}", "{{{", "}}}", "|", "=", "[[", "]]", ":", "\n", " ", "\u3000", "a", "Box", "#if:", "#invoke:A", "* "),
    *("[[C:a]]", "[[a]]", "{{NAMESPACE}}", "__DISAMBIG__", "<div>", "{{b|c=d}}", "{|"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_the_core_reads_the_same_of_a_template(body: str) -> None:
    core = core_of(None) or pytest.skip("NOT TESTED: the core is not installed: make core")
    site = site_for("dewiki")
    reader = core.TemplateReader(site_rules(site))
    facts = Facts(*reader.facts(body))
    assert facts._replace(names=set(facts.names)) == facts_of(body)
    assert (reader.transcluded(body), reader.title(body)) == (transcluded(body), template_title(body, site))


def extracted(text: str, wiki: str = "enwiki", pages: dict[str, str] = PAGES) -> Extract:
    bodies = {title: transcluded(body) for title, body in pages.items()}
    return Extractor(site_for(wiki), find_template=bodies.get).extract(text, "The page")


def shown(text: str, wiki: str = "enwiki", pages: dict[str, str] = PAGES) -> str:
    return extracted(text, wiki, pages).text.strip("\n")


@pytest.mark.parametrize("wikitext", ["{{notice}}", "{{box|a}}", "{{notice}} {{box|a}}", "  {{notice}}"])
def test_a_line_of_templates_shows_nothing(wikitext: str) -> None:
    assert shown(f"First line.\n\n{wikitext}\n\nLast line.").split("\n\n") == ["First line.", "", "Last line."] or (
        "short" not in shown(f"First line.\n\n{wikitext}\n\nLast line.")
    )


@pytest.mark.parametrize("prefix", ["Template:", " template : ", "subst:", "safesubst:"])
def test_prefixes_of_a_name_take_linear_time(prefix: str) -> None:
    definitions = Definitions(site_for("enwiki"), {"Call": "{{ {{{1}}} }}", "Title": "A"}.get)
    assert definitions.expand("call", {"1": prefix * 3 + "title"}, "A") == "A"
    start = time.process_time()
    assert definitions.expand("call", {"1": prefix * 50_000 + "title"}, "A") == "A"
    assert time.process_time() - start < 3


@pytest.mark.parametrize("name", ["loop", "bomb", "broken"])
def test_hostile_definitions_end(name: str) -> None:
    start = time.process_time()
    shown(f"It is {{{{{name}}}}} here. " * 5)
    assert time.process_time() - start < 5


def test_a_result_that_doubles_stays_small() -> None:
    text = "{{twice|" * 30 + "x" * 100 + "}}" * 30
    assert len(shown(f"It is {text} here.")) < 100_000


@pytest.mark.parametrize(
    "body",
    [
        "{{{1}}}" * 7_000,
        "{{#if:{{{1}}}|{{{1}}}}}" * 2_000,
        "{{lc:{{{1}}}}}" * 3_000,
        "{{#replace:" * 40 + "{{{1}}}" + "|x|xxxxxxxxxxxxxxxxxxxx}}" * 40,
    ],
)
def test_what_one_call_puts_together_is_bounded(body: str) -> None:
    definitions = Definitions(site_for("enwiki"), {"Large": body}.get)
    argument = "x" * 1_000_000
    tracemalloc.start()
    start = time.process_time()
    assert set(definitions.expand("large", {"1": argument}, "A") or "") == {UNKNOWN}
    assert time.process_time() - start < 3
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_what_rules_show_is_counted_too() -> None:
    definitions = Definitions(site_for("enwiki"), {}.get, fallback=lambda name, arguments: arguments["1"] * 2)
    start = time.process_time()
    assert UNKNOWN in definitions.evaluate("#if:" + "{{twice|" * 40 + "x" * 100 + "}}" * 40 + "|a", "A")
    assert time.process_time() - start < 3


def test_what_is_transcluded() -> None:
    assert transcluded("a<noinclude>b</noinclude>c<includeonly>d</includeonly>") == "acd"
    assert transcluded("a<onlyinclude>b</onlyinclude>c<onlyinclude>d</onlyinclude>") == "bd"
    assert transcluded("a<noinclude>b<!-- </noinclude> --> c</noinclude>d<noinclude>e") == "ad"
    assert transcluded("<nowiki>{{x}}</nowiki>") != "{{x}}"


@pytest.mark.parametrize(
    "text",
    ["{{a|[[b|c]]|d=e}}", "{{{1|{{b}}}}}", "{{{{{1}}}|x}}", "{{a", "a}}", "[[a|{{b}}", "{{a|b=c=d}}", "{{{{}}}}"],
)
def test_braces_lose_no_character(text: str) -> None:
    def flat(nodes: object) -> str:
        return nodes if isinstance(nodes, str) else "".join(map(flat, nodes or ()))  # type: ignore[call-overload]

    letters = [char for char in text if char.isalnum()]
    assert sorted(char for char in flat(parse_braces(text)) if char.isalnum()) == sorted(letters)


def test_the_first_sign_of_an_argument_ends_its_name() -> None:
    (call,) = parse_braces("{{a|{{b}}=c=d|{{\x00=}}}}")
    assert isinstance(call, Call)
    assert call.arguments[0] == Argument((Call(("b",), ()),), ("c=d",))
    assert call.arguments[1] == Argument(None, (Call(("\x00=",), ()),))


def test_calls_in_one_argument_take_linear_time() -> None:
    start = time.process_time()
    parse_braces("{{a|" + "{{b}}" * 50_000 + "=a" * 120_000 + "}}")
    assert time.process_time() - start < 3


def test_braces_take_linear_time() -> None:
    for piece in ("{{", "{{{", "[[", "{{a|", "}}", "{{a}}", "=", "|"):
        start = time.process_time()
        parse_braces(piece * 50_000)
        assert time.process_time() - start < 3, piece


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("2 ^ 10", "1024"), ("7 mod 3", "1"), ("-7 / 2", "-3.5")),
        *(
            ("2.5 round 0", "3"),
            ("1 > 2 or 3 = 3", "1"),
            ("not 1", "0"),
            ("trunc -1.5", "-1"),
            ("1/3", "0.333333333333"),
        ),
        ("", ""),
    ],
)
def test_expressions(text: str, value: str) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("1 +", "a", "1/0", "(1", "9^9^9^9", "(-8)^0.5", "abs((-8)^0.5)", "0^(-1)", "1" * 5000, "(" * 500),
        *("ceil 9 ^ ceil 300000000", "trunc 9 ^ floor 9 ^ ceil 9 ^ 9", "ceil(" + "9" * 400 + ")", "exp 9999"),
        *("9" * 300 + "*9" * 340, "9" * 990, "9" * 300 + " round 20", "1 round " + "9" * 300),
    ],
)
def test_what_is_no_expression_or_has_no_value_is_an_error_at_once(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ExpressionError):
        evaluate(text)
    assert time.process_time() - start < 0.1


def test_no_expression_takes_long() -> None:
    operands = ["9" * 300, "ceil", "trunc", "(", ")", "^", "*", "mod", "round", "exp", "pi", "-", "0.5", "abs", "ln"]
    start = time.process_time()
    for seed in range(2_000):
        choose = random.Random(seed)
        text = "9^" * choose.randrange(9) + " ".join(choose.choices(operands, k=choose.randrange(1, 60)))
        with contextlib.suppress(ExpressionError):
            evaluate(text)
    assert time.process_time() - start < 5


def test_a_call_of_an_unknown_template_is_not_known() -> None:
    definitions = Definitions(site_for("enwiki"), PAGES.get)
    assert definitions.expand("nowhere", {}, "A") is None
    assert definitions.expand("lua", {"1": "x"}, "A") == UNKNOWN


def test_kinds_of_definitions() -> None:
    kinds = {title: definition_of(body, str).kind for title, body in PAGES.items()}
    assert kinds.pop("Box") == "block"
    assert (kinds.pop("Lua"), kinds.pop("Convert")) == ("server", "server")
    assert set(kinds.values()) == {"text"}
    assert definition_of("x" * 60_000, str).kind == "long"
