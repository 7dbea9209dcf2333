"""Write dumps that look like Wikinews: categories, templates, datelines and pictures as its editions use them.

    python tests/wikinews.py --languages de,ja --pages 1000 --output DIR

Every sentence is made of words listed here, by a hash of the page's number, and what should become of each page is
known: `News.pages` says it, and the tests hold `wikianchor mewsc16` to it. The same options give the same bytes.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from wikianchor.pipelines.mewsc16.editions import wiki_facts
from wikianchor.pipelines.mewsc16.topic_map import load_topics

# Names of the category namespace, one for each edition; {{w}}, dates and so on as the editions call them.
SPEECH = {
    "ar": {
        "category": "تصنيف",
        "file": "ملف",
        "thumb": "تصغير|يسار",
        "date": "{{تاريخ|{day} مايو 2007}}",
        "dateline": "'''{place}، {day} مايو''' — ",
        "sources": "مصادر",
        "places": "القاهرة بغداد بيروت تونس الرباط عمان دمشق الخرطوم",
        "people": "الوزير/الرئيس/رئيس البلدية/المتحدث/المدير/النائب",
        "clauses": "أعلن {who} في {place} يوم {day} مايو أن {number} شخصا حضروا الاجتماع"
        "/قال {who} إن {number} عاملا وصلوا إلى {place} أمس"
        "/افتتح {who} مبنى جديدا في {place} يتسع لنحو {number} زائر",
    },
    "ca": {
        "category": "Categoria",
        "file": "Fitxer",
        "thumb": "miniatura|dreta|250px",
        "date": "{{data|{day} de maig de 2007}}",
        "dateline": "'''{place}, {day} de maig''' — ",
        "sources": "Fonts",
        "places": "Barcelona Girona Lleida Tarragona Reus Manresa Vic Olot",
        "people": "El Sr. Puig/La ministra/El conseller/L'alcaldessa/El president/La Dra. Serra",
        "clauses": "{who} va anunciar a {place} el {day} de maig que hi havia {number} persones"
        "/{who} ha obert a {place} una sala per a {number} visitants, segons l'informe núm. {day}"
        "/{who} va dir ahir que {number} treballadors arribaran a {place}",
    },
    "cs": {
        "category": "Kategorie",
        "file": "Soubor",
        "thumb": "náhled|vpravo",
        "date": "{{datum|{day}. května 2007}}",
        "dateline": "'''{place} {day}. května''' – ",
        "sources": "Zdroje",
        "places": "Praha Brno Ostrava Plzeň Liberec Olomouc Pardubice Zlín",
        "people": "Ministr/Primátorka/Mluvčí policie/Ředitel/Poslankyně/Dr. Novák",
        "clauses": "{who} oznámil {day}. května, že do města {place} přijelo {number} lidí"
        "/{who} otevřel ve městě {place} sál pro {number} návštěvníků"
        "/{who} včera uvedl, že {number} dělníků dorazí do města {place}",
    },
    "de": {
        "category": "Kategorie",
        "file": "Datei",
        "thumb": "miniatur|rechts|hochkant",
        "date": "{{Datum|{day}|05|2007}}",
        "dateline": "'''{place} (Deutschland), {day}.05.2007''' – ",
        "sources": "Quellen",
        "places": "Berlin Hamburg München Köln Bremen Leipzig Dresden Kiel",
        "people": "Der Minister/Die Bürgermeisterin/Ein Sprecher/Dr. Weber/Der Präsident/Frau Prof. Lang",
        "clauses": "{who} hat am {day}. Mai in {place} vor {number} Gästen gesprochen"
        "/{who} eröffnete gestern in {place} einen Saal für {number} Besucher"
        "/Am {day}. Mai teilte {who} mit, dass {number} Arbeiter nach {place} kommen",
    },
    "en": {
        "category": "Category",
        "file": "File",
        "thumb": "thumb|right|200px",
        "date": "{{date|May {day}, 2007}}",
        "dateline": "'''{place}, May {day}''' — ",
        "sources": "Sources",
        "places": "Boston Chicago Dallas Denver Houston Miami Portland Seattle",
        "people": "The minister/Mayor J. R. Smith/A U.S. official/Dr. Brown/The president/Prof. Lee of St. John's",
        "clauses": "{who} told {number} people in {place} on May {day} that the work was done"
        "/{who} opened a hall for {number} visitors in {place} at 10 a.m. yesterday"
        "/{who} said on Tuesday that {number} workers from the U.S. would come to {place}",
    },
    "eo": {
        "category": "Kategorio",
        "file": "Dosiero",
        "thumb": "eta|maldekstra",
        "date": "{{dato|{day} majo 2007}}",
        "dateline": "'''{place}, {day}-an de majo''' — ",
        "sources": "Fontoj",
        "places": "Berlino Londono Parizo Romo Vieno Prago Varsovio Madrido",
        "people": "La ministro/La urbestro/D-ro Brown/La prezidanto/La direktoro/La parolanto",
        "clauses": "{who} diris la {day}-an de majo ke {number} homoj venis al {place}"
        "/{who} hieraŭ malfermis en {place} salonon por {number} vizitantoj"
        "/Laŭ ekz. la gazetaro {who} atendas {number} laboristojn en {place}",
    },
    "es": {
        "category": "Categoría",
        "file": "Archivo",
        "thumb": "thumb|izquierda|200px",
        "date": "{{fecha|{day} de mayo de 2007}}",
        "dateline": "'''{place}, {day} de mayo de 2007''' — ",
        "sources": "Fuentes",
        "places": "Madrid Sevilla Bilbao Valencia Bogotá Lima Quito Caracas",
        "people": "El Sr. Gómez/La ministra/El Dr. Ruiz/El alcalde/La presidenta/El portavoz de EE. UU.",
        "clauses": "{who} anunció en {place} el {day} de mayo que llegaron {number} personas"
        "/{who} inauguró ayer en {place} una sala para {number} visitantes"
        "/{who} dijo el martes que {number} obreros irán a {place}",
    },
    "fa": {
        "category": "رده",
        "file": "پرونده",
        "thumb": "بندانگشتی|چپ",
        "date": "{{تاریخ|{day} مه 2007}}",
        "dateline": "'''{place}، {day} مه''' — ",
        "sources": "منابع",
        "places": "تهران مشهد اصفهان شیراز تبریز یزد رشت کرمان",
        "people": "وزیر/رئیس جمهور/شهردار/سخنگو/مدیر/نماینده",
        "clauses": "{who} روز {day} مه در {place} گفت که {number} نفر به جلسه آمدند"
        "/{who} دیروز در {place} سالنی برای {number} مهمان گشود"
        "/به گفته {who}، {number} کارگر به {place} رسیدند",
    },
    "fr": {
        "category": "Catégorie",
        "file": "Fichier",
        "thumb": "vignette|droite|upright=1.3",
        "date": "{{Date|{day} mai 2007}}",
        "dateline": "{day} mai 2007. – ",
        "sources": "Sources",
        "places": "Paris Lyon Lille Nantes Rennes Nice Toulouse Bordeaux",
        "people": "Le ministre/La maire/M. Durand/Le Dr Petit/La présidente/Mme J. Martin",
        "clauses": "{who} a annoncé le {day} mai à {place} la venue de {number} personnes"
        "/{who} a ouvert hier à {place} une salle pour {number} visiteurs"
        "/Selon {who}, {number} ouvriers arriveront mardi à {place}",
    },
    "ja": {
        "category": "Category",
        "file": "ファイル",
        "thumb": "サムネイル|右|200px",
        "date": "{{日付|2007年5月{day}日}}",
        "dateline": "【2007年5月{day}日】",
        "sources": "出典",
        "places": "東京 大阪 京都 札幌 仙台 福岡 広島 那覇",
        "people": "市長/大臣/知事/広報担当者/会長/理事長",
        "clauses": "{place}で5月{day}日、{who}が{number}人の前で話した"
        "/{who}は{day}日、{place}に{number}人が入れる建物を開いたと発表した"
        "/{who}によると、{number}人の作業員が{place}に着いた",
        "stop": "。",
        "joint": "",
    },
    "ko": {
        "category": "분류",
        "file": "파일",
        "thumb": "섬네일|오른쪽",
        "date": "{{날짜|2007년 5월 {day}일}}",
        "dateline": "【{place}】 ",
        "sources": "출처",
        "places": "서울 부산 대구 인천 광주 대전 울산 수원",
        "people": "시장/장관/대변인/회장/이사장/의원",
        "clauses": "{who}은 5월 {day}일 {place}에서 {number}명에게 말했다"
        "/{who}은 어제 {place}에 {number}명이 들어가는 건물을 열었다"
        "/{who}에 따르면 {number}명의 노동자가 {place}에 도착했다",
    },
    "pl": {
        "category": "Kategoria",
        "file": "Plik",
        "thumb": "mały|lewo|200px",
        "date": "{{data|{day} maja 2007}}",
        "dateline": "'''{place}, {day} maja''' – ",
        "sources": "Źródła",
        "places": "Warszawa Kraków Gdańsk Poznań Łódź Lublin Opole Toruń",
        "people": "Minister/Prezydent miasta/Dr Nowak/Rzecznik/Prof. Lis/Dyrektor",
        "clauses": "{who} powiedział {day} maja, że do miasta {place} przyjechało {number} osób"
        "/{who} otworzył wczoraj w mieście {place} salę dla {number} gości, m.in. z Czech"
        "/{who} ogłosił, że w mieście {place} pracuje {number} robotników",
    },
    "pt": {
        "category": "Categoria",
        "file": "Ficheiro",
        "thumb": "miniaturadaimagem|esquerda",
        "date": "{{data|{day} de maio de 2007}}",
        "dateline": "'''{place}''' — ",
        "sources": "Fontes",
        "places": "Lisboa Porto Braga Coimbra Recife Salvador Manaus Brasília",
        "people": "O Sr. Alves/A ministra/O Dr. Lima/O prefeito/A presidente/O porta-voz",
        "clauses": "{who} anunciou em {place} no dia {day} de maio a vinda de {number} pessoas"
        "/{who} abriu ontem em {place} uma sala para {number} visitantes"
        "/Segundo a Folha de S. Paulo, {who} espera {number} operários em {place}",
    },
    "ru": {
        "category": "Категория",
        "file": "Файл",
        "thumb": "мини|слева|200px",
        "date": "{{дата|{day} мая 2007}}",
        "dateline": "'''{place}, {day} мая''' — ",
        "sources": "Источники",
        "places": "Москва Казань Самара Пермь Омск Тула Псков Тверь",
        "people": "Министр/Мэр города/А. С. Иванов/Директор/Депутат/Пресс-секретарь",
        "clauses": "{who} сообщил {day} мая, что в город {place} приехало {number} человек"
        "/{who} вчера открыл в городе {place} зал на {number} мест, т. е. больше прежнего"
        "/По словам источника, {who} ждёт {number} рабочих в городе {place}",
    },
    "sv": {
        "category": "Kategori",
        "file": "Fil",
        "thumb": "miniatyr|vänster",
        "date": "{{datum|{day} maj 2007}}",
        "dateline": "'''{place}''' – ",
        "sources": "Källor",
        "places": "Stockholm Göteborg Malmö Uppsala Lund Umeå Örebro Visby",
        "people": "Ministern/Borgmästaren/Dr. Berg/Talesmannen/Direktören/Ordföranden",
        "clauses": "{who} sade den {day} maj att {number} personer hade kommit till {place}"
        "/{who} öppnade i går en sal för {number} besökare i {place}, bl.a. från Norge"
        "/{who} väntar {number} arbetare i {place} på tisdag",
    },
    "tr": {
        "category": "Kategori",
        "file": "Dosya",
        "thumb": "küçükresim|sağ",
        "date": "{{tarih|{day} Mayıs 2007}}",
        "dateline": "'''{place}, {day} Mayıs''' – ",
        "sources": "Kaynaklar",
        "places": "Ankara İstanbul İzmir Bursa Konya Adana Kayseri Samsun",
        "people": "Bakan/Belediye başkanı/Dr. Yılmaz/Sözcü/Müdür/Milletvekili",
        "clauses": "{who} {day} Mayıs günü yaptığı açıklamada {place} kentine {number} kişinin geldiğini söyledi"
        "/{who} dün {place} kentinde {number} kişilik bir salon açtı"
        "/{who} tarafından verilen bilgiye göre {number} işçi {place} kentine ulaştı",
    },
}
TOPICS = load_topics()
# Wikis whose pages have no sign of their publication in this generator.
UNMARKED = frozenset(("cs", "pl", "sv"))
# Pages of the namespace Template: a link, categories, a lead, a box that sets a category, a box of quotations.
TEMPLATES = {
    "Wiki link": "[[w:{{{1}}}|{{{2|{{{1}}}}}}]]<noinclude>[[Help]]</noinclude>",
    "Topics": "{{#if:{{{1|}}}|[[{own}:{{{1}}}]]}}{{#if:{{{2|}}}|[[{own}:{{{2}}}]]}}",
    "Topic bar": '<div class="bar">[[{own}:{{{1}}}]] {{{1}}}</div>',
    "Lead": '<div style="font-weight:bold">{{{1}}}</div>',
    "Pull": '{| style="float:right"\n| {{{1}}}\n|}',
}
ALIAS = {"en": "CAT", "ja": "カテゴリ", "ru": "К", "es": "CAT"}


class Expected(NamedTuple):
    """What should become of a page: `fate` is kept, or the reason why it is not; `routes` how the topic is found."""

    page_id: int
    fate: str
    sentence: str
    label: str
    route: str


@dataclass
class News:
    """A made-up Wikinews: the pages as XML, the fates of those of them that are counted, and its table of categories
    as (page id, category)."""

    language: str
    xml: list[bytes] = field(default_factory=list)
    pages: list[Expected] = field(default_factory=list)
    links: list[tuple[int, str]] = field(default_factory=list)


def number_of(*parts: object) -> int:
    """Return a number made of anything that can be written down, the same on every machine."""
    text = "|".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


class Newsroom:
    """Writes the pages of one language."""

    def __init__(self, language: str) -> None:
        speech = SPEECH[language]
        self.language, self.speech = language, speech
        self.places = speech["places"].split()
        self.people = speech["people"].split("/")
        self.clauses = speech["clauses"].split("/")
        self.stop, self.joint = speech.get("stop", "."), speech.get("joint", " ")
        self.topics: dict[str, str] = {}
        for name, topic in TOPICS[language].items():
            self.topics.setdefault(topic, name)

    def words(self, seed: int) -> dict[str, str]:
        """Return what fills the slots of a clause."""
        return {
            "who": self.people[number_of("who", seed) % len(self.people)],
            "place": self.places[number_of("place", seed) % len(self.places)],
            "day": str(1 + number_of("day", seed) % 28),
            # No two pages have the same.
            "number": str(1000 + seed),
        }

    def clause(self, seed: int, words: dict[str, str]) -> str:
        """Return a sentence as a reader sees it."""
        return self.clauses[number_of("clause", seed) % len(self.clauses)].format(**words) + self.stop

    def written(self, seed: int, words: dict[str, str]) -> str:
        """Return the same sentence as wikitext, with a link or a template that carries words."""
        town, who = words["place"], words["who"]
        linked = {
            0: {"place": f"{{{{w|{town}}}}}"},
            1: {"place": f"[[w:{town}|{town}]]"},
            2: {"who": f"{{{{w|{town} ({who})|{who}}}}}"},
            3: {"place": f"[[{town}]]", "who": f"''{who}''"},
            4: {"number": f"{words['number']}<ref>{{{{cite web|title={town}}}}}</ref>"},
            5: {},
            6: {"place": f"{{{{Wiki link|{town} (town)|{town}}}}}"},
        }[number_of("link", seed) % 7]
        return self.clause(seed, {**words, **linked})

    def category(self, seed: int, name: str) -> str:
        """Return a category link, written as one of the ways that mean the same."""
        category_prefix = self.speech["category"]
        ways = [
            f"[[{category_prefix}:{name}]]",
            f"[[{category_prefix}:{name}|{seed}]]",
            f"[[Category:{name}]]",
            f"[[{category_prefix.lower()}:{name.replace(' ', '_')}]]",
            f"[[ {category_prefix} : {name[:1].lower() + name[1:]} ]]",
            f"[[{category_prefix}:Wikinews]][[{category_prefix}:{name}]] [[{category_prefix}:2007]]",
            f"{{{{DEFAULTSORT:{seed}}}}}[[{category_prefix}:{name}|{{{{PAGENAME}}}}]]",
            f"[[{ALIAS.get(self.language, category_prefix)}:{name}]]",
        ]
        return ways[number_of("category", seed) % len(ways)]

    def article(self, seed: int, sentence: str, categories: str) -> str:
        """Return the wikitext of an article around its first sentence."""
        speech, words = self.speech, self.words(seed)
        caption = f"{words['place']}, 2006" if seed % 2 else f"[[w:{words['place']}|{words['place']}]] 2006"
        parts = [
            fill(speech["date"], words) + "\n" if seed % 3 else "",
            f"[[{speech['file']}:Photo {seed}.jpg|{speech['thumb']}|{caption}]]\n" if seed % 4 < 2 else "",
            f"{{{{Infobox news\n| name = {words['place']}\n| text = [[{words['place']}]] {words['number']}\n}}}}\n"
            if seed % 5 == 0
            else "",
            fill(speech["dateline"], words) if seed % 7 < 3 else "",
            sentence,
            self.joint,
            self.clause(seed + 1, self.words(seed + 500_000)),
            "\n\n" + "\n\n".join(self.paragraph(seed, part) for part in range(2 + seed % 4)),
            f"\n\n== {speech['sources']} ==\n* {{{{source|url=http://example.org/{seed}|title={words['place']}}}}}\n",
            self.sign(),
            categories,
        ]
        return "".join(parts)

    def sign(self) -> str:
        """Return what tells that a page is published."""
        if self.language in UNMARKED:
            return ""
        if self.language in ("en", "es"):
            return "{{publish}}\n" if self.language == "en" else "{{publicado}}\n"
        return f"[[{self.speech['category']}:{wiki_facts()['published'][self.language]['categories'][0]}]]\n"

    def paragraph(self, seed: int, part: int) -> str:
        """Return a paragraph of three sentences."""
        seeds = [700_000 + 20 * seed + 3 * part + number for number in range(3)]
        return self.joint.join(self.written(seed, self.words(seed)) for seed in seeds)


def fill(pattern: str, words: dict[str, str]) -> str:
    """Fill the slots of a pattern that has braces of its own."""
    for name, value in words.items():
        pattern = pattern.replace("{" + name + "}", value)
    return pattern


Kind = Callable[[Newsroom, int, News], None]


def plain(newsroom: Newsroom, seed: int, news: News) -> None:
    """An article in one topic."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    words = newsroom.words(seed)
    text = newsroom.article(seed, newsroom.written(seed, words), newsroom.category(seed, newsroom.topics[topic]))
    add(news, seed, text, "kept", newsroom.clause(seed, words), topic, "wikitext")
    news.links.append((seed, newsroom.topics[topic]))


def by_template(newsroom: Newsroom, seed: int, news: News) -> None:
    """A topic that a template adds: the text does not name it."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    words = newsroom.words(seed)
    text = newsroom.article(seed, newsroom.written(seed, words), "{{topic box}}")
    add(news, seed, text, "kept", newsroom.clause(seed, words), topic, "template")
    news.links.append((seed, newsroom.topics[topic]))


def by_own_template(newsroom: Newsroom, seed: int, news: News) -> None:
    """A topic that a template of the wiki sets, as its own page says."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    words, name = newsroom.words(seed), newsroom.topics[topic]
    call = ("{{Topics|%s}}", "{{topics|%s|A category}}", "{{Topics|%s|2={{#if:a|B}}}}", "{{Topic bar|%s}}")[seed % 4]
    text = newsroom.article(seed, newsroom.written(seed, words), call.replace("%s", name))
    add(news, seed, text, "kept", newsroom.clause(seed, words), topic, "template")
    news.links.append((seed, name))


def in_template(newsroom: Newsroom, seed: int, news: News) -> None:
    """A lead that is the argument of a template: one that the wiki has, or one that is gone."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    words = newsroom.words(seed)
    name = "Lead" if seed % 2 else "Lead that is gone"
    quotation = f"{{{{Pull|{newsroom.clause(seed + 2, newsroom.words(seed + 2))}}}}}\n" if seed % 3 else ""
    lead = f"{quotation}{{{{{name}|{newsroom.written(seed, words)}}}}}\n\n" + newsroom.clause(
        seed + 3, newsroom.words(seed + 3)
    )
    text = f"{lead}\n\n== X ==\n{newsroom.sign()}" + newsroom.category(seed, newsroom.topics[topic])
    add(news, seed, text, "kept" if seed % 2 else "lead_in_template", newsroom.clause(seed, words), topic, "wikitext")
    news.links.append((seed, newsroom.topics[topic]))


def redirected(newsroom: Newsroom, seed: int, news: News) -> None:
    """A category that a redirect, hard or soft, leads to a topic's."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    name, words = f"Old {seed}", newsroom.words(seed)
    target = f"{newsroom.speech['category']}:{newsroom.topics[topic]}"
    if seed % 2:
        add_page(news, 800_000 + seed, f"{newsroom.speech['category']}:{name}", f"#REDIRECT [[:{target}]]", 14, target)
    else:
        add_page(
            news, 800_000 + seed, f"{newsroom.speech['category']}:{name}", f"{{{{Category redirect|{target}}}}}", 14
        )
    text = newsroom.article(seed, newsroom.written(seed, words), f"[[{newsroom.speech['category']}:{name}]]")
    add(news, seed, text, "kept", newsroom.clause(seed, words), topic, "wikitext")
    news.links.append((seed, name))


def below(newsroom: Newsroom, seed: int, news: News) -> None:
    """A category right below a topic's."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    name, words, category_prefix = f"Below {seed}", newsroom.words(seed), newsroom.speech["category"]
    add_page(
        news,
        800_000 + seed,
        f"{category_prefix}:{name}",
        f"[[{category_prefix}:{newsroom.topics[topic]}]] [[{category_prefix}:{name}]]",
        14,
    )
    text = newsroom.article(seed, newsroom.written(seed, words), f"[[{category_prefix}:{name}]]")
    add(news, seed, text, "kept", newsroom.clause(seed, words), topic, "subcategory")
    news.links.append((seed, name))


def in_two(newsroom: Newsroom, seed: int, news: News) -> None:
    """An article in two topics."""
    names = [newsroom.topics[topic] for topic in sorted(newsroom.topics)]
    first, other = names[seed % len(names)], names[(seed + 1) % len(names)]
    both = newsroom.category(seed, first) + "\n" + newsroom.category(seed + 1, other)
    add(news, seed, newsroom.article(seed, newsroom.written(seed, newsroom.words(seed)), both), "several_topics")
    news.links += [(seed, first), (seed, other)]


def in_none(newsroom: Newsroom, seed: int, news: News) -> None:
    """Links, comments and nowiki that look like memberships and are none."""
    category_prefix, name = newsroom.speech["category"], sorted(newsroom.topics.values())[seed % len(newsroom.topics)]
    fakes = [
        f"[[:{category_prefix}:{name}]]",
        f"<!-- [[{category_prefix}:{name}]] -->",
        f"<nowiki>[[{category_prefix}:{name}]]</nowiki>",
        f"[[{category_prefix}:{name} 2]]",
        f"[[{category_prefix}:{name}",
        f"[[w:{category_prefix}:{name}]]",
        f"{category_prefix}:{name}",
    ]
    text = newsroom.article(seed, newsroom.written(seed, newsroom.words(seed)), fakes[seed % len(fakes)])
    add(news, seed, text, "no_topic")


def with_hole(newsroom: Newsroom, seed: int, news: News) -> None:
    """A first sentence that lost words to a template nobody knows."""
    words = newsroom.words(seed)
    sentence = newsroom.clause(seed, {**words, "place": f"{{{{unknown {seed}|{words['place']}}}}}"})
    name = sorted(newsroom.topics.values())[seed % len(newsroom.topics)]
    add(news, seed, newsroom.article(seed, sentence, newsroom.category(seed, name)), "hole")
    news.links.append((seed, name))


def repeated(newsroom: Newsroom, seed: int, news: News) -> None:
    """The sentence of another page, in the same topic."""
    topic = sorted(newsroom.topics)[0]
    words = newsroom.words(7)
    text = newsroom.article(seed, newsroom.clause(7, words), newsroom.category(seed, newsroom.topics[topic]))
    seen = any(page.fate == "kept" and page.sentence == newsroom.clause(7, words) for page in news.pages)
    add(news, seed, text, "duplicate" if seen else "kept", newsroom.clause(7, words), topic, "wikitext")
    news.links.append((seed, newsroom.topics[topic]))


def boilerplate(newsroom: Newsroom, seed: int, news: News) -> None:
    """The same sentence under several topics, as a template's text is."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    text = newsroom.article(
        seed, newsroom.clause(8, newsroom.words(8)), newsroom.category(seed, newsroom.topics[topic])
    )
    add(news, seed, text, "several_labels")
    news.links.append((seed, newsroom.topics[topic]))


def empty(newsroom: Newsroom, seed: int, news: News) -> None:
    """A page with a topic and no sentence: lists, boxes, pictures, a table."""
    name = sorted(newsroom.topics.values())[seed % len(newsroom.topics)]
    bodies = [
        "{{Infobox|a=1}}\n[[File:a.jpg|thumb|A picture of it.]]\n",
        "* one\n* two\n* three\n",
        "{| class=x\n| cell || cell\n|}\n",
        f"== {newsroom.speech['sources']} ==\n* [http://example.org one]\n",
        "",
    ]
    add(news, seed, bodies[seed % len(bodies)] + newsroom.category(5, name), "no_sentence")
    news.links.append((seed, name))


def draft(newsroom: Newsroom, seed: int, news: News) -> None:
    """A page that is not published, where the wiki tells."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    words = newsroom.words(seed)
    text = newsroom.article(seed, newsroom.written(seed, words), newsroom.category(seed, newsroom.topics[topic]))
    if sign := newsroom.sign():
        text = text.replace(sign, "")
    elif newsroom.language == "pl":
        text = "{{Tworzone}}\n" + text
    fate = "kept" if newsroom.language in ("cs", "sv") else "unpublished"
    add(news, seed, text, fate, newsroom.clause(seed, words), topic, "wikitext")
    news.links.append((seed, newsroom.topics[topic]))


def hostile(newsroom: Newsroom, seed: int, news: News) -> None:
    """Markup made to break a reader, behind a sound first sentence."""
    topic = sorted(newsroom.topics)[seed % len(newsroom.topics)]
    words, category_prefix = newsroom.words(seed), newsroom.speech["category"]
    tricks = [
        "{{" * 300,
        "[[" * 300,
        f"[[{category_prefix}:" * 300,
        f"[[{category_prefix}:x|" * 300,
        "{|\n" * 100,
        "<ref>" * 200,
        "'" * 500,
        f"[[{category_prefix}:{'x' * 300}]]",
        "[[" + category_prefix + ":" + "%5B" * 100 + "]]",
    ]
    text = (
        f"{newsroom.written(seed, words)}\n\n== {words['place']} ==\n{tricks[seed % len(tricks)]}\n\n{newsroom.sign()}"
    )
    text = f"[[{category_prefix}:{newsroom.topics[topic]}]]\n" + text
    add(news, seed, text, "kept", newsroom.clause(seed, words), topic, "wikitext")
    news.links.append((seed, newsroom.topics[topic]))


def elsewhere(newsroom: Newsroom, seed: int, news: News) -> None:
    """A page of another namespace, or a redirect."""
    name = newsroom.topics[sorted(newsroom.topics)[0]]
    category = f"[[{newsroom.speech['category']}:{name}]]"
    if seed % 2:
        add_page(
            news,
            seed,
            f"Talk:Page {seed}",
            newsroom.article(seed, newsroom.written(seed, newsroom.words(seed)), category),
            1,
        )
    else:
        add_page(news, seed, f"Moved {seed}", f"#REDIRECT [[Page 1]] {category}", 0, "Page 1")
        news.pages.append(Expected(seed, "redirect", "", "", ""))


# How often each kind of page comes, of a hundred.
KINDS: tuple[tuple[int, Kind], ...] = (
    (46, plain), (6, by_own_template), (4, in_template), (6, redirected), (5, in_two), (7, in_none), (4, with_hole),
    (3, repeated), (3, boilerplate),
    (5, empty), (4, draft), (4, hostile), (4, elsewhere),
)  # fmt: skip
WITH_TABLES: tuple[tuple[int, Kind], ...] = (*KINDS, (8, by_template))
WITH_BELOW: tuple[tuple[int, Kind], ...] = (*WITH_TABLES, (8, below))


def make_news(language: str, pages: int, kinds: Sequence[tuple[int, Kind]] = KINDS) -> News:
    """Return a Wikinews with so many articles, from page id 10."""
    news, newsroom = News(language), Newsroom(language)
    for number, (title, text) in enumerate(TEMPLATES.items()):
        add_page(news, 900_001 + number, f"Template:{title}", text.replace("{own}", newsroom.speech["category"]), 10)
    spread = [kind for weight, kind in kinds for _ in range(weight)]
    if boilerplate in spread:
        # Two of them at least, in two topics.
        for seed in (1, 2):
            boilerplate(newsroom, seed, news)
    for seed in range(10, 10 + pages):
        spread[number_of("kind", language, seed) % len(spread)](newsroom, seed, news)
    return news


def add(news: News, page_id: int, text: str, fate: str, sentence: str = "", label: str = "", route: str = "") -> None:
    """Add an article and what should become of it."""
    add_page(news, page_id, f"Page {page_id}", text)
    kept = fate == "kept"
    news.pages.append(Expected(page_id, fate, sentence if kept else "", label if kept else "", route if kept else ""))


def add_page(news: News, page_id: int, title: str, text: str, namespace: int = 0, redirect: str | None = None) -> None:
    """Add a page to the dump."""
    lead = f'    <redirect title="{escape(redirect)}" />\n' if redirect is not None else ""
    year = 2004 + page_id % 22
    news.xml.append(
        (
            f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{namespace}</ns>\n    <id>{page_id}</id>\n{lead}"
            f"    <revision>\n      <id>{page_id + 1_000_000}</id>\n"
            f"      <timestamp>{year}-05-01T00:00:00Z</timestamp>\n"
            f"      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
            f'      <text xml:space="preserve">{escape(text)}</text>\n    </revision>\n  </page>\n'
        ).encode()
    )


def dump(news: News, wiki: str | None = None) -> bytes:
    """Return the whole dump as plain XML."""
    wiki = wiki or f"{news.language}wikinews"
    speech = SPEECH[news.language]
    names = {
        -1: "Special",
        1: "Talk",
        2: "User",
        4: "Wikinews",
        6: speech["file"],
        10: "Template",
        14: speech["category"],
    }
    listed = "".join(
        f'      <namespace key="{key}" case="first-letter">{name}</namespace>\n' for key, name in sorted(names.items())
    )
    project = "wikinews" if wiki.endswith("wikinews") else "wikipedia"
    head = (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" '
        f'xml:lang="{news.language}">\n  <siteinfo>\n    <sitename>Wikinews</sitename>\n    <dbname>{wiki}</dbname>\n'
        f"    <base>https://{news.language}.{project}.org/wiki/Main</base>\n    <generator>MediaWiki 1.44</generator>\n"
        '    <case>first-letter</case>\n    <namespaces>\n      <namespace key="0" case="first-letter" />\n'
        f"{listed}    </namespaces>\n  </siteinfo>\n"
    )
    return head.encode() + b"".join(news.xml) + b"</mediawiki>\n"


def sql_tables(news: News, old: bool = False) -> dict[str, bytes]:
    """Return the tables of categories as mysqldump writes them, by name; `old` with titles in categorylinks."""
    names = sorted({name for _, name in news.links})
    numbers = {name: 100 + index for index, name in enumerate(names)}

    def title(name: str) -> str:
        return name.replace(" ", "_").replace("'", "\\'")

    if old:
        rows = ",".join(f"({page},'{title(name)}','','2007-01-01 00:00:00','','','page')" for page, name in news.links)
        columns = (
            "`cl_from` int(8) unsigned NOT NULL,\n  `cl_to` varbinary(255) NOT NULL,\n  `cl_sortkey` varbinary(230) "
        )
        columns += "NOT NULL,\n  `cl_timestamp` timestamp NOT NULL,\n  `cl_sortkey_prefix` varbinary(255) NOT NULL,\n  "
        columns += "`cl_collation` varbinary(32) NOT NULL,\n  `cl_type` enum('page','subcat','file') NOT NULL"
    else:
        rows = ",".join(f"({page},'','2007-01-01 00:00:00','','page',1,{numbers[name]})" for page, name in news.links)
        columns = "`cl_from` int(8) unsigned NOT NULL,\n  `cl_sortkey` varbinary(230) NOT NULL,\n  `cl_timestamp` "
        columns += "timestamp NOT NULL,\n  `cl_sortkey_prefix` varbinary(255) NOT NULL,\n  `cl_type` "
        columns += "enum('page','subcat','file') NOT NULL,\n  `cl_collation_id` smallint(5) unsigned NOT NULL,\n  "
        columns += "`cl_target_id` bigint(20) unsigned NOT NULL"
    tables = {"categorylinks": _table("categorylinks", columns, rows)}
    if not old:
        targets = ",".join(f"({number},14,'{title(name)}')" for name, number in numbers.items())
        columns = (
            "`lt_id` bigint(20) unsigned NOT NULL,\n  `lt_namespace` int(11) NOT NULL,\n  `lt_title` varbinary(255) "
        )
        tables["linktarget"] = _table("linktarget", columns + "NOT NULL", targets)
    return tables


def _table(name: str, columns: str, rows: str) -> bytes:
    return (
        f"-- MySQL dump 10.19\nCREATE TABLE `{name}` (\n  {columns},\n  PRIMARY KEY (`x`)\n) ENGINE=InnoDB;\n"
        f"INSERT INTO `{name}` VALUES {rows};\n-- Dump completed on 2026-06-01\n"
    ).encode()


def write(news: News, directory: Path, date: str = "20260601", tables: bool = False, pack: bool = True) -> Path:
    """Write a dump, and its tables, under their names in a directory; return the dump's path."""
    directory.mkdir(parents=True, exist_ok=True)
    name = f"{news.language}wikinews-{date}"
    if tables:
        for table, data in sql_tables(news).items():
            (directory / f"{name}-{table}.sql.gz").write_bytes(gzip.compress(data, mtime=0))
    path = directory / f"{name}-pages-articles.xml{'.bz2' if pack else ''}"
    path.write_bytes(bz2.compress(dump(news)) if pack else dump(news))
    return path


def languages() -> Iterator[str]:
    """Yield the languages that can be written."""
    yield from SPEECH


def main(arguments: Iterable[str] | None = None) -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", default=",".join(SPEECH), help="codes with commas (default: all)")
    parser.add_argument("--pages", type=int, default=1000, help="articles of each (1000)")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--tables", action="store_true", help="also the SQL tables, and topics that only they know")
    options = parser.parse_args(None if arguments is None else list(arguments))
    for language in options.languages.split(","):
        news = make_news(language, options.pages, WITH_TABLES if options.tables else KINDS)
        print(write(news, options.output, tables=options.tables))


if __name__ == "__main__":
    main()
