"""Write `pipelines/wikimedia/data/languages.json`: how wikitext differs between languages.

    python tools/language_facts.py MEDIAWIKI_DIR SITEINFO_JSON

MEDIAWIKI_DIR is an unpacked MediaWiki release; the `php` command reads its language files. SITEINFO_JSON is the answer
of https://en.wikipedia.org/w/api.php?action=query&meta=siteinfo&siprop=interwikimap&format=json&formatversion=2

The file has one line per language with the values of its own language files. `pipelines/wikimedia/languages.py` merges
it with the fallback languages, as described at https://www.mediawiki.org/wiki/Localisation_file_format
"""

import argparse
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).resolve().parent.parent / "pipelines" / "wikimedia" / "data" / "languages.json"

CANONICAL_NAMESPACES = {
    -2: "Media",
    -1: "Special",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}
# PHP constants of the namespaces.
NAMESPACE_CONSTANTS = {"NS_MAIN": 0} | {
    "NS_" + name.upper().replace(" ", "_"): key for key, name in CANONICAL_NAMESPACES.items()
}

# Behaviour switches of extensions that all Wikimedia wikis have. They are not in MediaWiki's own files.
EXTENSION_SWITCHES = ["__DISAMBIG__", "__EXPECTED_UNCONNECTED_PAGE__", "__NOGLOBAL__"]

# Languages whose PHP class capitalises i as İ. Languages that fall back to one of them use its class.
DOTTED_I_CLASSES = {"az", "kaa", "tr"}

# Wikipedias that are newer than the interwiki map. With a newer map, the list is superfluous but still correct.
YOUNG_WIKIPEDIAS = (
    "ami ann anp bbc bdr bew blk btm dag dga dtp fat fon gpe guc gur guw iba igl kcg kge knc kus mos nr nup pcm pwn "
    "rki rsk shi syl tdd tig tly zgh"
)

# Magic words and parser functions that the engine knows, by MediaWiki's name.
PAGE_WORDS = {
    name: name.upper()
    for name in (
        *(f"{part}pagename{encoded}" for part in ("", "full", "sub", "base", "root") for encoded in ("", "e")),
        *("namespace", "namespacee", "namespacenumber"),
    )
}
FUNCTION_WORDS = {
    **{name: name for name in ("lc", "uc", "lcfirst", "ucfirst", "formatnum", "padleft", "padright", "plural")},
    **{name: name for name in ("fullurl", "localurl", "canonicalurl", "urlencode", "anchorencode", "filepath")},
    **{name: name for name in ("defaultsort", "displaytitle", "subst", "safesubst")},
    **{name: f"#{name}" for name in ("tag", "if", "ifeq", "ifexpr", "iferror", "switch", "expr", "titleparts")},
}

READ_LANGUAGES = r"""
[ $root, $constants ] = json_decode( stream_get_contents( STDIN ), true );
foreach ( $constants as $name => $key ) { define( $name, $key ); }
function facts( $file ) {
    include $file;
    return array_filter( [
        'fallback' => $fallback ?? null, 'linkTrail' => $linkTrail ?? null,
        'linkPrefixExtension' => $linkPrefixExtension ?? null, 'linkPrefixCharset' => $linkPrefixCharset ?? null,
        'namespaceNames' => $namespaceNames ?? null, 'namespaceAliases' => $namespaceAliases ?? null,
        'namespaceGenderAliases' => $namespaceGenderAliases ?? null, 'magicWords' => $magicWords ?? null,
    ], static function ( $fact ) { return $fact !== null; } );
}
$all = [];
foreach ( glob( "$root/languages/messages/Messages*.php" ) as $file ) { $all[basename( $file )] = facts( $file ); }
foreach ( [ "$root/includes/languages/data/Names.php", "$root/languages/data/Names.php" ] as $file ) {
    if ( is_file( $file ) ) { include_once $file; }
}
$names = class_exists( 'MediaWiki\Languages\Data\Names' ) ? MediaWiki\Languages\Data\Names::$names : [];
$magicWords = [];
if ( is_file( "$root/extensions/ParserFunctions/ParserFunctions.i18n.magic.php" ) ) {
    include "$root/extensions/ParserFunctions/ParserFunctions.i18n.magic.php";
}
foreach ( $magicWords as $code => $words ) {
    $name = 'Messages' . ucfirst( str_replace( '-', '_', $code ) ) . '.php';
    if ( $code !== 'en' && isset( $all[$name] ) ) { $all[$name]['functions'] = $words; }
}
echo json_encode( [ $all, array_keys( $names ) ], JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR );
"""


def main() -> None:
    """Read the inputs and write the file.

    Raises:
        SystemExit: MEDIAWIKI_DIR is no MediaWiki.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mediawiki", type=Path, metavar="MEDIAWIKI_DIR")
    parser.add_argument("siteinfo", type=Path, metavar="SITEINFO_JSON")
    args = parser.parse_args()
    if not (args.mediawiki / "languages" / "messages" / "MessagesEn.php").is_file():
        raise SystemExit(f"{args.mediawiki} has no languages/messages/MessagesEn.php: name an unpacked MediaWiki")
    files, names = read_languages(args.mediawiki)
    variants = read_variants(args.mediawiki)
    classes = read_classes(args.mediawiki)
    english = {name: synonyms(entry) for name, entry in files["en"]["magicWords"].items()}
    languages = {code: language_line(facts, english, variants.get(code, [])) for code, facts in files.items()}
    for code in names:
        languages.setdefault(code, {})
    for code, line in languages.items():
        with_class = [c for c in (code, *line.get("fallbacks", [])) if c in classes]
        if with_class and with_class[0] in DOTTED_I_CLASSES:
            line["dotted_i"] = True
    languages["en"]["switches"] = sorted({*languages["en"]["switches"], *EXTENSION_SWITCHES})

    rows = json.loads(args.siteinfo.read_text(encoding="utf-8"))["query"]["interwikimap"]
    interlanguage = sorted({row["prefix"] for row in rows if "language" in row} | set(YOUNG_WIKIPEDIAS.split()))
    interwiki = sorted({row["prefix"] for row in rows} - set(interlanguage))
    write(languages, interlanguage, interwiki)


def read_languages(mediawiki: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the variables of each Messages file by language code, and all codes for which MediaWiki has a name."""
    php = subprocess.run(
        ["php", "-d", "display_errors=stderr", "-r", READ_LANGUAGES],
        input=json.dumps([str(mediawiki), NAMESPACE_CONSTANTS]),
        capture_output=True,
        text=True,
        check=False,
    )
    if php.returncode or php.stderr:
        raise SystemExit(f"php could not read the language files of {mediawiki}: {php.stderr.strip()}")
    files, names = json.loads(php.stdout)
    return {
        code_of(name.removeprefix("Messages").removesuffix(".php")): dict(f or {}) for name, f in files.items()
    }, names


def code_of(name: str) -> str:
    """Return the language code in a file name.

    >>> code_of("Zh_hans")
    'zh-hans'
    """
    return name.lower().replace("_", "-")


def read_variants(mediawiki: Path) -> dict[str, list[str]]:
    """Return the variants of each language converter, the language itself included. Pig Latin is left out."""
    variants = {}
    for path in sorted((mediawiki / "includes" / "language" / "converters").glob("*Converter.php")):
        code = code_of(path.name.removesuffix("Converter.php"))
        match = re.search(r"function getLanguageVariants\(\)[^{]*\{\s*return \[([^\]]*)\]", path.read_text("utf-8"))
        if not match:
            raise SystemExit(f"{path}: getLanguageVariants returns no list of variants: adapt tools/language_facts.py")
        if code != "en":
            variants[code] = re.findall(r"'([^']+)'", match[1])
    return variants


def read_classes(mediawiki: Path) -> set[str]:
    """Return the languages that have a PHP class besides their Messages file."""
    paths = (mediawiki / "includes" / "languages").glob("Language*.php")
    return {code_of(path.stem.removeprefix("Language")) for path in paths} - {"en"}


def language_line(facts: Mapping[str, Any], english: Mapping[str, list[str]], variants: list[str]) -> dict[str, Any]:
    """Convert the variables of a Messages file to an entry of `languages.json`; values that repeat English are left
    out.

    Args:
        facts: variables of the Messages file.
        english: magic words of MessagesEn.php, which all languages accept; they show which words are switches.
        variants: those of the language converter.
    """
    # Names with $1 contain the name of the site, which is not in the file; so do the names of namespaces 4 and 5. One
    # file quotes namespace constants, so these aliases do not work in MediaWiki either.
    names = {int(key): spaced(name) for key, name in dict(facts.get("namespaceNames") or {}).items() if name}
    aliases = {
        spaced(name): key
        for name, key in dict(facts.get("namespaceAliases") or {}).items()
        if isinstance(key, int) and "$1" not in name
    }
    genders = {
        spaced(name): int(key)
        for key, forms in dict(facts.get("namespaceGenderAliases") or {}).items()
        for name in forms.values()
    }
    words = {name: synonyms(entry) for name, entry in dict(facts.get("magicWords") or {}).items()}
    if words != english:
        words = {name: [w for w in group if w not in english.get(name, [])] for name, group in words.items()}
    # Some files list a word without its underscores by mistake; it would be removed from ordinary text.
    switches = {
        word
        for name, group in words.items()
        if english.get(name, [""])[0].startswith("__")
        for word in group
        if word[0] in "_＿" and word[-1] in "_＿"
    }
    known = {**words, **{name: synonyms(entry) for name, entry in dict(facts.get("functions") or {}).items()}}
    local = {word: PAGE_WORDS[name] for name in known if name in PAGE_WORDS for word in known[name]}
    for name in known.keys() & FUNCTION_WORDS.keys():
        sign = FUNCTION_WORDS[name][: FUNCTION_WORDS[name].count("#")]
        local |= {sign + word.lower().rstrip(":"): FUNCTION_WORDS[name] for word in known[name]}
    # None is left out; what says that a language differs from its fallback is kept, also where it is empty.
    line = {
        "fallbacks": [code.strip() for code in facts["fallback"].split(",")] if facts.get("fallback") else None,
        "link_trail": python_trail(facts["linkTrail"]) if "linkTrail" in facts else None,
        "has_link_prefix": bool(facts["linkPrefixExtension"]) if "linkPrefixExtension" in facts else None,
        "link_prefix": code_points(facts["linkPrefixCharset"]) if "linkPrefixCharset" in facts else None,
        "variants": variants or None,
        "namespaces": {str(key): names[key] for key in sorted(names) if key not in (4, 5)} or None,
        "namespace_aliases": dict(sorted(aliases.items())) or None,
        "gender_aliases": dict(sorted(genders.items())) if "namespaceGenderAliases" in facts else None,
        "redirect_words": words.get("redirect") or None,
        "switches": sorted(switches) or None,
        "image_words": {name: words[name] for name in sorted(words) if name.startswith("img_") and words[name]} or None,
        "words": {word: meaning for word, meaning in sorted(local.items()) if word != meaning} or None,
    }
    return {name: value for name, value in line.items() if value is not None}


def python_trail(pattern: str) -> str:
    """Return the pattern of a link trail from MediaWiki's pattern, which splits a text into trail and rest.

    >>> python_trail("/^([a-z]+)(.*)$/sD")
    '[a-z]+'
    """
    match = re.fullmatch(r"/\^\((.*)\)\(\.\*\)\$/[usD]+", pattern)
    if not match:
        raise SystemExit(f"link trail of an unknown form: {pattern}: adapt python_trail")
    trail = code_points(match[1])
    re.compile(trail)
    return trail


def code_points(pattern: str) -> str:
    """Replace PHP's `\\x{0900}` in a pattern by Python's `\\u0900`."""

    def escape(match: re.Match[str]) -> str:
        code = int(match[1], 16)
        return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"

    return re.sub(r"\\x\{([0-9A-Fa-f]+)\}", escape, pattern)


def synonyms(entry: Any) -> list[str]:
    """Return the words of a magic word. Its first value, whether case matters, is skipped."""
    values = list(entry.values()) if isinstance(entry, dict) else list(entry)
    return [word for word in values[1:] if isinstance(word, str) and word]


def spaced(name: str) -> str:
    """Return a namespace name with spaces, as in titles."""
    return name.replace("_", " ")


def write(languages: Mapping[str, Any], interlanguage: list[str], interwiki: list[str]) -> None:
    """Write `languages.json` with one line per language, so that differences are readable."""

    def dump(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    lines = [f'"canonical_namespaces":{dump(CANONICAL_NAMESPACES)},']
    lines += [f'"interlanguage":{dump(interlanguage)},', f'"interwiki":{dump(interwiki)},', '"languages":{']
    lines.append(",\n".join(f"{dump(code)}:{dump(languages[code])}" for code in sorted(languages)))
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text("{\n" + "\n".join(lines) + "\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
