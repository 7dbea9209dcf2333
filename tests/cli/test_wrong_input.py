"""What every command answers to a wrong command line or a wrong input: one line that says what is wrong, where, and
what to do, and the exit status. Nothing is left behind."""

from __future__ import annotations

import bz2
import importlib
import importlib.util
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import PROGRESS
from tests.dumps import export, item, json_dump, page
from tests.t5 import write_corpus
from wikianchor.pipelines.cli.command_line import main as wikianchor_main
from wikianchor.pipelines.cli.commands import COMMANDS

TEXT = "The [[Moon]] goes around the [[Earth]]. It is far away from the [[Sun|star]], as everybody knows."
PAGES = [page("Earth", 1, TEXT), page("Moon", 2, TEXT), page("Sun", 3, TEXT)]
ITEMS = [item(number, {"enwiki": title}, [5]) for number, title in ((2, "Earth"), (405, "Moon"), (525, "Sun"))]
PAGE_PROPS = """\
CREATE TABLE `page_props` (
  `pp_page` int(11) NOT NULL,
  `pp_propname` varbinary(60) NOT NULL,
  `pp_value` blob NOT NULL,
  `pp_sortkey` float DEFAULT NULL
);
INSERT INTO `page_props` VALUES %s;
"""
MODULES = {
    "trainer": "wikianchor.trainer.task",
    "evaluate": "wikianchor.trainer.evaluate.command",
    "entities": "wikianchor.trainer.entity_vectors.initial_vectors",
    "papers": "wikianchor.trainer.papers.command",
    "detect": "wikianchor.trainer.mboe.detect",
    "link": "wikianchor.trainer.linking.command",
    "score": "wikianchor.score.command",
    "onnx": "wikianchor.trainer.onnx.graph",
}

# A command line, and below it the exit status and the line that is printed; "..." stands for any text. A package that
# is not installed is named in front: without=PACKAGE.
TABLE = """\
wikianchor report empty
  1 empty: no finished dataset here (no manifest.json): run its stage to the end
wikianchor sentence
  2 no command 'sentence': did you mean sentences?
wikianchor repotr out
  2 no command 'repotr': did you mean report?
wikianchor demo --outptu=new
  2 unknown flag --outptu=new: did you mean --output?
wikianchor build --dumps=dumps
  2 the following arguments are required: --output: see --help
wikianchor build --dump=dumps --output=new
  2 unknown flag --dump: did you mean --dumps?
wikianchor build --dumps=nowhere --output=new
  2 --dumps=nowhere: no such directory or file
wikianchor build --dumps=empty --output=new
  1 --dumps=empty has no pages-articles dump (a file such as enwiki-20260101-pages-articles.xml.bz2)
wikianchor build --dumps=dumps --wikis=frwiki --output=new
  1 --dumps=dumps has no pages-articles dump of frwiki; it has enwiki
wikianchor build --dumps=dumps --wikis=dewik --output=new
  2 --wikis: dewik is not a wiki in a language: did you mean dewiki?
wikianchor build --dumps=dumps --wikis=enwikii --output=new
  2 --wikis: enwikii is not a wiki in a language: did you mean enwiki?
wikianchor build --dumps=dumps --wikis=klingon --output=new
  2 --wikis: klingon is not a wiki in a language: write it like en or enwiki
wikianchor build --dumps=dumps/dump.xml --output=new
  1 --dumps=dumps/dump.xml has no JSON dump of Wikidata ... and no page_props.sql.gz of these wikis
wikianchor build --dumps=dumps --output=text.txt
  1 text.txt/sentences/enwiki: cannot be written (Not a directory): choose another --output
wikianchor build --dumps=dumps --output=/proc/new
  1 /proc/new/sentences/enwiki: cannot be written (No such file or directory): choose another --output
wikianchor release none.toml --output=new --to=place
  1 none.toml: cannot be read (No such file or directory): check the path and the disk
wikianchor build --dumps=dumps --output=new --labels=en,xx-notalang
  2 --labels=en,xx-notalang: xx-notalang is no language: write its code, such as uk or sr-latn
wikianchor entities --wikidata=dumps/wikidata.json --wikis=en --labels=englsh --output=new
  2 --labels=englsh: englsh is no language...
wikianchor build --dumps=dumps --output=new --wikis=
  2 --wikis= names no wiki: write it like en,ja
wikianchor build --dumps=dumps --output=new --price_per_vcpu_hour=nan
  2 --price_per_vcpu_hour=nan: must be a finite number
wikianchor build --dumps=dumps --output=new --json=yes
  2 argument --json/--no-json: ignored explicit argument 'yes': see --help
wikianchor build --dumps=dumps --output=new --details=all
  2 argument --details/--no-details: ignored explicit argument 'all': see --help
wikianchor build --dumps=dumps --output=new --quite
  2 unknown flag --quite: did you mean --quiet?
wikianchor report ''
  2 --directory=: name a directory
wikianchor verify ''
  2 --directory=: name a directory
wikianchor report out --html=
  2 --html= names no file
wikianchor report out --details
  2 unknown flag --details: see --help
wikianchor publish out/pairs --to=out/../out/pairs
  2 --to=out/../out/pairs is what is published: name another directory
wikianchor publish out/pairs --to=new --release=out/pairs
  2 --release=out/pairs is what is published: name another directory
wikianchor download --wikis=en --output=new --contact=a@b.c --date=20261399
  2 --date=20261399: write it like 20260101, or latest
wikianchor topics --sql=text.txt --output=
  2 --output= names no file
wikianchor update --dumps=dumps/dump.xml --changes=dumps/dump.xml --output=new
  2 --output=new: must end with .xml.bz2
wikianchor update --dumps=dumps/dump.xml --changes= --output=new.xml.bz2
  2 --changes= names no file
wikianchor update --dumps=dumps/dump.xml --changes=nowhere --output=new.xml.bz2
  1 --changes=nowhere: no such file
wikianchor update --dumps=dumps/dump.xml --changes=cut.xml.bz2 --output=new.xml.bz2
  1 cut.xml.bz2: the bz2 stream at byte 0 is cut off at byte ...: fetch it again
wikianchor update --dumps=dumps/dump.xml --changes=dumps/dump.xml --output=/proc/new.xml.bz2
  1 /proc/new.xml.bz2: cannot be written (No such file or directory): choose another --output
wikianchor update --dumps=dumps/dump.xml --changes=dumps/dump.xml --sql=text.txt --output=new.xml.bz2
  1 text.txt: ...
wikianchor items --dumps=dumps --output=
  2 --output= names no file
wikianchor demo --data=/proc/new --output=new
  1 /proc/new/dumps/...: cannot be written (No such file or directory): choose another --data
wikianchor build --dumps=dumps --output=new --preset=papr
  2 argument --preset: invalid choice: 'papr' (choose from ...): did you mean paper?
wikianchor build --dumps=dumps --output=new --preset=released --wikis=dewiki
  1 --dumps=dumps has no pages-articles dump of dewiki; it has enwiki
wikianchor build --dumps=dumps --output=new --min_links=-1
  2 --min_links=-1: must not be negative
wikianchor build --dumps=dumps --output=new --negatives=1000000000000
  2 --negatives=1000000000000: must be between 0 and 1000
wikianchor build --dumps=dumps --output=new --candidates=1000000000000
  2 --candidates=1000000000000: must be between 0 and 100000
wikianchor pairs --sentences=out/sentences --entities=out/entities --output=out/entities
  2 --output=out/entities holds the dataset 'entities', which 'pairs' must not replace: name another directory
wikianchor build --dumps=dumps --output=new --min_links=many
  2 argument --min_links: invalid int value: 'many': see --help
wikianchor build --dumps=dumps --output=new --candidates=1 --negatives=2
  2 --candidates=1 is fewer than --negatives=2
wikianchor build --dumps=dumps --output=new --floor=frwiki
  2 --floor=frwiki is none of the wikis given (enwiki): ... say --floor=corpus, --floor=wiki or one of them
wikianchor build --dumps=dumps --output=new --split=0.1
  2 --split=0.1: must be two shares of the items, for dev and for test, such as 0.05,0.05
wikianchor build --dumps=dumps --output=new --exclude_text=none.tsv
  1 --exclude_text=none.tsv: no such file
wikianchor build --dumps=dumps --output=new --exclude_pages=none.tsv
  1 --exclude_pages=none.tsv: no such file
wikianchor build --dumps=dumps --output=new --exclude_pages=text.txt
  1 --exclude_pages=text.txt, line 1: write enwiki, a tab, and a page id or a title; or the address of the page
wikianchor build --dumps=dumps --output=new --sampel=10
  2 unknown flag --sampel=10: did you mean --sample?
wikianchor build --dumps=dumps --output=new --previous=empty
  2 --previous=empty holds no sentences: give the --output of an earlier build
wikianchor build --dumps=dumps --output=new --runner=Fast
  2 Beam refuses its flags: Unexpected pipeline runner: Fast. ...
wikianchor build --dumps=dumps --output=new --runner=DataflowRunner
  2 --region is missing: where Dataflow runs, such as --region=europe-west4
wikianchor build --dumps=dumps --output=new --direct_num_worker=2
  2 unknown flag --direct_num_worker=2: did you mean --direct_num_workers?
wikianchor build --dumps=dumps --output=new --direct_num_workers=two
  2 argument --direct_num_workers: invalid int value: 'two': see --help
wikianchor build --config=nowhere.toml --output=new
  1 nowhere.toml: cannot be read (No such file or directory): check the path and the disk
wikianchor build --config=text.txt --output=new
  1 --config=text.txt: not TOML (...)
wikianchor build --config=empty.toml --output=new
  2 --config=empty.toml: has nothing for this command: it needs a table [build]
wikianchor build --config=key.toml --output=new
  2 --config=key.toml: unknown flag --wikiss=enwiki: did you mean --wikis?
wikianchor build --config=value.toml --output=new
  2 --config=value.toml: argument --sample: invalid int value: 'many': see --help
wikianchor build --config=list.toml --output=new
  2 --config=list.toml: wikis is neither a text, a number, a truth value nor a list of texts
wikianchor build --output=new --config
  2 --config= names no file
wikianchor sentences --output=new
  2 the following arguments are required: --dumps: see --help
wikianchor sentences --dump=dumps/dump.xml --output=new
  2 unknown flag --dump: did you mean --dumps?
wikianchor sentences --dumps=dumps/dump.xml
  2 the following arguments are required: --output: see --help
wikianchor sentences --dumps= --output=new
  2 --dumps= names no file
wikianchor sentences --dumps=, --output=new
  2 --dumps= names no file
wikianchor sentences --dumps=none.xml --output=new
  1 --dumps=none.xml: no such file
wikianchor sentences --dumps=dumps/dump.xml,none* --output=new
  1 --dumps=none*: no such file
wikianchor sentences --dumps=dumps --output=new
  1 --dumps=dumps is a directory: name files, or a glob of them
wikianchor sentences --dumps=ftp://a/b --output=new
  1 ftp://a/b: cannot be opened (...): give a path, or a gs:// or s3:// URI
wikianchor sentences --dumps=empty.xml --output=new
  1 empty.xml: the file is empty: fetch it again
wikianchor sentences --dumps=text.txt --output=new
  1 text.txt: not a MediaWiki XML export (no <mediawiki> in its first megabyte)
wikianchor sentences --dumps=page.html --output=new
  1 page.html: not a MediaWiki XML export (no <mediawiki> in its first megabyte)
wikianchor sentences --dumps=cut.xml.bz2 --output=new
  1 cut.xml.bz2: the bz2 stream at byte 0 is cut off at byte 784: fetch it again
wikianchor sentences --dumps=garbage.bz2 --output=new
  1 garbage.bz2: damaged bz2 data in the stream at byte 0: fetch it again
wikianchor sentences --dumps=dump.zip --output=new
  1 dump.zip: zip archives are not read: unpack it, or pack it again with bzip2
wikianchor sentences --dumps=dumps/wikidata.json --output=new
  1 dumps/wikidata.json: not a MediaWiki XML export (no <mediawiki> in its first megabyte)
wikianchor sentences --dumps=dumps/dump.xml --wikis=enwiki,dewiki --output=new
  2 --wikis=enwiki,dewiki: this command reads one wiki at a time: give one
wikianchor sentences --dumps=dumps/dump.xml --wikis=klingon --output=new
  2 --wikis: klingon is not a wiki in a language: write it like en or enwiki
wikianchor sentences --dumps=dumps/dump.xml --output=ftp://a/b
  1 ftp://a/b: cannot be opened (...): give a path, or a gs:// or s3:// URI
wikianchor sentences --dumps=dumps/dump.xml --output=gs://
  2 --output=gs://: name a bucket: gs://BUCKET/PATH
wikianchor publish out/pairs --to=s3://
  2 --to=s3://: name a bucket: s3://BUCKET/PATH
wikianchor publish out/pairs --to=
  2 --to=: name a directory
wikianchor sentences --dumps=dumps/dump.xml --output=text.txt
  2 --output=text.txt is a file: name a directory
wikianchor sentences --dumps=dumps/dump.xml --output=text.txt/new
  1 text.txt/new: cannot be written (Not a directory): choose another --output
wikianchor sentences --dumps=dumps/dump.xml --output=/proc/new
  1 /proc/new: cannot be written (No such file or directory): choose another --output
wikianchor sentences --dumps=dumps/dump.xml --output=full
  2 --output=full holds something else (photo.jpg): name an empty or a new directory
wikianchor sentences --dumps=dumps/dump.xml --output=out/entities
  2 --output=out/entities holds the dataset 'entities', which 'sentences' must not replace: name another directory
wikianchor sentences --dumps=dumps/dump.xml --output=new --splitter=rule
  2 argument --splitter: invalid choice: 'rule' (choose from ...): did you mean rules?
wikianchor sentences --dumps=dumps/dump.xml --output=new --split=icu
  2 unknown flag --split=icu: did you mean --splitter?
wikianchor sentences --dumps=dumps/dump.xml --output=new fast
  2 unknown argument fast: see --help
wikianchor sentences --dumps=dumps/dump.xml --output=new --previous=out/entities
  1 --previous=out/entities holds the dataset 'entities', not 'sentences'
wikianchor entities --wikidata=dumps/wikidata.json --output=new
  2 the following arguments are required: --wikis: see --help
wikianchor entities --wikis=enwiki --output=new
  2 entities needs --wikidata=FILES or --page_props=FILES
wikianchor entities --wikidata=none.json --wikis=enwiki --output=new
  1 --wikidata=none.json: no such file
wikianchor entities --wikidata=other.json --wikis=enwiki --output=new
  1 other.json: no line is an entity: is it a JSON dump of Wikidata?
wikianchor entities --wikidata=pretty.json --wikis=enwiki --output=new
  1 pretty.json: an entity is spread over several lines; one entity per line is needed (jq -c '.[]' FILE, ...)
wikianchor entities --wikidata=text.txt --wikis=enwiki --output=new
  1 text.txt: no line is an entity: is it a JSON dump of Wikidata?
wikianchor entities --wikidata=cut.json --wikis=enwiki --output=new
  1 cut.json: the JSON is cut off: fetch it again, or take what is there with --allow_truncated
wikianchor entities --wikidata=dumps/wikidata.json --wikis=enwikki --output=new
  2 --wikis: enwikki is not a wiki in a language: did you mean enwiki?
wikianchor entities --wikidata=dumps/wikidata.json --wikis=en --output=new --texts=labels,names
  2 --texts=labels,names: names is none of labels, descriptions, aliases
wikianchor entities --wikidata=dumps/wikidata.json --wikis=en,fr --output=new
  1 no item has a page in frwiki: is frwiki in the Wikidata dump given? else give its page_props.sql.gz
wikianchor entities --page_props=enwiki-20260101-page_props.sql --wikis=de --output=new
  2 --page_props: enwiki-20260101-page_props.sql is not of a wiki in --wikis=dewiki
wikianchor entities --page_props=enwiki-20260101-page_props.sql --wikis=en --output=new
  1 enwiki-20260101-page_props.sql: byte 193 of the SQL text: in the rows ... a number has more than 18 digits
wikianchor entities --page_props=enwiki-20260102-page_props.sql --wikis=en --output=new
  1 enwiki-20260102-page_props.sql: page 1 has the wikibase_item ..., which is no item id
wikianchor entities --page_props=enwiki-20260103-page_props.sql --wikis=en --output=new
  1 enwiki-20260103-page_props.sql: no CREATE TABLE `page_props` in this file; it has page
wikianchor templates --dumps=nowhere.xml --output=new
  1 --dumps=nowhere.xml: no such file
wikianchor pairs --sentences=nowhere --entities=out/entities --output=new
  1 --sentences=nowhere: no such directory
wikianchor pairs --sentences=out --entities=out/entities --output=new
  1 --sentences=out has no manifest.json: did you mean out/sentences?
wikianchor pairs --sentences=out/entities --entities=out/entities --output=new
  1 --sentences=out/entities holds the dataset 'entities', not 'sentences'
wikianchor pairs --sentences=out/sentences --entities=out --output=new
  1 --entities=out has no manifest.json: did you mean out/entities?
wikianchor pairs --sentences=out/sentences --entities=out/entities,out/entities/ --output=new --sample=-5
  2 --sample=-5: must not be negative
wikianchor pairs --sentences=future --entities=out/entities --output=new
  1 --sentences=future has schema version 99.0, this program reads 1.0: build it again
wikianchor pairs --sentences=out/sentences --entities=out/entities --output=new --required_wiki=frwiki
  1 --required_wiki=frwiki is not in --entities: build it again with that wiki in --wikis
wikianchor export --pairs=out/entities --output=new
  1 --pairs=out/entities holds the dataset 'entities', not 'pairs'
wikianchor export --pairs=out/pairs --output=new --negatives=9
  2 --negatives=9: the rows of --pairs=out/pairs have ...: build them with `wikianchor pairs --negatives=9`
wikianchor export --pairs=out/pairs --output=new --kind=description
  2 --kind=description needs --entities=DIR, built with `wikianchor entities --texts=labels,descriptions`
wikianchor export --pairs=out/pairs --entities=out/entities --output=new --kind=alias
  1 --entities=out/entities has no aliases: build it again with --texts=labels,aliases
wikianchor export --pairs=out/pairs --output=new --language=other
  2 --kind=lead with --language=other: the sentences of --pairs=out/pairs are all in one language: build pairs of ...
wikianchor mentions --sentences=out/sentences --entities=out/entities --output=new --commonness=2
  2 --commonness=2.0: must be between 0 and 1
wikianchor mentions --sentences=out/pairs --entities=out/entities --output=new
  1 --sentences=out/pairs holds the dataset 'pairs', not 'sentences'
wikianchor documents --sentences=out/pairs --entities=out/entities --output=new
  1 --sentences=out/pairs holds the dataset 'pairs', not 'sentences'
wikianchor linking --documents=out/pairs --mentions=out/mentions --entities=out/entities --output=new
  1 --documents=out/pairs holds the dataset 'pairs', not 'documents'
wikianchor linking --documents=none --mentions=out/mentions --entities=out/entities --output=new --format=csv
  2 argument --format: invalid choice: 'csv' (choose from ...): see --help
wikianchor linking --documents=none --mentions=out/mentions --entities=out/entities --output=new --split=0.1
  2 --split=0.1: must be two shares of the items, for dev and for test, such as 0.05,0.05
wikianchor retrieval --documents=out/pairs --mentions=out/mentions --entities=out/entities --output=new
  1 --documents=out/pairs holds the dataset 'pairs', not 'documents'
wikianchor retrieval --documents=none --mentions=none --entities=none --output=new --max_passages=0
  2 --max_passages=0: must be 1 or more
wikianchor retrieval --documents=none --mentions=none --entities=none --output=new --corpus=out/pairs
  1 --documents=none: no such directory
wikianchor retrieval --documents=none --mentions=none --entities=none --output=new --corpus=
  2 --corpus=: name a directory
wikianchor interlanguage --entities=out/pairs --output=new
  1 --entities=out/pairs holds the dataset 'pairs', not 'entities'
wikianchor corpus --input=none.txt --output=new
  1 --input=none.txt: no such file
wikianchor corpus --input=text.txt,out/sentences/enwiki --output=new
  2 --input=text.txt,out/sentences/enwiki: name files, or datasets of sentences, and not both or neither
wikianchor corpus --input=text.txt --output=new --near=0.2
  2 --near=0.2: 0, or between 0.5 and 1
wikianchor mewsc16 --output=new
  2 the following arguments are required: --dumps: see --help
wikianchor mewsc16 --dumps=dumps/dump.xml --output=new --faults=old
  2 --faults=old: there is no such fault, choose of ..., or all
wikianchor mewsc16 --dumps=dumps/dump.xml --output=new
  1 dumps/dump.xml: is of enwiki (Wikipedia), not of a Wikinews, such as enwikinews
wikianchor mewsc16 --dumps=dumps/dump.xml --output=new --topics=text.txt
  1 --topics=text.txt: not JSON (...)
wikianchor topics --sql=enwiki-20260101-page_props.sql --output=new
  1 --sql: enwiki-20260101-page_props.sql is not named like enwikinews-20260601-langlinks.sql.gz
wikianchor negatives --corpus=out/pairs --model=nowhere --output=new
  1 --corpus=out/pairs holds the dataset 'pairs', not 'corpus'
wikianchor negatives --corpus=corpus --model=nowhere --output=new
  1 --model=nowhere: no such directory
wikianchor negatives --corpus=corpus --model=models/toy --output=new
  1 --model=models/toy: holds no T5 (spiece.model): wikianchor train t5 makes one
wikianchor negatives --corpus=corpus --model=models/toy/model --output=new --beams=0
  2 --beams=0: must be 1 or more
wikianchor extract
  2 say which wiki the pages are from, with --wikis=uk, --siteinfo=FILE or --dumps=FILES
wikianchor extract --lang=en
  2 unknown flag --lang=en: did you mean --lua?
wikianchor extract --wikis=en --lua=yes
  2 argument --lua: invalid choice: 'yes' (choose from 'off', 'on'): see --help
wikianchor extract --wikis=klingon
  2 --wikis: klingon is not a wiki in a language: write it like en or enwiki
wikianchor extract --wikis=en,de
  2 --wikis=en,de: this command reads one wiki at a time: give one
wikianchor extract --wikis=en --title=Bus
  2 --title=Bus needs the dump that it is in: --dumps=FILES
wikianchor extract --wikis=en --sentence
  2 unknown flag --sentence: did you mean --sentences?
wikianchor extract --wikis=en --runner=DirectRunner
  2 unknown flag --runner=DirectRunner: see --help
wikianchor extract --wikis=en --parser=other
  2 argument --parser: invalid choice: 'other' (choose from ...): see --help
wikianchor extract --dumps=none.xml
  1 --dumps=none.xml: no such file
wikianchor extract --dumps=
  2 --dumps= names no file
wikianchor extract --dumps=dumps/dump.xml --title=Nothing
  1 dumps/dump.xml: no page has the title Nothing: small and capital letters matter
wikianchor extract --siteinfo=none.json
  1 none.json: cannot be read (No such file or directory): check the path and the disk
wikianchor extract --siteinfo=text.txt --wikis=en
  1 --siteinfo=text.txt: not the answer of a wiki's API to ... (JSONDecodeError: ...)
wikianchor verify
  2 the following arguments are required: directory: see --help
wikianchor verify nowhere
  1 nowhere: no finished dataset here (no manifest.json): run its stage to the end
wikianchor verify out --against=nowhere
  2 --against=nowhere: no such directory or file
wikianchor verify out --rows=0
  2 --rows=0: must be 1 or more
wikianchor verify out --row=5
  2 unknown flag --row=5: did you mean --rows?
wikianchor publish out --to=new
  1 out: no finished dataset here (no manifest.json): name a dataset, such as out/pairs, or a model
wikianchor publish out/pairs
  2 the following arguments are required: --to: see --help
wikianchor publish out/pairs --to=/proc/new --release=release
  1 /proc/new/data/entities/...: cannot be written (No such file or directory): choose another --to
wikianchor publish out/pairs --to=new --release=/proc/new
  1 /proc/new: cannot be written (No such file or directory): choose another --release
wikianchor publish out/pairs --to=hf://name --release=release
  2 --to=hf://name: write it like hf://user/name, the name of a dataset
wikianchor publish out/pairs --to=hf://user/name --release=release
  1 hf://user/name: the Hub cannot be reached (OfflineModeIsEnabled): run the same command again to go on
wikianchor rebuild empty --dumps=dumps --output=new
  1 empty: no manifest.json here: name a dataset, or where its manifest is
wikianchor rebuild out/pairs --dumps=empty --output=new
  1 --dumps: has no ..., which the dataset was made from: fetch it, see its card
wikianchor rebuild out/pairs --dumps=dumps --output=out
  2 --output=out holds the dataset itself: name another directory
wikianchor report nowhere
  1 nowhere: no finished dataset here (no manifest.json): run its stage to the end
wikianchor report s3:///a
  1 s3:///a: names no bucket: give s3://BUCKET/PATH
wikianchor items --dumps=empty --output=new
  1 --dumps=empty has no pages-articles dump
wikianchor items --dumps=dumps --output=/proc/new
  1 /proc/new: cannot be written (No such file or directory): choose another --output
wikianchor doctor now
  2 unknown argument now: see --help
wikianchor report out --html=/proc/new.html
  1 /proc/new.html: cannot be written (No such file or directory): choose another --html
wikianchor report out --html=nowhere/new.html
  1 nowhere/new.html: cannot be written (No such file or directory): choose another --html
wikianchor report out --dumps=dumps
  2 --dumps=dumps is for the page: name it with --html=FILE
wikianchor report out --html=new.html --dumps=nowhere
  2 --dumps=nowhere: no such directory or file
wikianchor download --wikis=en --output=new --contact=me
  2 --contact=me: neither an e-mail address nor a URL
wikianchor download --wikis=zzz1 --output=new
  2 --wikis: zzz1 is not a wiki in a language: write it like en or enwiki
wikianchor download --for=pair --wikis=en --output=new
  2 argument --for: invalid choice: 'pair' (choose from ...): did you mean pairs?
wikianchor download --wikis=en --output=new --date=today --contact=me@example.org
  2 --date=today: write it like 20260101, or latest
wikianchor download --wikis=en --output=new --site=nowhere --contact=me@example.org
  2 --site=nowhere: not a web address: write it like https://dumps.wikimedia.org
trainer easy
  2 argument objective: invalid choice: 'easy' (choose from ...): did you mean ease?
trainer
  2 the following arguments are required: objective: see --help
trainer ease --data=out/pairs --model=models/toy/model --output=out/pairs/
  2 --output=out/pairs: holds the rows of --data: give another directory
trainer ease --bogus=1
  2 unknown flag --bogus=1: see --help
trainer ease --epoch=3 --data=out/pairs --model=models/toy/model --output=new
  2 unknown flag --epoch=3: did you mean --epochs?
trainer ease --preset=ease-bert-papr --data=out/pairs --output=new
  2 argument --preset: invalid choice: 'ease-bert-papr' (choose from ...): did you mean ease-bert-paper?
trainer ease --data=out/pairs --new=tyni --output=new
  2 argument --new: invalid choice: 'tyni' (choose from ...): see --help
trainer ease --data=out/pairs --model=models/toy/model
  2 --output is missing
trainer ease --data=out/pairs --new=tiny --output=new --epochs=0
  2 --epochs=0: must be 1 or more
trainer ease --data=out/pairs --new=tiny --output=new --epochs=x
  2 argument --epochs: invalid int value: 'x': see --help
trainer ease --data=out/pairs --new=tiny --output=/proc/new
  1 /proc/new: cannot be written (No such file or directory): choose another --output
trainer ease --data=out/pairs --new=tiny --output=text.txt
  1 text.txt: cannot be written (File exists): choose another --output
trainer ease --data=out --new=tiny --output=new
  1 out/manifest.json: not there, so this is no finished dataset: did you mean out/pairs?
trainer ease --data=nowhere --new=tiny --output=new
  1 nowhere/manifest.json: not there, so this is no finished dataset: wikianchor build makes one
trainer ease --data=out/entities --new=tiny --output=new
  1 out/entities: a dataset of entities: the trainer reads pairs, export here
trainer ease --data=out/pairs --model=/nowhere --output=new
  1 /nowhere: no such directory: name the directory of a model
trainer ease --data=out/pairs --model=models/toy --output=new
  1 models/toy: holds no model (config.json): did you mean models/toy/model?
trainer ease --data=out/pairs --model=models/toi/model --output=new
  1 models/toi/model: no such directory: name the directory of a model
trainer ease --data=out/pairs --model=text.txt --output=new
  1 text.txt: holds no model (config.json): name the directory of a model
trainer ease --data=out/pairs --model=nobody/nothing --output=new
  1 nobody/nothing: no such directory, and the Hub cannot be reached: check the name and the network
trainer ease --data=out/pairs --model=empty --output=new
  1 empty: holds no model (config.json): name the directory of a model
trainer ease --data=out/pairs --model=models/toy/model --output=new --device=cude
  2 --device=cude: cannot be used (Expected one of ...)
trainer sdjc --data=out/pairs --model=models/toy/model --output=new
  1 out/pairs: a dataset of pairs: the trainer reads corpus, negatives, sentences here
trainer t5 --data=none.txt --new=tiny --output=new
  1 none.txt: no finished dataset, and no .csv, .tsv, .jsonl file: wikianchor corpus makes one
trainer t5 --data=out/sentences --new=tiny --output=new
  1 out/sentences: no finished dataset, and no .csv, .tsv, .jsonl file: wikianchor corpus makes one
trainer mboe --data=none.jsonl --mentions=out/mentions --model=models/toy/model --output=new
  1 none.jsonl: no such file: documents are lines of JSON with text, label, language and split
trainer mboe --data=text.txt --model=models/toy/model --output=new
  2 --mentions is missing: --entities=detected needs a dictionary
evaluate --model=models/toy --sts=sts.tsv
  1 models/toy: holds no model (config.json): did you mean models/toy/model?
evaluate --model=models/toy/model --sts=sts.tsv --output=
  2 --output=: name a directory
evaluate --model=/nowhere --sts=sts.tsv
  1 /nowhere: no such directory: name the directory of a model
evaluate --sts=sts.tsv
  2 --model is missing: see --help
evaluate --model=models/toy/model
  2 --data is missing: the directory with evaluation sets; or --sts, a file
evaluate --model=models/toy/model --sts=none.tsv
  1 none.tsv: no such file
evaluate --model=models/toy/model --data=empty
  1 STS12: no test part in empty: looked for ...; get it from ...
evaluate --model=models/toy/model --data=nowhere
  1 nowhere: no such directory: --data names where the evaluation sets are
evaluate --model=models/toy/model --data=empty --tasks=stss
  2 --tasks: no task 'stss': did you mean sts?
evaluate --model=models/toy/model --sts=sts.tsv --pooler=average
  2 argument --pooler: invalid choice: 'average' (choose from ...): see --help
evaluate --model=models/toy/model --sts=sts.tsv --batch_size=0
  2 --batch_size=0: must be 1 or more
evaluate --model=models/toy/model --sts=sts.tsv --languages=xx
  2 --languages: xx is in none of the sets that were found
onnx --output=new
  2 the following arguments are required: --model: see --help
onnx --model=nowhere --output=new
  1 nowhere: ...
entities --data=out/pairs --output=new.safetensors --vectors=vectors.txt --encode=m
  2 give --vectors, --encode, or neither: then vectors are trained on the pairs
entities --data=out/pairs --output=new.safetensors --vectors=vectors.txt --title=out/entities
  2 unknown flag --title=out/entities: did you mean --titles?
entities --data=out/pairs --output=new.safetensors --vectors=vectors.txt --titles=out/entities --titles_wiki=xxwiki
  1 out/entities: has no titles of xxwiki: build it with that wiki, or name another
entities --data=out/pairs --output=new.safetensors --vectors=none.txt
  1 none.txt: no such file
entities --data=out/pairs --output=new.safetensors --encode=/nowhere
  1 /nowhere: no such directory: name the directory of a model
papers tables tabel1 --evaluation=empty --data=out/pairs --output=new
  2 argument command: invalid choice: 'tabel1' (choose from ...): did you mean table1?
papers tables table1 --evaluation=empty --data=out/pairs --output=new --seeds=x
  2 --seeds=x: must be numbers with commas between
papers tables table1 --evaluation=empty --data=out/pairs --output=new --backbones=bart
  2 --backbones: no 'bart' in Table 1: monolingual STS and short text clustering: choose of bert, roberta
papers tables table1 --evaluation=empty --data=out/pairs --output=new
  1 STS12: no test part in empty: looked for ...; get it from ...
papers tables table1 --evaluation=empty --output=new
  2 --data is missing
papers figure2 --evaluation=empty --data=out/pairs --output=new
  2 --model is missing
papers negatives --evaluation=empty --data=out/pairs --model=m --output=new --seed=3
  2 --seed: a comparison has several: use --seeds
papers tables sdjc --evaluation=empty --data=new --output=new
  2 --model is missing
detect --mentions=nowhere
  1 nowhere/manifest.json: not there, so this is no finished dataset: wikianchor mentions makes one
score --data=nowhere --model=models/toy/model --output=new
  1 --data=nowhere: no such directory
score --data=corpus --model=models/toy/model --output=new
  1 --data=corpus holds the dataset 'corpus', not 'export'
score --data=corpus/ --model=models/toy/model --output=corpus
  2 --output=corpus is --data: name another directory
score --data=corpus --output=new
  2 the following arguments are required: --model: see --help
score --data=corpus --model=models/toy/model --output=new --rows_kept=2
  2 --rows_kept=2.0: must be between 0 and 1
score --data=corpus --model=models/toy/model --output=new --positive_cosine=0.4
  2 --positive_cosine has no effect without --keep
link --linking=nowhere
  1 nowhere/manifest.json: not there, so this is no finished dataset: wikianchor linking makes one
link --linking=corpus
  1 corpus: a dataset of corpus: the trainer reads linking here
link --data=sts.tsv
  2 the following arguments are required: --linking: see --help
link --linking=corpus --sample=-1
  2 --sample=-1: must not be negative
detect --mention=out/mentions
  2 unknown flag --mention=out/mentions: did you mean --mentions?
detect --language=en
  2 --mentions is missing
wikianchor negatives --corpus=corpus --model=models/t5 --output=new
  1 --model=models/t5: holds no T5 (spiece.model): did you mean models/t5/model?
wikianchor negatives --corpus=corpus --model=empty --output=new
  1 --model=empty: holds no T5 (spiece.model): wikianchor train t5 makes one
without=huggingface_hub wikianchor publish out/pairs --to=hf://user/name
  2 --to=hf://... needs huggingface_hub: pip install 'wikianchor[hub]'
without=mwparserfromhell wikianchor sentences --dumps=dumps/dump.xml --output=new --parser=mwparserfromhell
  2 --parser=mwparserfromhell needs the package: pip install 'wikianchor[mwparserfromhell]'
without=icu wikianchor sentences --dumps=dumps/dump.xml --output=new --splitter=icu
  2 --splitter=icu needs PyICU: pip install 'wikianchor[icu]' (needs a C++ compiler and libicu-dev)
without=polyglot wikianchor sentences --dumps=dumps/dump.xml --output=new --splitter=polyglot
  2 --splitter=polyglot needs PyICU: pip install 'wikianchor[polyglot]' (needs a C++ compiler and libicu-dev)
without=torch wikianchor negatives --corpus=corpus --model=models/t5/model --output=new
  2 --model needs its packages (...): pip install 'wikianchor[t5]'
without=torch.utils.tensorboard trainer ease --data=out/pairs --new=tiny --output=new --tensorboard=new/board
  2 --tensorboard: needs the package tensorboard: pip install tensorboard
wikianchor mentions --sentences=out/sentences --entities=out/entities --output=full
  2 --output=full holds something else (photo.jpg): name an empty or a new directory
wikianchor topics --sql= --output=new
  2 --sql= names no file
wikianchor download --wikis= --output=new
  2 --wikis= names no wiki: write it like en,ja
wikianchor download --wikis=commons --output=new
  2 --wikis: commons is not a wiki in a language: write it like en or enwiki
wikianchor download --wikis=en --output=new --mirror=http://example.org --contact=me@example.org
  2 --mirror=http://example.org: not encrypted, so others can change what is sent: write https://, or add --allow_http
wikianchor download --wikis=en --output=new --site=http://localhost.a.org --contact=me@example.org
  2 --site=http://localhost.a.org: not encrypted, so others can change what is sent: write https://, or add --allow_http
wikianchor download --wikis=en --output=new --mirror=ftp://example.org --contact=me@example.org
  2 --mirror=ftp://example.org: not a web address: write it like https://dumps.wikimedia.org
wikianchor download --wikis=en --output=new --runner=DirectRunner
  2 unknown flag --runner=DirectRunner: see --help
wikianchor download --wikis=en --output=new
  2 Wikimedia turns away programs that do not say who runs them: give ... once, with --contact=you@example.org
wikianchor extract --dumps=empty.xml --title=Bus
  1 empty.xml: the file is empty: fetch it again
wikianchor sentences --dumps=dumps/dump.xml --wikis=Klingon --output=new
  2 --wikis: Klingon is not a wiki in a language: write it like en or enwiki
wikianchor report text.txt
  1 text.txt: no finished dataset here (no manifest.json): run its stage to the end
wikianchor verify out --against=text.txt
  1 out: 1 checks failed: see above, and build what failed again
wikianchor build --dumps=dumps --output=new --dry_run=yes
  2 argument --dry_run/--no-dry_run: ignored explicit argument 'yes': see --help
wikianchor build --dumps=dumps --output=new --candidates=x
  2 argument --candidates: invalid int value: 'x': see --help
trainer mboe --data=none.jsonl --mentions=out/mentions --model=/nowhere --output=new
  1 none.jsonl: no such file: documents are lines of JSON with text, label, language and split
trainer simcse --data=out/pairs --model=models/toy/model --output=new --softmax_size=1
  2 --softmax_size=1: must be 2 or more
trainer ease --data=out/pairs --new=tiny --model=models/toy/model --output=new
  2 --new=tiny and --model=models/toy/model: give one
trainer ease --data=out/pairs --new=tiny --output=new --quota=x --language_temperature=0.5
  2 --quota and --language_temperature both choose the rows of a wiki: give one
trainer sdjc --data=text.txt --model=models/toy/model --output=new
  1 text.txt: no finished dataset, and no .csv, .tsv, .jsonl file: wikianchor corpus makes one
evaluate --model=nobody/nothing --sts=sts.tsv
  1 nobody/nothing: no such directory, and the Hub cannot be reached: check the name and the network
evaluate --model=models/toy/model --sts=text.txt
  1 text.txt: 1 columns and no header: not a layout of STS that is known (...)
entities --data=nowhere --vectors=text.txt --output=new.safetensors
  1 nowhere/manifest.json: not there, so this is no finished dataset: wikianchor build makes one
detect --mentions=corpus
  1 corpus: a dataset of corpus: the trainer reads mentions here
"""


class Case(NamedTuple):
    """A row of the table."""

    command: str
    status: int
    answer: str


CASES = [
    Case(command, *(kind(part) for kind, part in zip((int, str), answer.split(maxsplit=1), strict=True)))
    for command, answer in zip(*[iter(TABLE.splitlines())] * 2, strict=True)
]


def write_inputs(folder: Path) -> None:
    """Write what the command lines of the table name."""
    contents: dict[str, bytes | str] = {
        "dumps/dump.xml": export(PAGES),
        "dumps/wikidata.json": json_dump(ITEMS),
        "text.txt": "Nothing but text.\n",
        "page.html": "<html>404</html>\n",
        "empty.xml": "",
        "dump.zip": b"PK\x03\x04",
        "garbage.bz2": b"BZh9" + bytes(range(256)) * 4,
        "cut.xml.bz2": bz2.compress(export(PAGES))[:-50],
        "cut.json": json_dump(ITEMS)[:-30],
        "other.json": '{"id": "Q1", "name": "no entity"}\n' * 9,
        "pretty.json": json.dumps(ITEMS, indent=1),
        "enwiki-20260101-page_props.sql": PAGE_PROPS % f"({'1' * 40},'wikibase_item','Q2',NULL)",
        "enwiki-20260102-page_props.sql": PAGE_PROPS % f"(1,'wikibase_item','Q{'2' * 40}',NULL)",
        "enwiki-20260103-page_props.sql": "CREATE TABLE `page` (\n  `page_id` int(11) NOT NULL\n);\n",
        "empty.toml": "",
        "key.toml": '[build]\ndumps = "dumps"\nwikiss = ["enwiki"]\n',
        "value.toml": '[build]\ndumps = "dumps"\nsample = "many"\n',
        "list.toml": '[build]\ndumps = "dumps"\nwikis = [1, 2]\n',
        "full/photo.jpg": "precious",
        "models/toy/model/config.json": "{}",
        "models/t5/model/spiece.model": "no vocabulary",
        "sts.tsv": "sentence1\tsentence2\tscore\na\tb\t1\nc\td\t2\n",
    }
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "empty").mkdir()
    write_corpus(folder / "corpus", ["患者は発熱を訴えて外来を受診した。"])
    build = ["build", f"--dumps={folder}/dumps", f"--output={folder}/out", "--min_links=0", "--negatives=0"]
    assert wikianchor_main(build) == 0
    shutil.copytree(folder / "out/sentences/enwiki", folder / "future")
    manifest = json.loads((folder / "future/manifest.json").read_text())
    (folder / "future/manifest.json").write_text(json.dumps({**manifest, "schema_version": "99.0"}))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.fixture
def folder(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, where the Hub cannot be reached."""
    monkeypatch.chdir(inputs)
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{inputs}/nowhere")
    if importlib.util.find_spec("huggingface_hub"):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return inputs


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def main_of(program: str) -> tuple[str, Callable[[Sequence[str]], int]]:
    """Return the name that a program's errors begin with, and its main function."""
    if program == "wikianchor":
        return program, wikianchor_main
    for package in ("torch", "transformers", "sklearn", "scipy"):
        pytest.importorskip(package, reason=f"NO {package.upper()}: pip install '.[train,eval]'")
    label = "trainer" if program in ("entities", "detect") else program
    return label, importlib.import_module(MODULES[program]).main


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.command)
def test_a_wrong_command_line_or_input(
    case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = shlex.split(case.command)
    if program.startswith("without="):
        monkeypatch.setitem(sys.modules, program.removeprefix("without="), None)
        program, *arguments = arguments
    label, main = main_of(program)
    before = files(folder)
    capfd.readouterr()
    try:
        assert main(arguments) == case.status
    finally:
        left = files(folder) - before
        for name in ("new", "release"):
            shutil.rmtree(folder / name, ignore_errors=True)
    errors = [line for line in capfd.readouterr().err.splitlines() if not PROGRESS.fullmatch(line)]
    wanted = re.escape(f"{label}: {case.answer}").replace(re.escape("..."), ".*")
    assert re.fullmatch(wanted, errors[-1]), errors[-1]
    if program == "wikianchor":
        assert errors[:-1] == []
        # What is published is made ready first, in a directory of its own.
        assert left == set() or "--release=release" in arguments
    else:
        assert [line for line in errors[:-1] if line.startswith((label, "Traceback"))] == []


def test_there_is_a_case_for_every_command() -> None:
    assert {case.command.split()[1] for case in CASES if case.command.startswith("wikianchor")} >= set(COMMANDS)
    assert {case.command.split()[0] for case in CASES} >= set(MODULES)
