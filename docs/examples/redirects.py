"""Count the redirects of a dump."""

from pathlib import Path

import wikianchor

dump = Path("demo/dumps/enwiki-20260101-pages-articles-multistream.xml.bz2")
print(sum(page.redirect is not None for page in wikianchor.read_pages(dump, namespaces={0})), "redirects")
