"""Format numbers as MediaWiki does: `{{formatnum:12345.6}}` is 12,345.6 in English, 12 345,6 in French.

The tables are from MediaWiki's language files. A language without an entry uses that of its nearest fallback language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.languages import language_facts

_Value = TypeVar("_Value")

# (thousands, decimal) -> languages.
_SEPARATORS = {
    (",", "."): "en ary arz",
    (".", ","): "arq az bs ca cu da de el eu fy gl hr id is mk nds nl ro sl sq sr-ec sr-el tr vi",
    ("'", ","): "de-ch",
    (
        "\xa0",
        ",",
    ): "af be be-tarask bg br cs eo es et fi fr frp fur hu hy ia it kaa ksh lbe ln lt lv nb nn oc pl pt ru sah se "
    "sk sv udm uk uz wa",
    ("\xa0", "."): "la",
    (",", ","): "km",
    ("٬", "٫"): "ar ckb fa ps",
    ("", "點"): "lzh",
}
_DIGITS = {
    "0123456789": "en arq ary arz",
    "٠١٢٣٤٥٦٧٨٩": "ar ckb",
    "۰۱۲۳۴۵۶۷۸۹": "fa pnb ps",
    "߀߁߂߃߄߅߆߇߈߉": "nqo",
    "०१२३४५६७८९": "bho hi mr ne new pi sa",
    "০১২৩৪৫৬৭৮৯": "as bn bpy",
    "૦૧૨૩૪૫૬૭૮૯": "gu",
    "୦୧୨୩୪୫୬୭୮୯": "or",
    "೦೧೨೩೪೫೬೭೮೯": "kn",
    "໐໑໒໓໔໕໖໗໘໙": "lo",
    "༠༡༢༣༤༥༦༧༨༩": "bo dz",
    "၀၁၂၃၄၅၆၇၈၉": "blk kjp ksw mnw my",
    "០១២៣៤៥៦៧៨៩": "km",
    "᱐᱑᱒᱓᱔᱕᱖᱗᱘᱙": "sat",
    "〇一二三四五六七八九": "lzh",
    "꯰꯱꯲꯳꯴꯵꯶꯷꯸꯹": "mni",
}
# Languages that do not separate groups in numbers of four digits.
_FOUR_TOGETHER = frozenset(("be-tarask", "bg", "es", "et", "hy", "kaa", "ksh", "ku", "pl", "ru", "sah", "uk"))
# Languages that separate pairs of digits above the thousands: 12,34,567.
_PAIRS = frozenset(("bn", "gu", "hi", "kn", "ml", "mr", "or", "pa", "sa", "ta", "te"))

_LONGEST: int = package_json("pipelines.wikimedia", "limits.json")["number_digits"]
_NUMBER = re.compile(rf"(\d{{1,{_LONGEST}}})(?:\.(\d*))?")


class NumberForm(NamedTuple):
    """How a language writes numbers.

    Attributes:
        thousands: separates groups of digits.
        decimal: separates the fraction.
        digits: those from zero to nine.
        together: numbers with fewer digits have no groups.
        pairs: digits above the thousands are in pairs.
    """

    thousands: str
    decimal: str
    digits: str
    together: int
    pairs: bool


def number_form(language: str) -> NumberForm:
    """Return how a language, or its nearest fallback that is known, writes numbers."""
    chain = (language, *language_facts(language).fallbacks, "en")
    together = 5 if any(code in _FOUR_TOGETHER for code in chain) else 4
    return NumberForm(*_nearest(_SEPARATORS, chain), _nearest(_DIGITS, chain), together, language in _PAIRS)


def number_writer(language: str) -> Callable[[str], str]:
    """Return a function that formats the plain numbers in a text.

    >>> number_writer("en")("12345.6 m"), number_writer("de")("-12345.6")
    ('12,345.6 m', '−12.345,6')
    """
    thousands, decimal, digits_shown, together, pairs = number_form(language)
    digits = str.maketrans("0123456789", digits_shown) | {ord("-"): "−"}
    split = re.compile(r"\B(?=(?:\d\d)*\d{3}$)" if pairs else r"\B(?=(?:\d{3})+$)")

    def number(match: re.Match[str]) -> str:
        whole = split.sub(thousands, match[1]) if len(match[1]) >= together else match[1]
        return whole if match[2] is None else whole + decimal + match[2]

    def write(text: str) -> str:
        return _NUMBER.sub(number, text).translate(digits)

    return write


def _nearest(table: Mapping[_Value, str], chain: tuple[str, ...]) -> _Value:
    known = {language: value for value, languages in table.items() for language in languages.split()}
    return next(known[language] for language in chain if language in known)
