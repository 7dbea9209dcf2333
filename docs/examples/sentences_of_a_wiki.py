"""Print the first sentences of a wiki, with the articles that they link to."""

from itertools import islice

import wikianchor

wiki = wikianchor.open_wiki("demo/dumps/enwiki-20260101-pages-articles-multistream.xml.bz2")
for row in islice(wiki.sentences(), 5):
    print(row["text"], [link["target"] for link in row["links"]])
