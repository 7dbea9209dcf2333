"""The tables and plots in the docs: their code computes and draws what the papers show."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def code(page: str, part: str) -> str:
    """Return the block of a page that has a part, such as the name of the file that it writes."""
    python_blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (block,) = [block for block in python_blocks if part in block]
    return str(block)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def is_picture(path: Path) -> bool:
    """Whether a file is a PNG."""
    return path.read_bytes().startswith(b"\x89PNG")


def test_alignment_and_uniformity(folder: Path) -> None:
    for model in ("one__model", "other__model"):
        path = folder / "out/scores/results" / model / "abc/AlignmentUniformity.json"
        path.parent.mkdir(parents=True)
        rows = [{"alignment": 0.3, "uniformity": -2.5}, {"alignment": 0.4, "uniformity": -2.0}]
        path.write_text(json.dumps({"scores": {"validation": rows[:1], "test": rows}}))
    exec(code("papers/ease.md", "out/scores/sphere.png"), {})
    assert is_picture(folder / "out/scores/sphere.png")


def test_relevant_words(folder: Path) -> None:
    (folder / "out").mkdir()
    shares = {"JSTS": {"before": {"NOUN": 0.8, "VERB": 0.2}, "after": {"NOUN": 1.0}}}
    (folder / "out/words.json").write_text(json.dumps(shares))
    exec(code("papers/sdjc.md", "out/words.png"), {})
    assert is_picture(folder / "out/words.png")


class Bags(dict[str, int]):
    """Stands in for a model: vectors that count words, nouns for more, no two alike."""

    def encode(self, texts: list[str]) -> Any:
        """Return vectors, (texts, 50)."""
        numpy = pytest.importorskip("numpy")
        bags = numpy.full((len(texts), 50), 1e-3)
        for row, text in enumerate(texts):
            for word in text.split():
                number = self.setdefault(word, len(self))
                bags[row, number] += (3 if KINDS.get(word) == "NOUN" else 1) + 0.1 * number
        return bags


KINDS = {"cat": "NOUN", "dog": "NOUN", "runs": "VERB", "big": "ADJ"}


def test_relevant_words_are_those_of_equation_2(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spacy = pytest.importorskip("spacy")
    numpy = pytest.importorskip("numpy")
    vocabulary, bags = spacy.vocab.Vocab(), Bags()

    def parse(text: str) -> object:
        return spacy.tokens.Doc(vocabulary, text.split(), pos=[KINDS[word] for word in text.split()])

    def sim(a: str, b: str) -> float:
        x, y = bags.encode([a, b])
        return float(x @ y / numpy.linalg.norm(x) / numpy.linalg.norm(y))

    def by_hand(a: str, b: str) -> str:
        options = []
        for word in {*a.split(), *b.split()}:
            rest = [" ".join(token for token in text.split() if token != word) for text in (a, b)]
            options += [(sim(rest[0], b), word)] if rest[0] not in ("", a) else []
            options += [(sim(a, rest[1]), word)] if rest[1] not in ("", b) else []
        return min(options)[1]

    monkeypatch.setattr(spacy, "load", lambda *_, **__: parse)
    monkeypatch.setattr(pytest.importorskip("sentence_transformers"), "SentenceTransformer", lambda path: bags)
    (folder / "out").mkdir()
    pairs = [("cat runs", "dog runs"), ("big cat", "cat"), ("big dog runs", "big runs"), ("dog", "big dog cat")]
    lines = [f"{4 + number % 2}\t{first}\t{second}" for number, (first, second) in enumerate(pairs)]
    (folder / "JSTS-relevant.csv").write_text("\n".join([*lines, "3.9\tbig\tbig"]) + "\n")
    names: dict[str, Any] = {}
    exec(code("papers/sdjc.md", 'out/words.json", "w"'), names)
    words = [str(word) for word in names["words"]]
    assert words == [by_hand(*pair) for pair in pairs]
    kinds = [KINDS[word] for word in words]
    shares = json.loads((folder / "out/words.json").read_text())["JSTS"]
    assert shares["before"] == shares["after"] == {kind: kinds.count(kind) / 4 for kind in kinds}


def test_versions_of_a_translated_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To Japanese: a kana before each word. Back: the kana goes, "lost" is forgotten, "same" was never translated."""
    pytest.importorskip("pandas")
    script = """
import sys
for line in sys.stdin:
    text = line.strip()
    if sys.argv[2] == "ja":
        print(text if "same" in text else " ".join(f"の{word}" for word in text.split()))
    else:
        print(" ".join(word for word in text.replace("の", "").split() if word != "lost") or "nothing")
"""
    (folder / "mt.py").write_text(script)
    (folder / "out").mkdir()
    pairs = ["4\ta cat sleeps\tthe cat is asleep", "3\tone lost two\tlost lost lost four", "2\tlost\ta dog"]
    pairs += ["1\tthe same text\ta text", "0\tfive words are in this\tfive words are in this"]
    (folder / "sts-dev.csv").write_text("\n".join(pairs) + "\n")
    names: dict[str, Any] = {}
    exec(code("papers/sdjc.md", "def bleu1").replace('"python"', repr(sys.executable)), names)
    assert capsys.readouterr().out.splitlines() == ["all 5", "bleu-0 3", "bleu-0.1 2", "bleu-0.2 2", "bleu-0.3 2"]
    kept = (folder / "out/bleu-0.csv").read_text("utf-8").splitlines()
    assert [line.split("\t")[0] for line in kept] == ["4", "3", "0"]
    assert kept[0] == "4\tのa のcat のsleeps\tのthe のcat のis のasleep"
    bleu1 = names["bleu1"]
    assert [bleu1("the cat", "the the the the"), bleu1("a b", "a b c d"), bleu1("a", "...")] == [0.25, 0.5, 0.0]


def test_cases_are_by_the_distance_from_the_gold_score(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    cosines = {"EASE": [1.0, 0.4, 0.5, 0.2], "SimCSE": [0.2, -0.5, 0.1, 0.2]}

    def model(path: str) -> object:
        """Stands in for a model: the first sentences are [1, 0], the second have these cosines with them."""
        values = cosines["EASE" if "EASE" in path else "SimCSE"]

        def encode(texts: list[str]) -> object:
            x = numpy.array([values["wxyz".index(text)] if text in "wxyz" else 1.0 for text in texts])
            return numpy.stack((x, (1 - x**2) ** 0.5), 1)

        return SimpleNamespace(encode=encode)

    monkeypatch.setattr(pytest.importorskip("sentence_transformers"), "SentenceTransformer", model)
    (folder / "out").mkdir()
    path = folder / "eval/STSBenchmark/sts-test.csv"
    path.parent.mkdir(parents=True)
    rows = zip((5, 0, 2.5, 1), "abcd", "wxyz", strict=True)
    path.write_text("".join(f"g\tf\ty\ti\t{gold}\t{first}\t{second}\n" for gold, first, second in rows))
    exec(code("papers/ease.md", "improvement.csv"), {})
    better, worse = (pandas.read_csv(folder / f"out/{name}.csv") for name in ("improvement", "deterioration"))
    assert better["sentence 1"].tolist() == ["a", "c", "d"]
    # A negative cosine is 0.
    assert better[["EASE", "SimCSE", "gain"]].iloc[0].tolist() == pytest.approx([5, 1, 4])
    assert worse[["EASE", "SimCSE", "gain"]].iloc[0].tolist() == pytest.approx([2, 0, -2])


class Encoder:
    """Stands in for a model: two numbers of a text."""

    def __init__(self, path: str) -> None:
        self.path = path

    def encode(self, texts: list[str]) -> Any:
        """Return vectors, (texts, 3)."""
        numpy = pytest.importorskip("numpy")
        return numpy.array([[len(text), number % 7, len(self.path)] for number, text in enumerate(texts)], "float32")


@pytest.mark.filterwarnings("ignore")
def test_positions_of_pairs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("umap", reason="NO UMAP: pip install '.[figures]'")
    monkeypatch.setattr(pytest.importorskip("sentence_transformers"), "SentenceTransformer", Encoder)
    rows = [f"{number % 6}\tkana {'x' * number}\tlona {'y' * number}" for number in range(40)]
    (folder / "JAC-sts-dev.csv").write_text("\n".join(rows) + "\n")
    (folder / "out").mkdir()
    exec(code("papers/sdjc.md", "out/polar.png"), {})
    assert is_picture(folder / "out/polar.png")


def test_clusters(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(pytest.importorskip("sentence_transformers"), "SentenceTransformer", Encoder)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (folder / "out/mewsc16/data/ja").mkdir(parents=True)
    table = pa.table({"sentence": ["kana " * (n % 9) for n in range(30)], "label": ["A", "B", "C"] * 10})
    pq.write_table(table, folder / "out/mewsc16/data/ja/train-00000-of-00001.parquet")
    exec(code("how-to/mewsc16.md", "out/ja.png"), {})
    assert is_picture(folder / "out/ja.png")
