"""First sentences: wikitext as articles begin in each language in, the sentence or the reason against it out."""

from __future__ import annotations

import pytest

from tests import wikinews_habits as habits
from tests.wikinews import Newsroom
from wikianchor.pipelines.mewsc16.categories import CategoryReader
from wikianchor.pipelines.mewsc16.dateline import TESTS, cut_dateline, is_day
from wikianchor.pipelines.mewsc16.editions import read_facts, with_aliases
from wikianchor.pipelines.mewsc16.faults import FaultFinder
from wikianchor.pipelines.mewsc16.lead import LeadReader
from wikianchor.pipelines.wikimedia.site import site_for

ENGLISH = site_for("enwikinews")
# Language, wikitext, first sentence.
LEADS = [
    ("en", "{{date|May 3, 2006}}\n'''MADRID, Spain''' — The {{w|Juan|king}} met the U.S. president. More.", None),
    ("en", "[[File:A.jpg|thumb|The [[w:A|A]] in 2005.]]\nDr. Smith of the U.S. Army spoke at 3 p.m. on Friday.", None),
    ("en", "Friday, May 3, 2006\n\nThe town of St. Ives flooded. It rained.", "The town of St. Ives flooded."),
    ("en", "''This article is part of the series on rain.''\n\nThe town flooded today.", "The town flooded today."),
    ("en", ":''See also [[Rain]]''\n{{infobox|a=b}}\nThe town flooded today.", "The town flooded today."),
    ("en", "== Rain ==\nThe town flooded today. So it did.", "The town flooded today."),
    ("en", "<!-- The old text. -->The town flooded today.<ref>Page 3. </ref> So it did.", "The town flooded today."),
    ("de", "'''Berlin (Deutschland), 03.05.2006''' – Am 3. März hat Dr. Weber z. B. Kiel besucht. Ja.", None),
    ("de", "[[Datei:A.jpg|miniatur|hochkant|Ein Bild, 2005.]] Am 11. Mai sprach der 1. FC Köln. Ja.", None),
    ("fr", "22 mai 2012. - Québec - Le 1er Forum s'ouvre ce lundi. Oui.", "Le 1er Forum s'ouvre ce lundi."),
    ("fr", "{{Date|3 mai 2006}}\n[[Image:A.png|vignette|La maison.]]\nM. Durand a parlé à Lyon. Oui.", None),
    ("es", "'''Madrid, 3 de mayo de 2006''' —\nEl Sr. Gómez llegó a EE. UU. el martes. Sí.", None),
    ("pt", "'''Brasília''' — A ministra falou ontem em S. Paulo. Sim.", "A ministra falou ontem em S. Paulo."),
    ("ca", "El Sr. Puig va arribar ahir a Girona. Sí.", "El Sr. Puig va arribar ahir a Girona."),
    ("cs", "'''Praha 3. května''' – Dne 3. května přijel ministr. Ano.", "Dne 3. května přijel ministr."),
    ("pl", "'''Warszawa, 3 maja''' – Prof. Lis mówił m.in. o pogodzie. Tak.", "Prof. Lis mówił m.in. o pogodzie."),
    ("sv", "'''Lund''' – Ministern talade bl.a. om snö. Ja.", "Ministern talade bl.a. om snö."),
    ("ru", "'''Москва, 3 мая''' — А. С. Иванов сказал, что пойдёт снег. Да.", "А. С. Иванов сказал, что пойдёт снег."),
    ("eo", "La {{w|Berlino|urbestro}} venis la 3-an de majo. Jes.", "La urbestro venis la 3-an de majo."),
    ("tr", "'''Ankara, 3 Mayıs''' – Bakan dün konuştu. Evet.", "Bakan dün konuştu."),
    ("ar", "'''بغداد، 3 مايو''' — أعلن الوزير أمس عن خطة جديدة. نعم.", "أعلن الوزير أمس عن خطة جديدة."),
    ("fa", "'''تهران''' — وزیر دیروز از برنامه تازه گفت. بله.", "وزیر دیروز از برنامه تازه گفت."),
    ("ja", "【2006年5月3日】\n{{w|東京}}で市長が雪について話した。そうだ。", "東京で市長が雪について話した。"),
    ("fr", "'''{{lieu|Paris}}''', {{date|3 mai}}. — Le ministre a parlé hier. Oui.", "Le ministre a parlé hier."),
    ("en", "{{dateline|Madrid}} — The king spoke on Friday. Yes.", "The king spoke on Friday."),
    ("ja", "'''【{{日付|2007年}}】''' 東京で市長が雪について話した。", "東京で市長が雪について話した。"),
    ("sv", "{{datum|3 maj}} '''Stockholm''': Kungen talade om snö. Ja.", "Kungen talade om snö."),
    ("sv", "'''[[Sverige]]'''<br>Kungen talade om snö. Ja.", "Kungen talade om snö."),
    ("en", "{{Byline|MADRID}}\nThe king spoke on Friday. Yes.", "The king spoke on Friday."),
    ("cs", "Podle 1. místopředsedy např. vláda včera padla. Ano.", "Podle 1. místopředsedy např. vláda včera padla."),
    ("en", "The king came on Friday <ref>The Times</ref> . He spoke.", "The king came on Friday."),
    ("ko", "【서울】 시장은 3일 눈에 대해 말했다. 그렇다.", "시장은 3일 눈에 대해 말했다."),
    ("es", 'Según Pérez, "no habrá nieve. Habrá sol". Así fue.', 'Según Pérez, "no habrá nieve. Habrá sol".'),
    ("ar", "«متى يأتي الثلج؟» سأل رئيس البلدية أمس. لم يجب أحد.", "«متى يأتي الثلج؟» سأل رئيس البلدية أمس."),
    ("sv", "'''Lund, 3 maj''' – Kungen vill ha snö: 94 meter till jul. Ja.", "Kungen vill ha snö: 94 meter till jul."),
    ("pl", "'''Kraków''' – Król mówił – w radiu – o śniegu. Tak.", "Król mówił – w radiu – o śniegu."),
    ("en", "<blockquote>It will snow in town.</blockquote>\nThe king spoke on Friday.", "The king spoke on Friday."),
    ("de", "'''(3. Mai 2007)''' Die Königin sprach gestern über Schnee.", "Die Königin sprach gestern über Schnee."),
    ("cs", "Foto: Jan Novák.\n\nKrál mluvil včera o sněhu. Ano.", "Král mluvil včera o sněhu."),
    ("ru", "МОСКВА, 3 мая — РИА Новости. Мэр говорил вчера о снеге. Да.", "Мэр говорил вчера о снеге."),
    ("de", "Nebra – Feuerwehr und Polizei suchten im Schnee. Ja.", "Feuerwehr und Polizei suchten im Schnee."),
    ("sv", "Norge – Finland slutade i går utan mål. Ja.", "Norge – Finland slutade i går utan mål."),
    ("pl", "Złote Dzioby – Nagrody wręczono wczoraj. Tak.", "Złote Dzioby – Nagrody wręczono wczoraj."),
    ("pl", "'''Maja Lis''' - Polka zdobyła wczoraj medal. Tak.", "Maja Lis - Polka zdobyła wczoraj medal."),
    ("pl", "Warszawa: Minister mówił wczoraj o śniegu. Tak.", "Minister mówił wczoraj o śniegu."),
    ("pl", "'''Nowy Sącz''' – W nocy spadł tu pierwszy śnieg. Tak.", "W nocy spadł tu pierwszy śnieg."),
    ("pl", "Most otwarto ponownie w 2007 r. 13 września pojechał tramwaj.", "Most otwarto ponownie w 2007 r."),
    ("pl", "Trasa ma w tym roku 400 km. 24 marca zaczyna się wyścig.", "Trasa ma w tym roku 400 km."),
    ("pl", "Mecz pokazała wczoraj stacja TV 4. Piąta bramka padła później.", "Mecz pokazała wczoraj stacja TV 4."),
    ("pl", "- Nie będzie śniegu - powiedział król. Tak.", "Nie będzie śniegu - powiedział król."),
    ("pl", "'''3 maja'''\n\n– Nie będzie śniegu – powiedział król. Tak.", "Nie będzie śniegu – powiedział król."),
    ("pl", "- Będzie śnieg.\n- Będzie deszcz.\n\nKról mówił wczoraj o śniegu. Tak.", "Król mówił wczoraj o śniegu."),
]  # fmt: skip
WHOLE = {
    0: "The king met the U.S. president.",
    1: "Dr. Smith of the U.S. Army spoke at 3 p.m. on Friday.",
    7: "Am 3. März hat Dr. Weber z. B. Kiel besucht.",
    8: "Am 11. Mai sprach der 1. FC Köln.",
    11: "El Sr. Gómez llegó a EE. UU. el martes.",
    10: "M. Durand a parlé à Lyon.",
}


@pytest.mark.parametrize("number", range(len(LEADS)))
def test_the_first_sentence_is_found_behind_what_stands_before_it(number: int) -> None:
    language, text, sentence = LEADS[number]
    reader = LeadReader(site_for(f"{language}wikinews"))
    assert reader.first_sentence(text, "Title") == (sentence or WHOLE[number], "")


@pytest.mark.parametrize("language", habits.HEADS)
def test_first_sentences_are_right_in_the_habits_of_each_wiki(language: str) -> None:
    reader, newsroom = LeadReader(with_aliases(site_for(f"{language}wikinews"))), Newsroom(language)
    other = newsroom.clause(1, newsroom.words(1))
    wrong = []
    for seed, head in enumerate(habits.heads(language, newsroom.speech["file"], other), 2):
        words = newsroom.words(seed)
        written = newsroom.written(seed, words).replace("{{Wiki link|", "{{w|")
        sentence = reader.first_sentence(f"{head}{written}{newsroom.joint}{other}", "Title")
        if sentence != (newsroom.clause(seed, words), ""):
            wrong.append((head, sentence))
    for start in habits.STARTS[language]:
        if (sentence := reader.first_sentence(f"{start}{newsroom.joint}{other}", "Title")) != (start, ""):
            wrong.append((start, sentence))
    assert wrong == []


@pytest.mark.parametrize("language", habits.HEADS)
def test_first_sentences_of_whole_pages_are_right(language: str) -> None:
    reader = LeadReader(with_aliases(site_for(f"{language}wikinews")))
    pages = habits.whole_pages(language)
    wrong = [text for text, sentence in pages if reader.first_sentence(text, "Title")[0] != sentence]
    assert len(pages) == 50
    assert wrong == []


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        ("en", "{{Lead|The king came to town on Friday.}}\n\nHe left the town on Monday.", "lead_in_template"),
        ("ja", "{{リード|市長は昨日、東京で雪について長く話したという。}}\n\n会長は今日話した。", "lead_in_template"),
        ("en", "{{unknown|King}} — the old one — spoke on Friday. Yes.", "hole"),
        ("ca", "Aquest dimarts s'ha jugat la jornada de la .", "hole"),
        ("en", "The {{unknown|king}} came to town. He left.", "hole"),
        ("ja", "{{unknown|東京}}で市長が3日、雪について話した。", "hole"),
        ("en", "* one\n* two", "no_sentence"),
        ("en", "{{infobox|a=b}}", "no_sentence"),
        ("en", "== Sources ==\n* The Times said so on Friday, in a long article.", "no_sentence"),
        ("en", "The king (who came to town left again. He did.", "fragment:unbalanced"),
        ("sv", "Kungen kom till staden Kategori:Sport och gick.", "category_marker"),
        ("en", "The king came to town 200pxand sat there.", "image_residue"),
        ("en", "A sentence goes on about the town for a while and has no end at all\n\nIt.", "fragment:no_terminator"),
    ],
)  # fmt: skip
def test_what_is_no_sentence_is_told(language: str, text: str, reason: str) -> None:
    assert LeadReader(site_for(f"{language}wikinews")).first_sentence(text, "Title") == ("", reason)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Lyon – a city in France – burned."),
        ("en", "Barack Obama – President of the U.S. – came."),
        ("fr", "Lyon – Nantes s'est joué hier soir."),
        ("ja", "朝日新聞社が13 - 14日に調査を実施した。"),
        ("ru", "Москва — столица России."),
        ("de", "Die Linke - so heißt sie - gewann."),
        ("en", "A well-known man came."),
    ],
)
def test_a_dash_is_not_always_a_dateline(language: str, sentence: str) -> None:
    assert cut_dateline(sentence, language) == sentence


def test_the_conditions_of_dateline_rules_are_cuts_patterns_or_tests() -> None:
    facts = read_facts("datelines.json")
    conditions = {
        name.strip("!") for rules in facts["rules"].values() for rule in rules for name in rule["when"].split()
    }
    kinds = {"bold", "alone", *(cut["name"] for cut in facts["cuts"])}
    assert conditions == kinds - {"dash"} | {*facts["patterns"], *TESTS}


def test_days_are_told_from_sentences() -> None:
    assert is_day("Friday, January 4, 2019", "en")
    assert is_day("4 de mayo de 2006", "es")
    assert not is_day("January was cold.", "en")
    assert not is_day("2006", "en")


# Faults as they stand in the released files, and sound sentences that look like them.
FAULTY = [
    ("ca", "S'ha jugat la jornada.== Fonts ==* Categoria:Esports", "category_marker"),
    ("sv", "<br clear=all>Kategori:Politik", "category_marker"),
    ("fr", "thumbsLe championnat a repris hier soir à Lyon.", "image_residue"),
    ("de", "miniatur|rechts|Ein Mann Der Mann kam gestern nach Kiel.", "image_residue"),
    ("pt", "200pxPesquisadores disseram ontem que choveu muito.", "image_residue"),
    ("eo", "maldekstraLa registaro falis hieraŭ.", "image_residue"),
    ("de", "upright=1.5 Chile schlug am Abend den Gegner.", "image_residue"),
    ("pt", "O presidente da , , viajou ontem.", "hole"),
    ("ja", "彼は11月8日（）に話した。", "hole"),
    ("ja", "彼は12月2日（　以下同）に話した。", "hole"),
    ("fr", 'Le livre a paru hier, selon le "".', "hole"),
    ("ca", "Els serveis d', i més passaran a la marca nova.", "hole"),
    ("eo", 'La aviadilo flugis el Moskvo al ."', "hole"),
    ("sv", "= Fem fångar fria =Två av dem gick i går.", "markup"),
    ("cs", "Skupina hrála alikvotní zpěv.vpravoDnešek byl den letního slunovratu.", "image_residue"),
    ("eo", '"Tiu ĉi artikolo estas traduko de alia."', "note"),
    ("fr", "Il a dit oui <center>et non</center>.", "markup"),
    ("pt", "O temporal passou pela cidade.Aproximadamente dez casas caíram.", "glued"),
    ("de", "Am Samstag, dem 11.", "cut"),
    ("pt", "Segundo a Folha de S.", "cut"),
    ("ar", "تصغيرأعلن الوزير أمس عن خطة جديدة.", "image_residue"),
    ("ar", "أعلن الوزير أمس.تصنيف:سياسة", "category_marker"),
    ("fa", "بندانگشتی|چپ|وزیر وزیر دیروز گفت.", "image_residue"),
    ("fa", "وزیر دیروز گفت.رده:سیاست", "category_marker"),
    ("ko", "섬네일|오른쪽|서울 시장은 말했다.", "image_residue"),
    ("ko", "은 어제 서울에서 말했다.", "hole"),
    ("ru", "миниВ Москве вчера выпал снег.", "image_residue"),
    ("ru", "Президент () сказал вчера о снеге.", "hole"),
    ("es", "miniaturadeimagenEl presidente habló ayer.", "image_residue"),
    ("es", "El presidente habló.Categoría:Política", "category_marker"),
    ("tr", "küçükresim|sağ|Bakan Bakan dün konuştu.", "image_residue"),
    ("pl", "małyMinister mówił wczoraj o śniegu.", "image_residue"),
    ("pl", "W , minister mówił o śniegu.", "hole"),
    ("de", "Themen", "fragment:short"),
    ("en", "This article is part of a series.", "note"),
    ("ar", "زار الوزير ، ، مدينة الرباط أمس.", "hole"),
    ("ar", "اجتمع الوزراء في ، وبحثوا خطة المياه.", "hole"),
    ("fa", "وزیر دیروز از ، به خانه برگشت.", "hole"),
    ("tr", "Bakan dün 'in 'ye yaptığı geziyi anlattı.", "hole"),
    ("ko", "어제 시장이 에 가 열린다고 말했다.", "hole"),
    ("ru", "Министр вчера сказал, что в е выпал снег.", "hole"),
    ("en", "The minister of the and of the told them so.", "hole"),
    ("pl", "Minister mówił w i na temat śniegu.", "hole"),
    ("ko", "시청 앞 광장2010년 5월 3일 시장이 말했다.", "glued"),
    ("ko", "시장은 어제 말했다.오늘은 눈이 온다.", "glued"),
    ("ar", "أعلن الوزير أمس.وقال إن الخطة جديدة.", "glued"),
    ("ko", "left시장은 어제 말했다.", "image_residue"),
    ("ko", "; 눈이 온다.", "markup"),
    ("pl", "Tu wpisz treść wiadomości.", "note"),
    ("en", "Write your article here, and save it.", "note"),
    ("tr", "Buraya haberinizi yazın.", "note"),
    ("ko", "서울 시청 앞 광장의 겨울 풍경.", "caption"),
    ("ko", "《눈 오는 밤》.", "caption"),
    ("ko", "시장이 어제 새 노래 〈〉를 불렀다.", "hole"),
    ("ko", "시장은 ‘’라는 이름의 배를 탔다.", "hole"),
    ("ko", "눈이 온 뒤로, 의 길이 막혔다.", "hole"),
    ("fa", "علی، وزیر ، دیروز از برف گفت.", "hole"),
    ("fa", "این خبر در در شهر پخش شد.", "hole"),
    ("fa", "دو نفر از سوی به زندان رفتند.", "hole"),
    ("fa", "وزیر ٔ تازه دیروز از برف گفت.", "hole"),
    ("tr", "Bakan dün 'ndaki gemiyi anlattı.", "hole"),
    ("tr", "Dün büyük nde kar yağdı.", "hole"),
    ("tr", "Güncelleme 3 Mayıs 2006.", "note"),
    ("ar", "[كل الروابط بالإنجليزية]", "note"),
    ("ar", "كتبت منى هذا المقال لموقع آخر.", "note"),
    ("es", "El puerto de la OTAN.El ministro habló ayer de la nieve.", "glued"),
]
SOUND = [
    ("en", "WikiLeaks published the papers on Friday."),
    ("en", "The thumb of the statue, 20 cm long, was found in the U.S."),
    ("de", "Das Bündnis „Die Linke.PDS“ trat gestern in Kiel an."),
    ("de", "Der rechts stehende Wagen wurde gestern abgeholt."),
    ("fr", "La vignette automobile coûtera 20 euros en 2007."),
    ("en", "The site example.com was closed on Friday."),
    ("sv", "Miniatyrer visades i går på museet i Lund."),
    ("pt", "A esquerda venceu ontem as eleições no Chile."),
    ("ja", "はやぶさは7日、地球に帰った。"),
    ("fr", "L'homme d'affaires s'est tu, dit-on d'ici."),
    ("en", '"We won," she said, "and so did they."'),
    ("ar", "قال الوزير أمس ، إن الخطة جديدة ."),
    ("fa", "وزیر دیروز گفت ، برف می‌بارد."),
    ("tr", "Bakan 'Deniz' adlı gemiyi Ankara'da anlattı."),
    ("ko", "시장은 ‘눈’ 을 치운다고 만 3년 만에 말했다."),
    ("ru", "Он ехал, т. е. шёл, а не летел."),
    ("pl", "Usługa PayPal działa od wczoraj w Polsce."),
    ("ru", "Сенатор МакКейн вчера говорил о снеге."),
    ("ko", "시장은 눈을 치운다고 어제 밝혔다."),
    ("ko", "눈을 언제 다 치울 수 있을까?"),
    ("fa", "وزیر دیروز، پس از به دست آوردن جایزه، از برف گفت."),
    ("pt", "O comitê (CGI.Br) falou ontem da neve."),
    ("de", "Gestern sprach die Partei Die Linke in Kiel über Schnee."),
    ("de", "Die UniCredit und die ThyssenKrupp AG einigten sich."),
]


@pytest.mark.parametrize(("language", "sentence", "reason"), FAULTY)
def test_faults_are_found(language: str, sentence: str, reason: str) -> None:
    assert FaultFinder(language).fault(sentence) == reason


@pytest.mark.parametrize(("language", "sentence"), SOUND)
def test_sound_sentences_pass(language: str, sentence: str) -> None:
    assert FaultFinder(language).fault(sentence) is None


def test_a_sentence_ends_where_its_author_forgot_the_blank() -> None:
    assert FaultFinder("pt").first_of_glued("O vento passou.Depois choveu.") == "O vento passou."
    assert FaultFinder("en").first_of_glued("See example.Com for more.") == "See example.Com for more."


HOSTILE = (
    "[[" * 50_000, "{{" * 50_000, "'''a" * 30_000, "thumb" * 40_000, "( " * 50_000, ". " * 90_000, "alt=" * 50_000,
    "<" + "a" * 200_000 + " went home.", "[[" + ":" * 200_000,
    "'''Rome''' \u2014 \nSee also the others here.\n\n" * 5_000,
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_pages_cost_no_more_than_their_length(piece: str) -> None:
    import time

    reader, categories, faults = LeadReader(ENGLISH), CategoryReader(ENGLISH), FaultFinder("en")
    start = time.process_time()
    reader.first_sentence(piece, "Title")
    categories.categories(piece)
    faults.fault(piece)
    assert time.process_time() - start < 5
