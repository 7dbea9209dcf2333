"""Rules of one wiki as JSON for the compiled core, which reads no data files of its own."""

from __future__ import annotations

import json
from html.entities import html5

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import ENTITIES
from wikianchor.pipelines.wikimedia.wikitext.files import words_beside
from wikianchor.pipelines.wikimedia.wikitext.links import FILE, letters_of
from wikianchor.pipelines.wikimedia.wikitext.numbers import number_form
from wikianchor.pipelines.wikimedia.wikitext.template_rules import measures, template_rules


def shared_rules() -> str:
    """Return what is the same on every wiki; the names are those of the struct `Shared` in `core/engine`."""
    files = ("tags.json", "functions.json", "names.json", "characters.json", "limits.json")
    return json.dumps({name.removesuffix(".json"): package_json("pipelines.wikimedia", name) for name in files})


def site_rules(site: Site) -> str:
    """Return what the core has to know of a wiki; the names are those of the struct `Site` in `core/engine`."""
    facts = language_facts(site.language)
    rules = {
        "wiki": site.wiki,
        "language": site.language,
        "namespaces": dict(site.namespaces),
        "namespace_names": dict(site.namespace_names),
        "case_sensitive": sorted(site.case_sensitive),
        "link_trail": site.link_trail.pattern,
        "trail_letters": letters_of(site.link_trail.pattern),
        "prefix_letters": letters_of(f"[{site.link_prefix}]") if site.link_prefix else "",
        "dotted_i": site.dotted_i,
        "interwiki": sorted(site.interwiki),
        "interlanguage": sorted(site.interlanguage),
        "local_interwiki": sorted(site.local_interwiki),
        "words": dict(facts.words),
        "variants": facts.variants,
        "switches": sorted(facts.switches),
        "file_names": sorted(name for name, key in site.namespaces.items() if key == FILE),
        "beside": words_beside(facts),
        "numbers": number_form(site.language)._asdict(),
        "template_rules": dict(template_rules(site.wiki, site.language)),
        "measures": {table: dict(measures(table)) for table in ("units", "ranges")},
        "entities": ENTITIES | html5,
    }
    return json.dumps(rules)
