"""Pages made to be slow: markup that is never closed, nested without end, or repeated a million times."""

from collections.abc import Callable
from typing import Any

from wikianchor.pipelines.wikimedia.core import core_of
from wikianchor.pipelines.wikimedia.core_rules import site_rules
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extractor
from wikianchor.pipelines.wikimedia.wikitext.templates import definitions_of

__all__ = ["DEFINITIONS", "HOSTILE", "make_extractor"]

DEFINITIONS = {
    "Call": "{{ {{{1}}} }}",
    "Echo": "{{{1}}}" * 7_000,
    "Tests": "{{#if:{{{1}}}|}}" * 3_000,
    "Copies": "{{#replace:{{#replace:{{#replace:{{{1}}}|a|aaaaaaaaaaaaaaaa}}|a|aaaaaaaaaaaaaaaa}}|a|aaaaaaaaaaaaaaaa}}",
    "Signs": "{{call|" + "{{call}}" * 2_500 + "=a" * 12_000 + "}}",
    "Power": "{{#expr: ceil 9 ^ ceil 300000000}}",
}
"""Templates of these pages."""


def make_extractor(wiki: str, engine: str) -> Any:
    """Return what extracts such pages with an engine, one of `choices.ENGINES`: `Extractor`, or that of the core.

    Raises:
        UsageError: the engine is the core, and it is not installed.
    """
    site, core = site_for(wiki), core_of(engine)
    if core is not None:
        return core.Extractor(site_rules(site), DEFINITIONS.get, definitions_of(site, DEFINITIONS.get), True)
    return Extractor(site, find_template=DEFINITIONS.get, asides=True)


def repeated(piece: str) -> Callable[[int], str]:
    """Return what makes a page of about a size from a piece."""
    return lambda size: piece * (size // len(piece))


def nested(opening: str, closing: str, core: str = "x") -> Callable[[int], str]:
    """Return what makes a page of about a size from markup within itself."""

    def page(size: int) -> str:
        depth = size // (len(opening) + len(closing))
        return opening * depth + core + closing * depth

    return page


HOSTILE: dict[str, Callable[[int], str]] = {
    "unclosed {{": repeated("{{a|b "),
    "unclosed {{ alone": repeated("{{"),
    "unclosed [[": repeated("[[Foo|bar "),
    "unclosed [[ alone": repeated("["),
    "unclosed [[File:": repeated("[[File:a.jpg|thumb|b "),
    "[[File: with links": repeated("[[File:a.jpg|thumb|b [[c]] "),
    "one [[File: and links": lambda size: "[[File:a.jpg|thumb|" + "[[c]] " * (size // 6),
    "closed [[File:": repeated("[[File:a.jpg|thumb|[[b]] c]] "),
    "nested [[File:": nested("[[File:a|", "]]"),
    "unclosed <ref>": repeated("<ref>a "),
    "unclosed <ref": repeated("<ref "),
    "many tags without end": repeated("<ref <math <nowiki "),
    "unclosed <ref> of many kinds": repeated("<ref><math><gallery><nowiki><pre><score><timeline> "),
    "many </ref>": repeated("</ref>"),
    "<ref/> in a row": repeated("<ref/>"),
    "unclosed <!--": repeated("<!-- a "),
    "comments in a row": repeated("<!---->"),
    "comments and blanks": repeated("<!-- -->     "),
    "unclosed {|": repeated("\n{| a"),
    "nested {|": nested("\n{|", "\n|}"),
    "unclosed <table>": repeated("<table a "),
    "nested {{ }}": nested("{{a|", "}}"),
    "nested {{small}}": nested("{{small|[[b]]", "}}"),
    "nested {{{ }}}": nested("{{{a|", "}}}"),
    "braces": nested("{", "}"),
    "closing braces": repeated("}}"),
    "closing braces apart": repeated("}} "),
    "mixed braces": repeated("{{{}}{{}}}"),
    "links in one template": lambda size: "{{small|" + "[[a|b]]|" * (size // 8) + "}}",
    "arguments": lambda size: "{{convert" + "|1|to" * (size // 5) + "}}",
    "nested [[": nested("[[a|", "]]"),
    "quotes": repeated("'"),
    "quotes of all lengths": repeated("''a'''b''''c'''''d''''''"),
    "quotes without balance": repeated("'''a ''b"),
    "=": repeated("="),
    "= = =": repeated("= "),
    "lines that go on": repeated("word \nand, "),
    "signs after blanks": repeated(" ."),
    "signs after what is removed": repeated("a <ref/>{{fact}} . "),
    "numbers of notes": repeated(". [1]"),
    "bullets": repeated("• - \n"),
    "headings without end": repeated("\n== a "),
    "headings": repeated("\n== a =="),
    "= and blanks": lambda size: "=" * 6 + (" " * 100 + "=") * (size // 101) + "x",
    "[http:// in one line": repeated("[http://a.b/c d "),
    "[http:// without blanks": repeated("[http://"),
    "[http:// and [[": repeated("[http://a.b [[c "),
    "[http:// and links": lambda size: "[http://a.b " + "[[c]] " * (size // 6),
    "[[http://": repeated("[[http://a.b]] "),
    "list marks": repeated("*"),
    "nested lists": lambda size: "".join(
        "\n" + "*#:;"[depth % 4] * depth + " a" for depth in range(int((size * 2) ** 0.5))
    ),
    "terms": repeated("\n;a:b"),
    "one term": lambda size: "\n;" + "[[a" * (size // 3),
    "one term in quotes": lambda size: "\n;" + "''a:b" * (size // 5),
    "nested -{ }-": nested("-{zh-hans:", "}-"),
    "unclosed -{": repeated("-{zh-hans:a;"),
    "one -{ }-": lambda size: "-{" + "zh-hans:a;" * (size // 10) + "}-",
    "-{ }- of blanks": lambda size: "-{" + " " * size + "}-",
    "-{ }- of =>": lambda size: "-{" + ";a=>" * (size // 4) + "}-",
    "entities": repeated("&amp;"),
    "entities without end": repeated("&#x"),
    "entities of letters": repeated("&abcdefghijklmnopqrstuvwxyz"),
    "blanks": repeated(" "),
    "tabs": repeated("\t"),
    "blank lines": repeated(" \n"),
    "nested <div>": nested("<div>", "</div>"),
    "unclosed <div": repeated("<div "),
    "<": repeated("<"),
    "__": repeated("__"),
    "__NOTOC__": repeated("__NOTOC"),
    "one word": repeated("a"),
    "one number": lambda size: "{{formatnum:" + "1" * size + "}}",
    "one target": lambda size: "[[" + "a" * size + "]]",
    "one target of %": lambda size: "[[" + "%41" * (size // 3) + "]]",
    "one target of colons": lambda size: "[[" + "en:" * (size // 3) + "]]",
    "long targets": lambda size: "".join(f"[[{number:0290}]]" for number in range(size // 294)),
    "links without blanks": repeated("[[a]]b"),
    "letters and links": repeated("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa[[a]]"),
    "|": repeated("|"),
    "]]": repeated("]]"),
    "rows": repeated("\n|}"),
    "text outside of cells": repeated("\n{|\nx\n{|\n|}\n"),
    "tables in HTML tables": repeated("<table><table>\nx</table>"),
    "cells after </table>": lambda size: "\n{|\nx\n</table>" + "\n| a || b" * (size // 10),
    "blank rows": lambda size: "\n{|" + "\n|-\n    " * (size // 8),
    "tags over lines": repeated("<span \n"),
    "tags in a target": lambda size: "[[" + "a" * (size // 2) + "<b>" * (size // 6),
    "unclosed <pre>": repeated("<pre>\n* "),
    "quotes in targets": repeated("[[a''"),
    "external links in a label": repeated("[[a|[http://b c] "),
    "external links in a term": lambda size: ";" + "[http://a :b] " * (size // 14),
    "tabs in targets": repeated("[[a\t"),
    "links in cells": lambda size: "\n{|" + "\n| a || [[b]]" * (size // 14),
    "links in cells of one line": lambda size: "\n{|\n!" + "a=b!![[c]]" * (size // 10),
    "marks of cells in one line": lambda size: "\n{|\n[[a]]\n!" + "!!" * (size // 2),
    "blanks before a cell": lambda size: "\n{|\n[[a]]\n" + " " * size,
    "links in captions": lambda size: "[[File:a.jpg|thumb|" + "x|" * (size // 2) + "[[b]] [[c]]]]",
    "colons before a table": repeated("\n:::::::::::::::::::{"),
    "one line of colons": lambda size: "\n" + ":" * size + "{|",
    "----": repeated("\n----"),
    "prefixes of a template": lambda size: "a {{call|" + "Template:" * (size // 9) + "b}}",
    "prefixes of a call": lambda size: "a {{call|" + "subst:" * (size // 6) + "b}}",
    "a long argument that is shown often": lambda size: "a {{echo|" + "b " * (size // 2) + "}}",
    "a long argument that is tested often": lambda size: "a {{tests|" + "b " * (size // 2) + "}}",
    "an argument that grows": lambda size: "a {{copies|" + "ab" * (size // 2) + "}}",
    "calls and signs in an argument": lambda size: "a {{signs}}" + " {{power}}" * (size // 1_000),
    "a function of signs": lambda size: "a {{#if:b|" + "=c" * (size // 2) + "}}",
    "powers": repeated("a {{#expr: ceil 9 ^ ceil 3000000}}\n"),
    "tables in cells after </table>": lambda size: "\n{|\nx\n</table>" + "\n| a || <table>[[b]]</table>" * (size // 28),
}
