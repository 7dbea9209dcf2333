"""Sets are read from the archives of their release; nothing is written, and sizes are bounded."""

import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.trainer.evaluate.conftest import sts_rows
from tests.trainer.evaluate.test_hostile import everything, spread
from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate import archives
from wikianchor.trainer.evaluate.command import load_tasks
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.registry import TASKS
from wikianchor.trainer.evaluate.tasks import transfer
from wikianchor.trainer.evaluate.tasks.sts import SETS

__all__ = ["everything"]

FORMATS = {"zip": "zip", "tar": "tar", "gztar": "tar.gz", "bztar": "tar.bz2", "xztar": "tar.xz"}


def zipped(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_task_is_the_same_in_an_archive(everything: dict[str, bytes], tmp_path: Path, kind: str) -> None:
    spread(everything, tmp_path / "unpacked")
    (tmp_path / "packed").mkdir()
    shutil.make_archive(str(tmp_path / "packed/sets"), kind, tmp_path / "unpacked")
    plain, packed = (EvaluationFiles(str(tmp_path / folder)) for folder in ("unpacked", "packed"))
    archive = f"sets.{FORMATS[kind]}"
    assert packed.names == [archive, *(f"{archive}/{name}" for name in plain.names)]
    assert packed.failed == []
    for task in TASKS:
        expected = [(part.name, part.source.kept) for part in task.load(plain, EvaluateOptions())]
        assert [(part.name, part.source.kept) for part in task.load(packed, EvaluateOptions())] == expected
    assert [path.name for path in (tmp_path / "packed").iterdir()] == [archive]


def test_an_archive_and_its_files_are_one_set(everything: dict[str, bytes], tmp_path: Path) -> None:
    spread(everything, tmp_path / "sets/unpacked")
    plain = load_tasks(str(tmp_path / "sets"), ["all"], EvaluateOptions())
    shutil.make_archive(str(tmp_path / "sets/packed"), "zip", tmp_path / "sets/unpacked")
    both = load_tasks(str(tmp_path / "sets"), ["all"], EvaluateOptions())
    counts = [
        [(task.name, part.name, part.source.kept) for task, parts in sets.tasks for part in parts]
        for sets in (plain, both)
    ]
    assert counts[0] == counts[1]
    assert [task for task, _ in both.tasks] == TASKS
    assert both.failed == []


FOLDERS = {
    12: "test-gold",
    13: "test-gs",
    14: "sts-en-test-gs-2014",
    15: "test_evaluation_task2a",
    16: "sts2016-english-with-gs-v1.0",
}


@pytest.mark.parametrize("unpacked", [False, True])
@pytest.mark.parametrize("year", FOLDERS)
def test_years_of_semeval_as_released(tmp_path: Path, year: int, unpacked: bool) -> None:
    first = "STS2016" if year == 16 else "STS"
    pairs = "".join(f"{a}\t{b}\tsource\n" for a, b, _ in sts_rows(9)).encode()
    gold = b"4.5\n\n" + b"3\n" * 7
    names = {f"{FOLDERS[year]}/{first}.input.a.txt": pairs, f"{FOLDERS[year]}/{first}.gs.a.txt": gold}
    names["__MACOSX/._STS.input.a.txt"] = b"\0"
    if unpacked:
        spread(names, tmp_path)
    else:
        zipped(tmp_path / f"STS20{year}-en-test.zip", names)
    for name, pair_set in SETS.items():
        parts = pair_set.load(EvaluationFiles(str(tmp_path)), EvaluateOptions())
        assert [(part.name, part.source.kept, part.source.blank) for part in parts] == (
            [("a", 8, 1)] if name == f"STS{year}" else []
        )


def test_sts_2017_as_released(tmp_path: Path) -> None:
    tracks = ("1.ar-ar", "2.ar-en", "3.es-es", "4a.es-en", "4b.es-en", "5.en-en", "6.tr-en")
    rows = {track: sts_rows(10 + number) for number, track in enumerate(tracks)}
    zipped(
        tmp_path / "STS2017.eval.v1.1.zip",
        {
            f"STS2017.eval.v1.1/STS.input.track{track}.txt": "".join(f"{a}\t{b}\n" for a, b, _ in rows[track]).encode()
            for track in tracks
        },
    )
    gold = {f"STS2017.gs/STS.gs.track{track}.txt": "".join(f"{g}\n" for *_, g in rows[track]) for track in tracks}
    zipped(tmp_path / "STS2017.gs.zip", {name: text.encode() for name, text in gold.items()})
    zipped(tmp_path / "STS2017-extended.zip", {"STS2017-extended/STS.en-ar.txt": b"another\tform\t3\n"})
    parts = SETS["STS17"].load(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert {part.name: len(part) for part in parts} == {
        "ar-ar": 10,
        "en-ar": 11,
        "es-es": 12,
        "es-en": 13,
        "es-en-wmt": 14,
        "en-en": 15,
        "en-tr": 16,
    }


def test_sick_and_the_benchmark_as_released(sets: Path, tmp_path: Path) -> None:
    root = tmp_path / "released"
    for part in ("train", "trial", "test_annotated"):
        content = (sets / f"SICK_{part}.txt").read_bytes()
        zipped(root / f"sick_{part}.zip", {f"SICK_{part}.txt": content, "readme.txt": b"read"})
    with tarfile.open(root / "Stsbenchmark.tar.gz", "w:gz") as tar:
        tar.add(sets / "STSBenchmark", "stsbenchmark")
    loaded = load_tasks(str(root), ["all"], EvaluateOptions())
    rows = {
        task.name: [len(part) for part in parts] for task, parts in loaded.tasks if task.name != "AlignmentUniformity"
    }
    assert rows == {"STSBenchmark": [40], "SICK-R.senteval": [25], "SICK-R": [25, 25, 25]}


def test_reviews_are_latin_1_as_released(tmp_path: Path) -> None:
    lines = [b"kana caf\xe9", "lona café".encode(), *([b"mina"] * 10)]
    content = b"\n".join(lines)
    zipped(tmp_path / "data_classif.zip", {f"data/rt10662/rt-polarity.{end}": content for end in ("pos", "neg")})
    (part,) = transfer.load(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert (part.name, part.source.broken, part.first[:2]) == ("MR", 0, ["kana café", "lona café"])


def test_names_and_links_of_an_archive_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("no")
    (tmp_path / "sets").mkdir()
    with tarfile.open(tmp_path / "sets/a.tar", "w") as tar:
        for name in ("../up.txt", "/root.txt", "./x.txt", ".hidden/x.txt"):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"x"))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "../secret.txt"
        tar.addfile(link)
    data = EvaluationFiles(str(tmp_path / "sets"))
    assert data.names == ["a.tar", "a.tar//root.txt", "a.tar/x.txt"]
    assert data.bytes("a.tar//root.txt") == b"x"
    assert sorted(path.name for path in tmp_path.rglob("*.txt")) == ["secret.txt"]


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    monkeypatch.setattr(archives, "MOST_TAR_BYTES", 20_000)
    zipped(tmp_path / "a.zip", {"small.txt": b"x", "sts-test.csv": bytes(10**7)})
    with tarfile.open(tmp_path / "b.tgz", "w:gz") as tar:
        info = tarfile.TarInfo("x.txt")
        info.size = 10**7
        tar.addfile(info, io.BytesIO(bytes(10**7)))
    data = EvaluationFiles(str(tmp_path))
    assert data.bytes("a.zip/small.txt") == b"x"
    with pytest.raises(InputError, match=r"a\.zip/sts-test\.csv: cannot be read \(larger than 1,000 bytes\)"):
        data.bytes("a.zip/sts-test.csv")
    assert data.failed == [
        f"{tmp_path}/b.tgz: cannot be read (larger than 20,000 bytes): unpack the archive, or get it again"
    ]


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tar.xz"])
def test_a_damaged_archive_does_not_stop_the_others(sets: Path, name: str) -> None:
    (sets / name).write_bytes(b"no archive" * 100)
    loaded = load_tasks(str(sets), ["STS12"], EvaluateOptions())
    assert [task.name for task, _ in loaded.tasks] == ["STS12"]
    (line,) = loaded.failed
    assert line.startswith(f"{sets}/{name}: cannot be read")
    assert "\n" not in line


def test_a_damaged_member_is_one_line(tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", {"x.txt": b"kana lona" * 1000})
    content = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(content.replace(content[40:60], bytes(20)))
    with pytest.raises(InputError, match=r"a\.zip/x\.txt: cannot be read"):
        EvaluationFiles(str(tmp_path)).bytes("a.zip/x.txt")


def test_an_archive_in_an_archive_is_read_and_no_deeper(everything: dict[str, bytes], tmp_path: Path) -> None:
    spread(everything, tmp_path / "unpacked")
    plain = EvaluationFiles(str(tmp_path / "unpacked"))
    deep = tmp_path / "deep.zip"
    zipped(deep, {"STS.input.x.txt": b"a\tb\n"})
    (tmp_path / "unpacked/deep.zip").write_bytes(deep.read_bytes())
    inner = Path(shutil.make_archive(str(tmp_path / "sets"), "gztar", tmp_path / "unpacked"))
    zipped(tmp_path / "packed/release.zip", {"sets.tar.gz": inner.read_bytes(), "gs.zip": b"no archive"})
    packed = EvaluationFiles(str(tmp_path / "packed"))
    inside = "release.zip/sets.tar.gz/"
    assert [name.removeprefix(inside) for name in packed.names if name.startswith(inside)] == sorted(
        [*plain.names, "deep.zip"]
    )
    (failed,) = packed.failed
    assert failed.startswith(f"{tmp_path}/packed/release.zip/gs.zip: cannot be read (")
    for task in TASKS:
        expected = [(part.name, part.source.kept) for part in task.load(plain, EvaluateOptions())]
        assert [(part.name, part.source.kept) for part in task.load(packed, EvaluateOptions())] == expected
