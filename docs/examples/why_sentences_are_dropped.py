"""Say of each sentence of some wikitext why it is left out, or that it is kept."""

import wikianchor

text = "It was cold. It weighs {{unknown}} tonnes. She met [[Charles Babbage]] in 1833."
for sentence in wikianchor.sentences(text, language="en", include_dropped=True):
    print(sentence.dropped or "kept", sentence.text, [link.target for link in sentence.links])
