"""Beginnings of articles in the habits of each Wikinews: dates, datelines, pictures, boxes, credits.

`HEADS` has wikitext that stands before the first sentence and is no part of it, `STARTS` the starts of sentences that
look like datelines and are none. `{p}` is a place of `PLACES`, `{P}` the same in capitals, `{d}` a day.
"""

from __future__ import annotations

from collections.abc import Iterator

PLACES = {
    "ar": "القاهرة بيروت بغداد دمشق",
    "ca": "Barcelona Girona Madrid",
    "cs": "Praha Brno Moskva",
    "de": "Berlin Hamburg Moskau Wien",
    "en": "London Boston Baghdad Sydney",
    "eo": "Parizo Varsovio Londono",
    "es": "Madrid Bogotá Lima Caracas",
    "fa": "تهران کابل مشهد",
    "fr": "Paris Lyon Bruxelles Québec",
    "ja": "東京 大阪 北京",
    "ko": "서울 부산 도쿄",
    "pl": "Warszawa Kraków Londyn",
    "pt": "Brasília Lisboa Recife",
    "ru": "Москва Киев Париж",
    "sv": "Stockholm Malmö Oslo",
    "tr": "Ankara Adana Tahran",
}
# In any wiki. `{file}` is the name of the namespace, `{other}` another sentence.
COMMON = (
    "[[{file}:A.jpg|thumb|right|200px|{other}]]\n",
    '<div class="thumb tright">[[{file}:A.jpg|200px]]<br />{other}</div>\n',
    "<center>[[{file}:A.jpg|300px]]<br>''{other}''</center>\n",
    "{| align=right\n| [[{file}:A.jpg|200px]]\n|-\n| {other}\n|}\n",
    "[[{file}:A.jpg|thumb|left]]\n<small>{other}</small>\n",
    "{{Box of this wiki\n|name={p}\n|text={other}\n}}\n",
    "{{Picture of this wiki|A.jpg|{other}}}\n",
    "<!-- {other} -->\n__NOTOC__\n",
    "{{Quote|{other}|{p}}}\n\n",
    "{{Topic of this wiki}}{{Status|done}}\n\n",
)
HEADS = {
    "ar": (
        "{{تاريخ|{d} مايو 2007}}\n",
        "'''{p}، {d} مايو 2007''' — ",
        "{p} - ",
        "{p} (رويترز) - ",
        "'''{p}''': ",
        "{d} مايو 2007\n\n",
        "الأحد، {d} مايو 2007\n\n",
        "{p}، {d} مايو (رويترز): ",
        "{p}: ",
    ),
    "ca": (
        "{{data|{d} de maig de 2007}}\n",
        "'''{p}, {d} de maig de 2007''' — ",
        "{p} (EFE) - ",
        "{p}. – ",
        "'''{p}'''.- ",
        "Dimarts, {d} de maig de 2007\n\n",
        "'''[[w:{p}|{p}]]''' – ",
    ),
    "cs": (
        "{{datum|{d}. května 2007}}\n",
        "'''{p}''' – ",
        "{p} (ČTK) – ",
        "'''{d}. května 2007''' – ",
        "{p}, {d}. května – ",
        "{p} - ",
        "{d}. května 2007\n\n",
    ),
    "de": (
        "{{Datum|{d}|05|2007}}\n",
        "'''{p} (Deutschland), {d}.05.2007''' – ",
        "'''[[{p}]], {d}.05.2007''' – ",
        "{p} – ",
        "'''Artikelstatus: Fertig''' 12:30, {d}. Mai 2007 (CEST)\n\n",
        "{p} (dpa) – ",
        "'''{p} / Moskau, {d}.05.2007''' - ",
    ),
    "en": (
        "{{date|May {d}, 2007}}\n",
        "'''{p}, [[w:England|England]]''' — ",
        "{p} — ",
        "'''{p}''' -- ",
        "{p} (AP) — ",
        "{P}, May {d} — ",
        "Tuesday, May {d}, 2007\n\n",
        "{{byline|date=May {d}, 2007|location={p}}}\n",
        "'''''{p}''''' &ndash; ",
    ),
    "eo": (
        "{{dato|{d} majo 2007}}\n",
        "'''{p}''' — ",
        "{p}, {d}-an de majo 2007 — ",
        "{p}: ",
        "'''{d}-a de majo 2007, {p}''' – ",
        "'''{p}''' - ",
    ),
    "es": (
        "{{fecha|{d} de mayo de 2007}}\n",
        "'''{p}, {d} de mayo de 2007''' —\n",
        "{p}.- ",
        "'''{p}, España''' - ",
        "{p} (EFE) – ",
        "{d} de mayo de 2007\n'''{p}''' — ",
        "'''[[{p}]] ([[España]])''' — ",
    ),
    "fa": (
        "{{تاریخ|{d} مه 2007}}\n",
        "{p}: ",
        "'''{p}''' - ",
        "{p} - ",
        "{d} مه 2007\n\n",
        "{p} (ایرنا) - ",
        "'''{p} - {d} مه 2007''': ",
    ),
    "fr": (
        "{{Date|{d} mai 2007}}\n",
        "{d} mai 2007. – '''{p}''' — ",
        "'''{p}''', le {d} mai 2007 – ",
        "{p}, {d} mai 2007 — ",
        "{p} (AFP) – ",
        "'''[[{p}]]''' - ",
        "'''{d} mai 2007''' – ",
    ),
    "ja": (
        "{{日付|2007年5月{d}日}}\n",
        "【2007年5月{d}日】",
        "（{p}）",
        "'''【{p}】'''",
        "2007年5月{d}日\n\n",
        "（{p}＝共同）",
        "【{p}・共同】",
        "【{{日付|2007年5月{d}日}}】 ",
    ),
    "ko": (
        "{{날짜|2007년 5월 {d}일}}\n",
        "({p}=연합뉴스) ",
        "【{p}】 ",
        "2007년 5월 {d}일\n\n",
        "'''{p}''' - ",
        "[{p}=뉴시스] ",
        "2007년 5월 {d}일, {p} - ",
    ),
    "pl": (
        "{{data|{d} maja 2007}}\n",
        "'''{p}''' – ",
        "{p}: ",
        "{p} (PAP) – ",
        "'''{d} maja 2007''' – ",
        "{p}, {d} maja 2007 r. – ",
        "'''{p}:''' ",
    ),
    "pt": (
        "{{data|{d} de maio de 2007}}\n{{Infotabela Brasil}}\n",
        "'''{p}, {d} de maio de 2007''' — ",
        "'''{p}, Brasil''' — ",
        "{p} (Agência Brasil) - ",
        "{p} - ",
        "{d} de maio de 2007\n\n",
        "'''[[{p}]]''' — ",
    ),
    "ru": (
        "{{тема|Россия|Политика}}\n",
        "'''{d} мая 2007 г.''' — ",
        "'''{p}, {d} мая''' — ",
        "{p}, {d} мая 2007 года — ",
        "{p} (РИА Новости) — ",
        "{d} мая 2007\n{{тема|Россия}}\n",
        "'''{p}, {d} мая 2007 г.''' — ",
        "{d} мая 2007 года\n\n",
    ),
    "sv": (
        "{{datum|{d} maj 2007}}\n",
        "'''{p}''' – ",
        "'''{p} ({d} maj 2007)''' – ",
        "{p} (TT) – ",
        "'''{p}''', {d} maj 2007 – ",
        "'''{p}'''<br />\n",
        "{d} maj 2007\n\n",
    ),
    "tr": (
        "{{tarih|{d} Mayıs 2007}}\n",
        "{P} - ",
        "{P}, {d} Mayıs 2007 (AA) - ",
        "'''{p}, {d} Mayıs 2007''' – ",
        "{p} - ",
        "{d} Mayıs 2007, Salı\n\n",
        "'''{p}:''' ",
        "{p}: ",
    ),
}
STARTS = {
    "ar": ("الرئيس المصري - حسني - قال أمس إن الخطة جديدة.", "معهد الشرق - الغرب نشر أمس تقريرا جديدا عن المياه."),
    "ca": (
        "Barcelona - Girona va ser ahir el partit del dia a la lliga.",
        "Un 10 - 12 % dels veïns van votar ahir al poble.",
    ),
    "cs": ("Asi 30 - 40 tisíc lidí přišlo včera na náměstí.", "Sparta – Slavia skončilo včera bez gólů."),
    "de": (
        "3 - 5 Prozent mehr Lohn forderte die Gewerkschaft gestern in Kiel.",
        "Bayern – Dortmund endete gestern ohne Tore.",
    ),
    "en": ("Between 30 – 40 people came to the hall on Friday.", "Lyon – a city in France – burned on Friday."),
    "eo": ("Ĉirkaŭ 30 - 40 homoj venis hieraŭ al la urbo.", "Parizo – Lono estis hieraŭ la plej longa vojo."),
    "es": ("Unas 30 - 40 personas llegaron ayer a la plaza.", "Real Madrid – Barcelona fue ayer el partido del año."),
    "fa": ("بنیاد خبر - تازه دیروز گزارش خود را درباره آب نوشت.", "حدود 30 - 40 نفر دیروز به شهر آمدند."),
    "fr": (
        "Lyon – Nantes s'est joué hier soir devant un stade plein.",
        "Environ 30 - 40 personnes sont venues hier à la fête.",
    ),
    "ja": ("朝日新聞社が13 - 14日に世論の調査を実施したという。", "（株）雪国は昨日、新しい工場を東北に開いた。"),
    "ko": ("약 30 - 40명이 어제 광장에 모여 눈을 치웠다.", "국회 - 정부 회의가 어제 서울에서 처음 열렸다."),
    "pl": ("Ok. 30 - 40 tys. osób przyszło wczoraj na rynek.", "Legia – Wisła zakończyło się wczoraj bez bramek."),
    "pt": ("Cerca de 30 - 40 pessoas foram ontem à praça.", "Porto – Benfica foi ontem o jogo do ano em Portugal."),
    "ru": ("13—14 января в городе прошли выборы мэра.", "Москва — столица страны, и вчера там выпал снег."),
    "sv": ("Omkring 30 - 40 personer kom i går till torget.", "Malmö – Lund är i dag en av de längsta vägarna."),
    "tr": ("Yaklaşık 30 - 40 kişi dün meydana geldi.", "Fenerbahçe - Galatasaray maçı dün golsüz bitti."),
}


def heads(language: str, file: str, other: str) -> Iterator[str]:
    """Yield what stands before a first sentence, in the habits of a wiki.

    Args:
        language: of the wiki.
        file: name of its namespace for files.
        other: a sentence for captions and boxes.
    """
    for number, place in enumerate(PLACES[language].split()):
        # Turkish has a dotted capital.
        capitals = place.replace("i", "İ").upper() if language == "tr" else place.upper()
        slots = {"p": place, "P": capitals, "d": str(3 + 7 * number), "file": file, "other": other}
        for head in (*HEADS[language], *COMMON):
            for name, value in slots.items():
                head = head.replace("{" + name + "}", value)
            yield head
