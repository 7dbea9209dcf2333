"""A file whose texts are clearly in another language than its name says is not scored."""

from pathlib import Path

import pytest

from tests.trainer.evaluate.conftest import write
from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.command import load_tasks
from wikianchor.trainer.evaluate.languages import WORDS, check_language
from wikianchor.trainer.evaluate.options import EvaluateOptions

TEXTS = {
    "de": "Der Hund liegt auf dem Sofa und schläft. Die Katze ist nicht im Haus.",
    "en": "The dog is on the sofa and sleeps. It was in the house for a day.",
    "es": "El perro está en el sofá y duerme. La casa de los niños es una de las más altas.",
    "pt": "O cão está no sofá e dorme. A casa dos meninos não é uma das mais altas do mundo.",
    "sv": "Hunden är på soffan och sover. Det var inte en katt som jag har i huset.",
}


@pytest.mark.parametrize("named", TEXTS)
@pytest.mark.parametrize("written", TEXTS)
def test_languages_are_told_apart(named: str, written: str) -> None:
    if named == written:
        check_language("x", [named], [TEXTS[written]])
        check_language("x", [named, "ar"], [TEXTS[written]])
    elif {named, written} != {"es", "pt"}:
        with pytest.raises(InputError, match=f"^x: the texts look like {written}, not {named}: name the file"):
            check_language("x", [named], [TEXTS[written]])


def test_what_is_not_clear_is_scored() -> None:
    check_language("x", ["xx"], [TEXTS["en"]])
    check_language("x", ["en"], [])
    check_language("x", ["en"], ["kana lona", "mina"])
    check_language("x", ["ja"], ["犬が家にいる"])
    with pytest.raises(InputError, match="look like no language in Latin letters, not en"):
        check_language("x", ["en"], ["犬が家にいる"])
    with pytest.raises(InputError, match="look like pt, not ja"):
        check_language("x", ["ja"], [TEXTS["pt"]])


def test_words_are_listed_once() -> None:
    for words in WORDS.values():
        assert len(words.split()) == len(set(words.split())) >= 15


def test_a_set_in_another_language_does_not_stop_the_others(tmp_path: Path) -> None:
    for code, written in (("en", "pt"), ("de", "de")):
        write(tmp_path / f"stsb-{code}-test.csv", [f'"{TEXTS[written]}","{TEXTS[written]}",{n}' for n in range(4)])
    write(tmp_path / "tatoeba.deu-eng.deu", [TEXTS["de"]] * 3)
    write(tmp_path / "tatoeba.deu-eng.eng", [TEXTS["de"]] * 3)
    write(tmp_path / "en_sentences.txt", [TEXTS["sv"]] * 4)
    write(tmp_path / "en_categories.txt", ["a", "b"] * 2)
    sets = load_tasks(str(tmp_path), ["all"], EvaluateOptions())
    assert {task.name: [part.name for part in parts] for task, parts in sets.tasks} == {
        "STSBenchmarkMultilingualSTS": ["de"]
    }
    ends = ("look like pt, not en", "look like pt, not en", "look like de, not en", "look like sv, not en")
    assert sorted(line.partition(":")[0] for line in sets.failed) == [
        "MewsC16.accuracy",
        "STSBenchmark",
        "Tatoeba.accuracy",
        "stsb-en-test.csv",
    ]
    assert all(any(end in line for end in ends) for line in sets.failed)
