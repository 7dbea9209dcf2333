"""The plots in the docs: their code draws what the commands wrote."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def code(page: str, name: str) -> str:
    """Return the block of a page that writes a picture of this name."""
    python_blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (block,) = [block for block in python_blocks if f'savefig("{name}")' in block]
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
    (folder / "out/figures").mkdir(parents=True)
    shares = {"JSTS": {"before": {"NOUN": 0.8, "VERB": 0.2}, "after": {"NOUN": 1.0}}}
    (folder / "out/figures/words.json").write_text(json.dumps(shares))
    exec(code("papers/sdjc.md", "out/figures/words.png"), {})
    assert is_picture(folder / "out/figures/words.png")


class Encoder:
    """Stands in for a model: two numbers of a text."""

    def __init__(self, path: str) -> None:
        self.path = path

    def encode(self, texts: list[str]) -> object:
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
