"""Write the rules that the tests and the fuzz targets of `core/` read, as the binding of the core gets them.

    python -m tests.engine_rules    # those of the wikis and languages of all cases

Needs the standard library only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wikianchor.pipelines.text.core_rules import text_rules
from wikianchor.pipelines.wikimedia.core_rules import shared_rules, site_rules
from wikianchor.pipelines.wikimedia.core_tables import character_tables
from wikianchor.pipelines.wikimedia.page_kinds import patterns_of
from wikianchor.pipelines.wikimedia.site import Writing, site_for


def characters() -> dict[str, object]:
    """Return the tables of the characters of this Python."""
    tables = character_tables()
    # The classes in the order of their bits in `unicode.rs`; Chinese characters are printable letters.
    bits = [
        (ord(char), sum(classes[index] << number for number, classes in enumerate(tables.classes)))
        for index, char in enumerate(tables.others)
    ]
    bits += [(ord(char), 1 | 2 | 256) for char in tables.letters]
    by_code = {code: number for code, number in bits if number}
    for char in tables.needs_nfc:
        by_code[ord(char)] = by_code.get(ord(char), 0) | 512
    by_char = {name: dict(getattr(tables, name)) for name in ("lower", "upper", "title", "combining", "decomposed")}
    return {"bits": sorted(by_code.items()), "zeros": tables.zeros, "composed": tables.composed, **by_char}


def rules_of(wikis: Iterable[str], languages: Iterable[str] = (), cases: Iterable[Any] = ()) -> dict[str, Any]:
    """Return the rules of all wikis, of some wikis, of some languages and of cases with a `writing` of their own."""
    sites = list(map(site_for, wikis))
    texts = {code: json.loads(text_rules(code)) for code in {*languages, *(site.language for site in sites)}}
    for case in cases:
        name = case["language"] + json.dumps(case["writing"], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        texts[name] = json.loads(text_rules(case["language"], Writing.from_json(case["writing"])))
    return {
        "shared": shared_rules(),
        "characters": characters(),
        "sites": {site.wiki: json.loads(site_rules(site)) for site in sites},
        "texts": texts,
        "disambiguation": {site.wiki: patterns_of("disambiguation", site.language) for site in sites},
    }


def main() -> None:
    """Print the rules of the cases."""
    lines = (line for path in Path(__file__).parent.rglob("cases/*.jsonl") for line in path.open(encoding="utf-8"))
    cases = list(map(json.loads, lines))
    wikis = {"enwiki", *(case["wiki"] for case in cases if "wiki" in case)}
    languages = {case["language"] for case in cases if "language" in case}
    json.dump(rules_of(sorted(wikis), sorted(languages), [case for case in cases if "writing" in case]), sys.stdout)


if __name__ == "__main__":
    main()
