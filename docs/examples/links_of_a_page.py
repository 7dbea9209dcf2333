"""List the links of a page with their anchors."""

import wikianchor

page: wikianchor.PageText = wikianchor.extract("'''Io''' is a [[natural satellite|moon]] of [[Jupiter]].", title="Io")
for link in page.links:
    print(page.text[link.start : link.end], "->", link.target)
