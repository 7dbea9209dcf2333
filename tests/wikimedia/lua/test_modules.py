"""Lua modules: the libraries, the limits on hostile ones, and the process that runs them."""

import os
import signal
from collections.abc import Iterator

import pytest

from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.wikimedia.core import installed_core
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.lua import process
from wikianchor.pipelines.wikimedia.lua.patterns import in_ascii_class, read_pattern
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext.definitions import Definitions
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import UNKNOWN
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP
from wikianchor.pipelines.wikimedia.wikitext.served import FACTS, DumpFacts

pytest.importorskip("lupa")
needs_core = pytest.mark.skipif(installed_core() is None, reason="NO COMPILED CORE: make core")
TEMPLATES = {
    FACTS: DumpFacts("20260320", lua=True).text(),
    "Mark": "({{{1}}})",
    "Called": "{{#invoke:Echo|main|{{{1|}}}}}",
    "Module:Echo": "return {main = function(frame) return frame.args[1] .. '!' end}",
    "Module:Data": "return {a = {1, 2, 3}, b = 'x'}",
    "Module:Data.css": ".b {display: none}",
    "Module:Data.json": '{"a": [4, 5]}',
}


class Runner:
    """Runs the body of a function of a module, which has `frame`."""

    def __init__(self) -> None:
        self.pages = dict(TEMPLATES)
        self.definitions = Definitions(site_for("enwiki"), self.pages.get)
        self.number = 0

    def __call__(self, body: str, *, begins: bool = True, **arguments: str) -> str:
        if begins:
            self.definitions.begin(0)
        self.number += 1
        name = f"Test {self.number}"
        self.pages[f"Module:{name}"] = f"local p = {{}} function p.main(frame) {body} end return p"
        given = "".join(f"|{key}={value}" for key, value in arguments.items())
        return self.definitions.evaluate(f"#invoke:{name}|main{given}", "A/b")

    def close(self) -> None:
        assert self.definitions._modules is not None
        self.definitions._modules.close()


@pytest.fixture(scope="module")
def run() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("return 1 .. 'a'", "1a"),
        ("return frame.args.x .. #frame.args", "y0"),
        ("local t = {} for k, v in pairs(frame.args) do t[#t + 1] = k .. v end return table.concat(t, ',')", "xy"),
        ("return frame:preprocess('{{mark|{{{x}}}}}{{#if:|a|b}}')", "(y)b"),
        ("return frame:expandTemplate{title = 'mark', args = {'z'}}", "(z)"),
        ("return frame:callParserFunction('#ifeq', 'a', 'a', 'same', 'other')", "same"),
        ("return frame:callParserFunction('uc:abc')", "ABC"),
        ("return frame:preprocess('{{called|a}}')", "a!"),
        ("return frame:getTitle() .. frame:getParent():getTitle()", "Module:Test NA/b"),
        ("return frame:extensionTag('ref', 'x') .. 'a'", "a"),
        ("return mw.text.trim('  a b ') .. mw.text.trim('xax', 'x')", "a ba"),
        ("return table.concat(mw.text.split('a, b,c', ',%s*'), '|')", "a|b|c"),
        ("return table.concat(mw.text.split('abc', ''), '|')", "a|b|c"),
        ("return mw.text.listToText({'a', 'b', 'c'})", "a, b and c"),
        ("return mw.text.encode('<a>') .. mw.text.decode('&lt;&eacute;', true)", "&lt;a&gt;<é"),
        ("return mw.text.jsonEncode{1, 'a', {b = true}} .. mw.text.jsonDecode('[7]')[1]", '[1,"a",{"b":true}]7'),
        ("return mw.text.tag('i', {b = 'c'}, 'd')", '<i b="c">d</i>'),
        ("return mw.ustring.len('日本') .. mw.ustring.sub('日本語', 2, -2) .. mw.ustring.upper('é')", "2本É"),
        ("return mw.ustring.match('日本語 a', '(%a+)%s(%a)')", "日本語a"),
        ("return (mw.ustring.gsub('a−b', '−', {['−'] = '-'}))", "a-b"),
        ("return table.concat({mw.ustring.find('日本語', '本')}, ',')", "2,2"),
        ("return mw.ustring.char(228) .. mw.ustring.codepoint('ä')", "ä228"),
        ("return mw.title.getCurrentTitle().text .. mw.title.new('talk:a_b#c').prefixedText", "A/bTalk:A b"),
        ("return mw.title.makeTitle('Template', 'x').fullText", "Template:X"),
        ("return tostring(mw.title.getCurrentTitle().exists)", "true"),
        ("return 'a' .. (mw.title.new('B').exists and '' or '[[Category:C]]')", "a[[Category:C]]"),
        ("return frame:preprocess('{{CURRENTYEAR}} {{#time:Y|1985}}')", "2026 1985"),
        ("return frame:preprocess('{{#ifexist:B|a|a}}{{REVISIONID}}')", "a-"),
        ("frame:extensionTag('templatestyles', '', {src = 'Module:Data.css'}) return 'a<sup class=\"b\">c</sup>'", "a"),
        ("return tostring(mw.title.new('a|b'))", "nil"),
        ("return mw.language.getContentLanguage():formatNum(12345.5)", "12,345.5"),
        ("return mw.language.new('en'):ucfirst('abc') .. mw.language.fetchLanguageName('fr')", "Abcfrançais"),
        ("return mw.getContentLanguage():formatDate('j F Y', '2010-05-02')", "2 May 2010"),
        ("return os.date('%Y-%m-%d') .. os.time{year = 1970, month = 1, day = 1, hour = 0}", "2026-03-200"),
        ("return tostring(mw.html.create('b'):css('a', 'c'):wikitext('x'):tag('br'):allDone())", None),
        ("return mw.uri.encode('a b&') .. mw.uri.encode('a b', 'WIKI')", "a+b%26a_b"),
        ("return mw.message.newRawMessage('$1-$2', 'a', 'b'):plain()", "a-b"),
        ("return mw.site.namespaces[10].name .. mw.site.namespaces.talk.id", "Template1"),
        (
            "local d = mw.loadData('Module:Data') local n = 0 for _, v in ipairs(d.a) do n = n + v end return n .. d.b",
            "6x",
        ),
        ("return mw.loadJsonData('Module:Data.json').a[2]", "5"),
        ("return tostring(pcall(function() mw.loadData('Module:Data').b = 1 end))", "false"),
        ("return require('Module:Echo').main{args = {'b'}}", "b!"),
        ("return tostring({}) .. tostring(print) .. tostring(nil)", "tablenilnil"),
        ("require('strict') return tostring(pcall(function() return undefined end))", "false"),
        ("return mw.clone({a = {1}}).a[1]", "1"),
        ("return string.format('%05.1f|%s', 2.25, 'a') .. ('x'):rep(3)", "002.2|axxx"),
        # Neither files nor what loads code, nor another call's changes.
        ("return tostring(io) .. tostring(loadstring) .. tostring(package.path) .. tostring(os.execute)", "nil" * 4),
        ("return tostring(python) .. tostring(debug.getinfo) .. tostring(coroutine)", "nil" * 3),
        ("return tostring(collectgarbage)", "nil"),
        ("string.format = nil mw.text = nil leaked = 1 return getmetatable('') == false and 'a' or 'b'", "a"),
        ("return string.format('%d', 1) .. mw.text.trim(' b') .. tostring(leaked)", "1bnil"),
    ],
)  # fmt: skip
def test_a_module_shows_what_its_function_returns(run: Runner, body: str, shown: str | None) -> None:
    result = run(body, x="y").replace(f"Test {run.number}", "Test N")
    assert result == ('<b style="a:c">x<br /></b>' if shown is None else shown)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("^%s*(.-)%s*$", " " * 500 + "a b" + " " * 500, "a b"),
        ("(a*)(.-)(b+)$", "a" * 300 + "c" + "b" * 300, "a" * 300),
        ("%b()x", "(" * 90 + ")" * 90 + "x" + " " * 3000, "(" * 90 + ")" * 90 + "x"),
        ("%f[%w]%w+%f[%W]%s*$", "-" * 3000 + "word", "word"),
        ("(.)%1(.-)d$", "abccx" + "e" * 2000 + "d", "c"),
        ("[^%a%d]-(%u)", "a" * 2000 + "--B" + "c" * 90000, "B"),
    ],
)
def test_the_counted_matcher_finds_what_that_of_lua_finds(run: Runner, pattern: str, text: str, expected: str) -> None:
    assert (
        run(f"return (string.match(frame.args.t, '{pattern}'))", t=text.replace(" ", "\t")).replace("\t", " ")
        == expected
    )


HOSTILE = {
    "loop": "while true do end",
    "swallowed": "while true do pcall(function() while true do end end) end",
    "swallowed by xpcall": "local function f() while true do end end while true do xpcall(f, f) end",
    "recursion": "local function f() return 1 + f() end return f()",
    "recursion through pcall": "local function f() pcall(f) f() end f()",
    "recursion through a metatable": (
        "local t t = setmetatable({}, {__index = function(_, k) return t[k .. 1] end}) return t.a"
    ),
    "recursion through gsub": "local function f(s) return (s:gsub('.', f)) end return f('ab')",
    "doubling": "local s = 'x' while true do s = s .. s end",
    "doubling in pcall": "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end",
    "rep": "while true do local s = ('x'):rep(1e7) end",
    "rep of all memory": "return ('x'):rep(1e10)",
    "format": "local s = ('x'):rep(1e6) while true do s = ('%s%s'):format(s, s) end",
    "table": "local t = {} for i = 1, 1e12 do t[i] = {} end",
    "keys": "local t = {} for i = 1, 1e12 do t[i] = {i} end",
    "pattern": "return string.match(('a'):rep(3000), '.-.-.-.-.-.-b')",
    "pattern of stars": "return string.find(('a'):rep(5000), ('a*'):rep(30) .. 'b')",
    "pattern of characters": "return mw.ustring.find(('ä'):rep(3000), ('ä*'):rep(30) .. 'b')",
    "many patterns": "while true do string.find(('a'):rep(200), '.-b') end",
    "sort": "local t = {} for i = 1, 1e5 do t[i] = -i end while true do table.sort(t) end",
    "insert": "local t = {} while true do table.insert(t, 1, 1) end",
    "concat": "local t = {} for i = 1, 1e4 do t[i] = ('x'):rep(1000) end while true do table.concat(t) end",
    "next of an emptied table": (
        "local t = {} for i = 1, 1e6 do t[i] = 1 end for i = 1, 1e6 do t[i] = nil end while true do next(t) end"
    ),
    "maxn": "local t = {} for i = 1, 1e6 do t[i] = 1 end while true do table.maxn(t) end",
    "select": "local t = {} for i = 1, 7000 do t[i] = 1 end while true do select(2, unpack(t)) end",
    "tonumber": "local s = ('1'):rep(1e6) while true do tonumber(s) end",
    "find": "local s = ('a'):rep(1e6) while true do s:find(('a'):rep(5e5) .. 'b', 1, true) end",
    "trim": "local s = (' '):rep(1e6) while true do mw.text.trim(s) end",
    "number": "local s, l = ('1'):rep(1e5), mw.getContentLanguage() while true do l:formatNum(s) end",
    "JSON": "local s = '[' .. ('1,'):rep(1e5) .. '1]' while true do mw.text.jsonDecode(s) end",
    "long characters": "local s = ('ä'):rep(5e5) while true do mw.ustring.len(mw.ustring.upper(s)) end",
    "calls": "while true do frame:preprocess('{{called|' .. #frame:getTitle() .. '}}') end",
    "calls of itself": "return frame:preprocess('{{#invoke:' .. frame:getTitle():sub(8) .. '|main}}')",
    "syntax": "return ((((",
    "no function": "end p = {} function p.other()",
    "error": "error('no')",
    "error with a table": "error({})",
    "addresses as keys": "local t = {} for k in pairs({[{}] = 1, [{}] = 2}) do t[#t + 1] = tostring(k) end return #t",
    "statistics": "return mw.site.stats.articles",
    "wikibase": "return mw.wikibase.getLabel('Q1')",
    "existence": "return tostring(mw.title.new('B').exists)",
    "existence in pcall": "return tostring(pcall(function() return mw.title.new('B').exists and 'a' or error() end))",
    "random": "return math.random()",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_fails_or_reaches_a_limit_is_unknown_and_the_next_call_is_right(run: Runner, name: str) -> None:
    assert run(HOSTILE[name]) == UNKNOWN
    assert run("return 'fine'") == "fine"


def test_what_a_module_was_given_and_does_not_show_is_unknown(run: Runner) -> None:
    assert run("return frame.args.x .. '!'", x=f"a{GAP}") == f"a{GAP}!"
    assert run("return #frame.args.x", x=f"a{GAP}") == UNKNOWN
    # Control characters stand for markup in the engines.
    assert run("return 'a\\1\\0\\2b\\31'") == "ab"


def test_citations_are_left_out_and_their_modules_are_not_run() -> None:
    pages = TEMPLATES | {"Cite web": "{{#invoke:Echo|main|a}}", "Coord": "{{#invoke:Echo|main|b}}"}
    extract = make_extractor(site_for("enwiki"), pages.get, engine="python").extract("x{{cite web}} {{coord}} y", "A")
    assert (extract.text.strip(), extract.gaps) == ("x b! y", [])


def test_a_page_has_a_budget(run: Runner) -> None:
    run.definitions.begin(0)
    shown = [
        run(f"local n = {number} for i = 1, 1e6 do n = n + i end return 'a'", begins=False) for number in range(20)
    ]
    assert shown[0] == "a"
    assert shown[-1] == UNKNOWN
    assert run("return 'b'") == "b"


def test_results_do_not_depend_on_the_calls_before(run: Runner) -> None:
    body = "local t = {} for i = 1, 300000 do t[i] = 'a' .. i end return #t"
    first, second = Runner(), Runner()
    second(HOSTILE["doubling"])
    second(HOSTILE["table"])
    assert first(body) == second(body) == run(body)
    first.close()
    second.close()


def test_data_of_a_page_is_not_that_of_another(run: Runner) -> None:
    run.pages["Module:Title"] = "return {title = mw.title.getCurrentTitle().text}"
    run.pages["Module:Shown"] = "return {main = function() return mw.loadData('Module:Title').title end}"
    assert [run.definitions.evaluate("#invoke:Shown|main", page) for page in ("B", "C", "B")] == ["B", "C", "B"]


def end_process(run: Runner, number: signal.Signals) -> None:
    """Start the process of modules, and end it by a signal."""
    assert run("return 'a'") == "a"
    assert run.definitions._modules is not None
    child = run.definitions._modules._process._process
    assert child is not None
    os.kill(child.pid, number)
    child.wait()


def test_a_killed_process_is_replaced(run: Runner) -> None:
    end_process(run, signal.SIGKILL)
    assert run("return 'b'") == "b"


def test_a_call_that_takes_too_long_without_instructions_is_an_error(run: Runner) -> None:
    end_process(run, signal.SIGXCPU)
    with pytest.raises(InputError, match=r"Module:Test .*: main takes a minute of CPU"):
        run("return 'b'")
    assert run("return 'c'") == "c"


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_CHILD", "tests.wikimedia.lua.without_lupa")
    with pytest.raises(UsageError, match="pip install lupa"):
        Runner()("return 1")


@pytest.mark.parametrize("engine", ["python", pytest.param("core", marks=needs_core)])
def test_both_engines_show_the_same(engine: str) -> None:
    pages = TEMPLATES | {
        "Module:Sum": "return {sum = function(f) return f.args[1] + f:getParent().args[1] end, no = error}",
        "Sum": "{{#invoke:Sum|sum|2}}",
        "Bad": "a {{#invoke:Sum|no}}",
    }
    page = "Of {{sum|3}} and {{#invoke:Echo|main|b}} in {{ns:10}} on {{#time:j xg Y}}: {{#language:de}}"
    page += "{{int:and}} {{bad}}."
    extract = make_extractor(site_for("enwiki"), pages.get, engine=engine).extract(page, "A")
    assert extract.text.strip() == f"Of 5 and b! in Template on 20 March 2026: Deutsch and a {GAP}."
    assert extract.gaps == ["bad"]


@pytest.mark.parametrize(
    ("pattern", "exponent"), [("abc", 1), ("^abc", 0), ("%d+", 1), ("^%s*(.-)%s*$", 3), ("^(%d+)", 0), ("a-b", 2)]
)
def test_the_steps_of_a_pattern_are_bounded_by_a_power(pattern: str, exponent: int) -> None:
    assert read_pattern(list(pattern.encode()), in_ascii_class).exponent == exponent
