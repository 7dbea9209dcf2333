"""Sentence ends: examples by language, properties that hold of any text, linear time, and the ICU splitters."""

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.text.splitter import make_splitter

# `|` stands before the first character of a sentence; the white space before it belongs to the sentence before.
EXAMPLES = [
    # English: titles, initials, acronyms, numbers, quotes, parentheses.
    ("en", "Dr. Smith met J. R. R. Tolkien. |They spoke of George W. Bush at St. Andrews."),
    ("en", "The U.S. Army left. |He moved to the U.S. |He died there."),
    ("en", "Apple Inc. Chairman Art Levinson spoke. |It was founded by Acme Inc. |The firm closed."),
    ("en", "The value is 3.14 or 1.000. |See example.com for more. |No. 5 is alive, vol. 3 is not."),
    ("en", "He said no. |Then he left... and came back. |Why? |Nobody knows!"),
    ("en", '"Stop," he said. |"I will not!" he cried. |“Never.” |They went home.'),
    ("en", "It rained. |(He stayed in. He read.) |She left (see below; cf. Jones et al. 1999). |Done."),
    ("en", "Vitamin C. |The kings Henry V and Henry VIII. |He ruled. |1066 was the year."),
    ("en", "The band (b. 1950 in St. Louis. Died 1990!) played on. |Yahoo! Inc. was sold."),
    ("en", "It ended.[1] |The next began.[2][3] |A note.12 |The text goes on; e.g. Holger Pedersen."),
    ("en", "... And Justice for All is a record. |It sold c. 100 B.C. coins at 5 p.m. |The end."),
    ("en", "It starts at 5 p.m. EST on Friday. |It ends at 6 p.m. |The end."),
    ("simple", "Mr. Jones has a cat. |It is black."),
    # German: ordinals, spaced abbreviations, capital nouns.
    ("de", "Am 3. Oktober 1990 war es so weit. |Er gewann die 2. Bundesliga im 20. Jahrhundert."),
    ("de", "Das gilt z. B. Kindern, d. h. allen. |Ludwig XIV. Könige usw. kamen. |Um 300 v. Chr. lebte er."),
    ("de", "Er kam 1999. |Danach ging er. |Dr. med. Müller, Prof. Schmidt u. a. Gäste waren da."),
    ("de", "„Das ist gut.“ |Er ging. |»Nein!« |Die Stadt an der Hauptstr. 5 liegt bei km 3,5."),
    ("de", "Der Pegel stieg um 2 m. |Danach fiel er. |Das ist m. E. Unsinn. |Sie fuhr 14 h. |Dr. h. c. Meier auch."),
    ("fr", "M. Dupont arrive. |Mme. Curie et S. Freud, etc. |Il naquit vers 50 av. J.-C. |Rome brûla."),
    ("fr", "« Bonjour ! » |Il sortit. |Pourquoi ? |Parce que l'art. 5 le dit (cf. p. 12)."),
    ("es", "¿Qué es? |¡Nada! |El Sr. García vive en EE. UU. desde 1990. |Murió en el 44 a. C. |Roma cayó."),
    ("it", "Il dott. Rossi nacque nel 44 a.C. |Visse a Roma, ecc. |La sig.ra Bianchi no."),
    ("pt", "O Dr. Silva e a Sra. Costa saíram. |Foi no séc. XX. |Nasceu em 50 a.C. |Era rei."),
    ("nl", "Dhr. Jansen at o.a. Appels en bijv. Peren. |Hij deed mee, enz. |De bus zette hem op. |Het regende."),
    ("sv", "Det gäller bl.a. Sverige och t.ex. Norge m.fl. |Han bor i Lund. |Fågeln är en art. |Den flyger."),
    ("da", "Den 17. Juni kom ca. 500. |Han spiller i 2. Bundesliga, bl.a. Brøndby. |Det er alt."),
    ("no", "Han bodde f.eks. Oslo. |Det skjedde ca. 1900 e.Kr. |Hun dro."),
    ("fi", "Hän syntyi 3. Lokakuuta. |Se oli esim. Turku. |Hän kuoli n. 1900."),
    ("et", "Ta sündis 3. Mail, s.t kevadel. |Neid oli 57. |Loomi on palju."),
    ("lv", "Viņš dzimis 1990. gadā, t. i. Rīgā. |Viņa arī."),
    ("lt", "Jis gimė 1990 m. Vilniuje, t. y. Lietuvoje. |Ji taip pat, pvz. Kaune.".replace("m. V", "m. v")),
    ("pl", "Prof. Kowalski urodził się ok. 1900 r. |W tym roku im. Jana Pawła II itd. |Nie ma go."),
    ("cs", "Narodil se 1. Dubna, tj. na jaře. |Např. Praha, tzv. Zlatá, leží 200 m n. m. |Je to tak."),
    ("pl", "Most kosztował 750 mln zł. |Nosi imię gen. Zawackiej, mówił wczoraj nadkom. Lis i abp Wilk."),
    ("cs", "Včera zemřel prof. MUDr. Hrubý, DrSc., žák sv. Anežky. |Byl lékařem."),
    ("cs", "Smlouva platí deset let. |Začne v roce 2010. |Stavba za 40 mil. Kč měří 12 m. |Vede přes řeku."),
    ("sk", "V r. 1990 prof. Novák, napr. Peter, prišiel. |Stalo sa to 560 pred Kr. |Od detstva čítal."),
    ("hu", "I. István király 1000-ben. |A XX. Század, pl. Budapest, dr. Kovács stb. |Az ember ír. |Ő olvas."),
    ("hr", "Rođen je 3. Svibnja, npr. Ivan. |Bio je dr. Horvat."),
    ("sr", "Рођен је 3. Маја, нпр. Иван. |Он је дошао."),
    ("sl", "Rojen je 3. Maja, npr. Janez. |Bil je dr. Novak."),
    ("ro", "Dl. Popescu s-a născut în sec. XX. |El a murit, ș.a.m.d. |Nu știm."),
    ("tr", "I. Dünya Savaşı 3. Ordu ile başladı. |Dr. Ali, Prof. Veli vb. |Bu kadar."),
    ("id", "Dr. Soekarno lahir di Jl. Merdeka No. 5. |Dia wafat, dll. |Itu saja."),
    ("vi", "TP. Hồ Chí Minh và TS. Nguyễn. |Ông ấy sống ở đó."),
    ("eo", "D-ro Zamenhof, ekz. Ludoviko, k.t.p. |Li vivis."),
    # Cyrillic.
    ("ru", "А. С. Пушкин родился в г. Москва в 1799 г. |Он жил в XIX в. |Это т. е. Россия и т. д. |Затем ушёл."),
    ("ru", "«Кто там?» |Он молчал… |Потом сказал: «Я!» — и ушёл. |Это было в 100 г. до н. э. |Рим пал."),
    ("ru", "Дж. Буш и к.э.н. Иванов заплатили 3 млн. руб. |Мост открыт."),
    ("uk", "І. Я. Франко народився 1856 р. |У с. Нагуєвичі було 500 осіб. |Див. вул. Шевченка, м. Київ."),
    ("be", "Я. Колас нарадзіўся ў 1882 г. |Ён жыў у г. Мінск і інш. |Усё."),
    ("bg", "Роден е през 1900 г. |В гр. София живее проф. Иванов, т.е. Петър и др. |Той умира."),
    ("el", "Ο κ. Παπαδόπουλος ήρθε. |Ποιος είναι; |Ο Γ. Σεφέρης, π.χ. Αθηναίος. |Πέθανε το 10 μ.Χ. |Η Ρώμη."),
    ("kk", "А. Құнанбаев 1845 ж. туған. |Ол ақын."),
    # Caseless alphabets.
    ("ka", "დაიბადა 1900 წ. |იგი იყო პროფ. ივანე. |გარდაიცვალა."),
    ("hy", "Նա ծնվել է 1900 թ. Երևանում։ |Որտե՞ղ է: |Այնտեղ։"),
    ("ar", "ولد د. محمد في القاهرة. |هل مات؟ |نعم! |توفي عام 1999."),
    ("fa", "او در سال ۱۹۹۰ به دنیا آمد. |چرا؟ |نمی‌دانم."),
    ("ur", "وہ لاہور میں پیدا ہوا۔ |کیوں؟ |معلوم نہیں۔"),
    ("he", "הוא נולד בשנת 1900. |שטח העיר 891 קמ\"ר. |פרופ' כהן גר שם."),
    ("hi", "डॉ. राम आए। |वे एम. के. गांधी से मिले। |क्यों? |पता नहीं।।"),
    ("bn", "ড. রহমান এ. কে. ফজলুল হকের বন্ধু। |তিনি ঢাকায় থাকেন।[১] |কেন?"),
    ("mr", "डॉ. आंबेडकर पुण्यात होते. |इ. स. १९०० मध्ये ते गेले."),
    ("ta", "டாக்டர். கலாம் வந்தார். |அவர் கி.மீ. 5 நடந்தார்."),
    ("te", "డా. రావు వచ్చారు. |ఆయన క్రీ.శ. 1900 లో పుట్టారు."),
    ("ko", "김 씨는 서울에 산다. |그는 “간다.”라고 말했다. |왜? |모른다."),
    ("my", "မြန်မာ၊ ထိုင်း။ |လာသည်။"),
    ("km", "គាត់មក។ |នាងទៅ។"),
    ("am", "እሱ መጣ። |እሷ ሄደች። |ለምን?"),
    ("bo", "བོད་ཡིག། །|སྐད་ཡིག།"),
    ("th", "เขาเกิดที่กรุงเทพ 5 มกราคม และเรียนที่นั่น |นอกจากนี้ยังเป็นครู"),
    # Initials and abbreviations of syllables; a full stop without a space ends a sentence, but not in an abbreviation.
    ("mr", "हे पु.ल. देशपांडे यांनी लिहिले. |त्यात वि. दा. सावरकर होते. |बे.एस.से. हा क्लब आहे."),
    ("mr", "हे शहर मोठे असते.|याचे नाव पुणे आहे.|ते एस.एम.जोशी व डॉ.आंबेडकर यांना ५ कि.मी. दूर वाटले."),
    ("mr", "ती अ‍ॅमेझॉन.कॉम ही कंपनी पाहते.|तिने पीएच.डी मिळवली."),
    ("ta", "அவர் எம்.ஜி.ஆர். நடித்தார். |நா. பார்த்தசாரதி மு.கருணாநிதி பற்றி எழுதினார்.|இது நல்லது."),
    ("kn", "ಇದು ಒಂದು ನಗರವಾಗಿದೆ.|ಈ ನಗರ ಕ್ರಿ.ಪೂ. ೩ನೇ ಶತಮಾನದ್ದು."),
    ("ml", "ഇത് ഡോ. ശിവൻ. |ഇദ്ദേഹം കെ.പി. മോഹനൻ ആയിരുന്നു.|ഇത് നഗരമാണ്."),
    ("hi", "तत्व हैं- 1. कथानक 2. पात्र 3. संवाद 4.देशकाल 5. उद्देश्य। |यह अच्छा है. |वह गया."),
    ("bn", "সাইট ক্যাথলিক.নেট একটি সাইট। |তিনি বি.এম. কলেজ ও ই.জে. টাউনসেন্ড চেনেন।"),
    ("ar", "كانت صوره مثار جدل.|أسسه عام 2003 في القاهرة."),
    ("hy", "Ժամը 9։07 եկավ։ |Նա գնաց։|1999 թվականին։"),
    ("en", "The Rt. Hon. John Smith came. |He left."),
    ("it", "Il R.D.Lgs. 15 maggio resta. |Il D.Lgs. 165/2001 no."),
    # Japanese and Chinese: quotes stay whole, names end in marks.
    ("ja", "彼は「行くか？行こう。」と言った。|次の日、雨が降った。|（注は後にある。）|モーニング娘。の曲。"),
    (
        "ja",
        "『けいおん！』は漫画。|けいおん！は人気だ。|本当か？　|そうだ。|なぜか？それは謎だ。".replace("？そ", "？|そ"),
    ),
    ("ja", "「はい。」「いいえ。」などと答える。|値は３．１４だ．|ジョン・Ｆ．ケネディ… 彼は来た。"),
    ("ja", "「もう遅い。」彼は去った。".replace("」彼", "」|彼")),
    ("zh", "他說：「來了。走吧！」|然後走了。|「為什麼？」|他問。|圓周率是3.14。"),
    ("zh", "这是“第一句。第二句。”的例子。|真的吗？！|是的……不对。"),
    ("en", "Detectors are WArP and DEAP-I. |Experiments follow. |J.-P. Sartre and Jean-P. Melville met."),
    (
        "en",
        "It was small (even the heating had to be paid for separately.) |In winter nobody came (sic.) Then it closed.",
    ),
    ("uk", "Королем був Карл I. |Король Данії помер. |Він знав І. Франка."),
    ("el", "Ο Γλ. Κληρίδης μίλησε. |Ύστερα έφυγε."),
    ("sk", "Je dielom akad. soch. Martina Novák. |Stojí tam."),
    # A language nobody described.
    ("xx", "Dr. Foo lives. |The 3. Bar is here, etc. |Done."),
]


def marked(text: str, ends: list[int]) -> str:
    pieces = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return "|".join(pieces)


@pytest.mark.parametrize(("language", "example"), EXAMPLES, ids=[f"{e[0]}-{i}" for i, e in enumerate(EXAMPLES)])
def test_example(language: str, example: str) -> None:
    text = example.replace("|", "")
    assert marked(text, make_splitter("rules", language)(text)) == example


# Letters, digits and signs of many scripts, and what they trip over.
TRICKY = st.text(
    alphabet=st.sampled_from(list("aB1 .!?…,;:\n\"'“”„«»()[]「」（）。！？।۔։·-–АбΑأ한あア字😀\u00a0\u3000\u200b"))
)
LANGUAGES = st.sampled_from(["en", "de", "fr", "ru", "el", "hy", "ja", "zh", "th", "ka", "ar", "hi", "bo", "xx"])


@given(TRICKY | st.text(), LANGUAGES)
def test_ends_partition_the_text(text: str, language: str) -> None:
    ends = make_splitter("rules", language)(text)
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else 0) == len(text)
    assert "".join(text[start:end] for start, end in zip([0, *ends], ends, strict=False)) == text
    assert {i + 1 for i, char in enumerate(text) if char == "\n"} <= set(ends)


@given(st.lists(TRICKY, max_size=4), LANGUAGES)
def test_lines_are_split_one_by_one(lines: list[str], language: str) -> None:
    """What stands in one block changes nothing in another."""
    lines = [line.replace("\n", " ") for line in lines]
    split = make_splitter("rules", language)
    alone: list[int] = []
    offset = 0
    for line in lines:
        alone += [offset + end for end in split(line + "\n")]
        offset += len(line) + 1
    assert split("".join(line + "\n" for line in lines)) == alone


@pytest.mark.parametrize(
    "hostile",
    [
        "a. ",
        ".",
        "「",
        "。",
        "(",
        "(a.) ",
        "((",
        "« ",
        "“a",
        "。」",
        "[1]",
        "A. ",
        "1. ",
        " ",
        "་།",
        "a.\u00a0»",
        ".)",
        "「『",
        '."',
    ],
)
@pytest.mark.parametrize("language", ["en", "ja", "th"])
def test_linear_time(hostile: str, language: str) -> None:
    split = make_splitter("rules", language)
    text = hostile * (100_000 // len(hostile))
    start = time.process_time()
    assert split(text)[-1] == len(text)
    assert time.process_time() - start < 2


def test_empty_text_has_no_sentence() -> None:
    assert make_splitter("rules", "en")("") == []


def test_characters_beyond_the_bmp_count_once() -> None:
    assert make_splitter("rules", "en")("😀😀 Hello there. How are you?") == [16, 28]


def test_unknown_splitter() -> None:
    with pytest.raises(UsageError, match=r"--splitter=spacy.*rules, icu, polyglot"):
        make_splitter("spacy", "en")


@pytest.mark.parametrize("name", ["icu", "polyglot"])
def test_missing_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icu", None)
    with pytest.raises(UsageError, match=rf"--splitter={name} needs PyICU: pip install 'wikianchor\[{name}\]'"):
        make_splitter(name, "en")


def test_icu_counts_code_points() -> None:
    pytest.importorskip("icu")
    text = "😀 Hello there. How 😀 are you?\nFine."
    ends = make_splitter("icu", "en")(text)
    assert marked(text, ends) == "😀 Hello there. |How 😀 are you?\n|Fine."
    assert make_splitter("icu", "en")("") == []


@pytest.mark.parametrize(
    "text", ["Hello there. How are you?", "😀 Hello there. How are you?\nI'm 😀 fine. Bye.", "", "  ", "😀"]
)
def test_polyglot_is_reproduced(text: str) -> None:
    pytest.importorskip("icu")
    pytest.importorskip("polyglot.tokenize")
    from polyglot.text import Text

    ends = make_splitter("polyglot", "en")(text)
    assert ends[-1:] == ([len(text)] if text else [])
    ours = [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]
    theirs = [sentence.raw for sentence in Text(text, hint_language_code="en").sentences] if text else []
    assert [sentence for sentence in ours if sentence] == theirs
