"""Damaged files: every set is read with its damage counted, or refused in one line; nothing else is raised."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.trainer.evaluate.conftest import sentences, sts_rows, write
from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.registry import TASKS
from wikianchor.trainer.evaluate.task import EvaluationTask

PARTS = ("TRAIN", "TRIAL", "TEST")
SPLICES = ["\t", "\n", "\r", "\0", "{", '"', ",", "\ufeff", "\u2028", "nan", "1e999", "-", " ", "[" * 2000, "é"]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One small set for each task, as bytes by path."""
    root = tmp_path_factory.mktemp("everything")
    rows, texts = sts_rows(12), sentences(12)
    write(root / "STS12-en-test/STS.input.a.txt", [f"{a}\t{b}" for a, b, _ in rows])
    write(root / "STS12-en-test/STS.gs.a.txt", [gold for *_, gold in rows])
    for year in range(13, 17):
        for kind in ("input", "gs"):
            text = (root / f"STS12-en-test/STS.{kind}.a.txt").read_text().splitlines()
            write(root / f"STS{year}-en-test/STS.{kind}.a.txt", text)
    for split in ("dev", "test"):
        write(root / f"sts-{split}.csv", [f"g\tf\ty\t1\t{g}\t{a}\t{b}" for a, b, g in rows])
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tSemEval_set"
    write(root / "SICK.txt", [head, *(f"1\t{a}\t{b}\t{g}\t{PARTS[n % 3]}" for n, (a, b, g) in enumerate(rows))])
    write(root / "STS.en-de.txt", ["\t".join(row) for row in rows])
    write(root / "stsb-de-test.csv", [f'"{a}",{b},{g}' for a, b, g in rows])
    write(root / "sts-test.tsv", ["score\tsentence1\tsentence2", *(f"{g}\t{a}\t{b}" for a, b, g in rows)])
    labels = [str(number % 3) for number in range(12)]
    write(root / "agnews.txt", [f"{label}\t{text}" for label, text in zip(labels, texts, strict=True)])
    write(root / "biomedical.txt", texts)
    write(root / "biomedical_label.txt", labels)
    write(root / "tweet.txt", [json.dumps({"text": t, "cluster": n}) for t, n in zip(texts, labels, strict=True)])
    (root / "data/sv").mkdir(parents=True)
    table = pa.table({"language": ["sv"] * 12, "sentence": texts, "label": labels})
    parquet.write_table(table, root / "data/sv/train-00000-of-00001.parquet")
    for end in ("deu", "eng"):
        write(root / f"tatoeba.deu-eng.{end}", texts)
    qas = [{"id": "a", "question": "kana", "answers": [{"answer_start": 1, "text": "x"}]}]
    paragraph = {"context": texts[0], "sentences": texts[:1], "sentence_breaks": [[0, 50]], "qas": qas}
    for folder in ("xquad-r", "mlqa-r"):
        write(root / folder / "de.json", [json.dumps({"data": [{"paragraphs": [paragraph]}]})])
    for part in ("sample", "training"):
        for code in ("de", "en"):
            write(root / f"de-en.{part}.{code}", [f"{code}-{n}\t{text}" for n, text in enumerate(texts)])
        write(root / f"de-en.{part}.gold", ["de-1\ten-1", "de-2\ten-2"])
    for name in ("english.train.1000", "english.dev", "german.test"):
        write(root / name, [f"{['CCAT', 'MCAT'][n % 2]}\t{text}" for n, text in enumerate(texts)])
    for label in ("pos", "neg"):
        write(root / f"rt-polarity.{label}", texts)
    for part in ("train", "test"):
        write(root / f"msr_paraphrase_{part}.txt", ["head", *(f"{n % 2}\t1\t2\t{t}\t{t}" for n, t in enumerate(texts))])
    for name in ("train_5500", "TREC_10"):
        write(root / f"{name}.label", [f"L{n % 2}:x {text}" for n, text in enumerate(texts)])
    write_japanese(root, rows)
    write(root / "faq/corpus.jsonl", [json.dumps({"_id": str(n), "text": text}) for n, text in enumerate(texts)])
    write(root / "faq/queries.jsonl", [json.dumps({"_id": f"q{n}", "text": texts[n]}) for n in range(3)])
    write(root / "faq/qrels/test.tsv", ["query-id\tcorpus-id\tscore", *(f"q{n}\t{n}\t1" for n in range(3))])
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def write_japanese(root: Path, rows: list[tuple[str, str, str]]) -> None:
    """The sets of the Japanese benchmark, in SDJC's layouts and in JGLUE's."""
    lines = [f"{gold}\t猫が{a}\t{b}" for a, b, gold in rows]
    for year in range(12, 17):
        write(root / f"STS{year}-ja-test/STS.input.a.txt", [f"{a}\t{b}" for a, b, _ in rows])
        write(root / f"STS{year}-ja-test/STS.gs.a.txt", [gold for *_, gold in rows])
    for split in ("train", "dev", "test"):
        for name in (f"ja/sts-{split}.csv", f"ja/JSTS-{split}.csv", f"ja/JAC-sts-{split}.csv"):
            write(root / name, lines)
    made = [json.dumps({"sentence1": a, "sentence2": b, "label": float(gold)}) for a, b, gold in rows]
    write(root / "jsts-v1.3/valid-v1.3.json", made)
    write(root / "jsick/test.tsv", ["sentence_A_Ja\tsentence_B_Ja\trelatedness_score_Ja", *map("\t".join, rows)])


def spread(files: dict[str, bytes], root: Path) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def test_every_task_finds_its_set(everything: dict[str, bytes], tmp_path: Path) -> None:
    spread(everything, tmp_path)
    data = EvaluationFiles(str(tmp_path))
    for task in TASKS:
        parts = task.load(data, EvaluateOptions())
        assert parts, task.name
        for part in parts:
            assert part.source.kept > 0
            assert (part.source.blank, part.source.broken) == (0, 0), (task.name, part.name)
            assert set(part.source.files) <= set(everything)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Cut, repeat, or splice a file somewhere."""
    a, b = sorted(draw.choices(range(len(content) + 1), k=2))
    kind = draw.randrange(4)
    if kind == 0:
        return content[:a] + content[b:]
    if kind == 1:
        return content[:b] + content[a:]
    if kind == 2:
        return content[:a] + draw.choice(SPLICES).encode() + content[a:]
    return content[:a] + bytes(draw.choices(range(256), k=draw.randint(1, 8))) + content[b:]


class Noting(EvaluationFiles):
    """Notes which files were asked for: nobody reads one without its path."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.read: set[str] = set()

    def path(self, name: str) -> str:
        self.read.add(name)
        return super().path(name)


def outcome(task: EvaluationTask, data: EvaluationFiles, options: EvaluateOptions) -> tuple[bool, str]:
    """Return whether all that was loaded has rows, and what was said if nothing was."""
    try:
        return all(part.source.kept > 0 for part in task.load(data, options)), ""
    except InputError as error:
        return True, str(error)


def test_nothing_but_one_line(everything: dict[str, bytes], tmp_path: Path) -> None:
    """Twenty damages of each file, seen by every task that reads it: to the others it is the same whatever it holds."""
    spread(everything, tmp_path)
    readers: dict[str, list[tuple[EvaluationTask, EvaluateOptions]]] = {name: [] for name in everything}
    for options in (EvaluateOptions(split="test"), EvaluateOptions(split="dev")):
        for task in TASKS:
            data = Noting(str(tmp_path))
            assert outcome(task, data, options)[0]
            for name in data.read:
                readers[name].append((task, options))
    # Learnt from, never scored.
    assert [name for name in readers if not readers[name]] == ["ja/sts-train.csv"]
    draw = random.Random(4)
    data = EvaluationFiles(str(tmp_path))
    for name, content in everything.items():
        for _ in range(20):
            (tmp_path / name).write_bytes(damaged(content, draw))
            for task, options in readers[name]:
                kept, said = outcome(task, data, options)
                assert kept
                assert "\n" not in said
        (tmp_path / name).write_bytes(content)
