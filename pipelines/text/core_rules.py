"""Rules of sentences in one language as JSON for the compiled core, which reads no data files of its own."""

import json

from wikianchor.pipelines.text.fragments import UNKNOWN, core_fragment_rules
from wikianchor.pipelines.text.prose import core_prose_rules
from wikianchor.pipelines.text.splitter import core_splitter_rules
from wikianchor.pipelines.wikimedia.site import Writing


def text_rules(language: str, writing: Writing = UNKNOWN) -> str:
    """Return what the core has to know of a language, by the names of the struct `TextRules` in `core/engine`."""
    rules = {
        "splitter": core_splitter_rules(language, writing),
        "fragments": core_fragment_rules(language, writing),
        "prose": core_prose_rules(language, writing),
    }
    return json.dumps(rules)
