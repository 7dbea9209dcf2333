"""Links to other Wikipedias, by the prefixes of each wiki."""

import pytest

from wikianchor.pipelines.wikimedia.interwiki import WikipediaLinks
from wikianchor.pipelines.wikimedia.site import site_for


@pytest.mark.parametrize(
    ("wiki", "raw", "expected"),
    [
        ("enwiki", ":fr:paris", ("frwiki", "Paris", "")),
        ("enwiki", ":zh-min-nan:a#b", ("zh_min_nanwiki", "A", "b")),
        ("enwiki", ":simple:a", ("simplewiki", "A", "")),
        ("enwiki", ":tr:istanbul", ("trwiki", "İstanbul", "")),
        ("dewiki", "w:a", ("enwiki", "A", "")),
        ("dewiki", "w:fr:a", ("frwiki", "A", "")),
        ("dewiki", ":fr:de:a", None),
        ("dewiki", ":fr:Fichier:a.png", None),
        ("dewiki", ":fr:", None),
        ("dewiki", "wikt:a", None),
        ("dewiki", ":fr:a|b", None),
        ("frwiktionary", "w:a", ("frwiki", "A", "")),
        ("frwiktionary", "w:de:a", ("dewiki", "A", "")),
        ("frwiktionary", "wikipedia:a", ("enwiki", "A", "")),
        ("frwiktionary", ":de:a", None),
        ("commonswiki", "w:a", ("enwiki", "A", "")),
    ],
)
def test_where_a_link_leads(wiki: str, raw: str, expected: tuple[str, str, str] | None) -> None:
    assert WikipediaLinks(site_for(wiki)).read(raw) == expected
