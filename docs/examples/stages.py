"""Run the stages of a build one by one."""

from wikianchor import commands

dump = "demo/dumps/jawiki-20260101-pages-articles-multistream.xml.bz2"
sentences = commands.sentences(dumps=dump, output="out/ja/sentences", templates="builtin", workers=1)
entities = commands.entities(wikidata="demo/dumps/wikidata-*.json.gz", wikis=["ja"], output="out/ja/entities")
pairs = commands.pairs(
    sentences="out/ja/sentences", entities="out/ja/entities", output="out/ja/pairs", min_links=2, negatives=0
)
print(sentences, entities, pairs)
