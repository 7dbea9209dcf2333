"""Pair the titles that two wikis have for an item."""

import wikianchor

for item in wikianchor.read_items("demo/dumps/wikidata-20260101-all.json.gz", wikis=["en", "ja"]):
    titles = dict(item.sitelinks)
    if len(titles) == 2:
        print(titles["enwiki"], titles["jawiki"], sep="\t")
