"""The picture of words: where they stand, and that it is sound XML."""

from xml.etree import ElementTree

from wikianchor.pipelines.japanese.words.cloud import HEIGHT, LARGEST, WIDTH, layout, svg

WORDS = [("患者", 400), ("症例", 300), ("CT", 100), ("a<b&c", 50), *((f"語{number}", 20) for number in range(60))]


def test_words_stand_apart_and_inside_the_frequent_ones_larger() -> None:
    found = layout(WORDS)
    assert [one.word for one in found][:3] == ["患者", "症例", "CT"]
    assert found[0].size == LARGEST
    assert found[0].size > found[1].size > found[2].size
    # A letter of Latin is narrower than a kanji.
    assert found[2].width < 2 * found[2].size == found[0].width / found[0].size * found[2].size
    for number, one in enumerate(found):
        assert 0 <= one.x <= one.x + one.width <= WIDTH
        assert 0 <= one.y - one.size <= one.y <= HEIGHT
        for other in found[:number]:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert apart or one.y <= other.y - 0.8 * other.size or other.y <= one.y - 0.8 * one.size


def test_a_full_picture_takes_no_more_words_and_no_time() -> None:
    many = [(f"単語番号{number}", 100) for number in range(5_000)]
    found = layout(many)
    assert 0 < len(found) < 100
    assert found == layout(many)


def test_it_is_xml_whatever_the_words() -> None:
    picture = ElementTree.fromstring(svg(WORDS, "<title> & more"))
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "a<b&c" in texts
    assert svg([], "none").count("<text") == 0
