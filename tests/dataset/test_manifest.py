"""Claiming, clearing and committing an output directory: what may be in it, and what a death at any moment leaves."""

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.manifests import read_dataset
from wikianchor.pipelines.dataset import manifest, reader
from wikianchor.pipelines.dataset import part_writer as parts
from wikianchor.pipelines.dataset.card import card
from wikianchor.pipelines.dataset.manifest import (
    CARD,
    LOCK,
    MANIFEST,
    claim,
    commit,
    damaged_shard,
    discard,
    has_leftovers,
    read_manifest,
)
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, read_batches
from wikianchor.pipelines.dataset.workspace import RECORDS, UNFINISHED, Workspace

SCHEMA = pa.schema([("number", pa.int64())])
HEAD = {"dataset": "rows", "schema_version": "1.0", "options": {"ü": [1, None]}, "ledger": {}}


RUN = "fingerprint"
DIGEST = re.compile(r"(?<=\d{5})-[0-9a-f]{16}(?=\.parquet)")


def work(output: Path, run: str = RUN) -> str:
    return f"{output}/{UNFINISHED}/{run}"


def write_part(output: Path, config: str, order: int, rows: int = 5) -> Part:
    with PartWriter(work(output), config, order, SCHEMA) as writer:
        writer.write(pa.RecordBatch.from_pydict({"number": range(order, order + rows)}, schema=SCHEMA))
    assert writer.part is not None
    return writer.part


def run(output: Path, rows: int = 5) -> dict[str, Any]:
    """What a stage does with its output."""
    with claim(str(output), "rows", RUN):
        parts = [write_part(output, "a", order, rows) for order in (1, 0)] + [write_part(output, "b", 4, rows)]
        return commit(str(output), work(output), parts, HEAD | {"options": rows})


def names(output: Path) -> list[str]:
    """The files, shards without the digest in their names."""
    paths = (str(path.relative_to(output)) for path in output.rglob("*") if path.is_file())
    return sorted(DIGEST.sub("", path) for path in paths)


FINISHED = [
    CARD,
    *(f"data/a/train-{number:05d}-of-00002.parquet" for number in range(2)),
    "data/b/train-00000-of-00001.parquet",
    MANIFEST,
]


def check_whole(output: Path, besides: Set[str] = frozenset()) -> None:
    """The manifest speaks the truth, and nothing else is there."""
    committed = read_manifest(str(output))
    assert committed is not None
    assert sorted(set(names(output)) - besides) == FINISHED
    for config in committed["configs"].values():
        assert config["rows"] == sum(shard["rows"] for shard in config["shards"])
        for shard in config["shards"]:
            data = (output / shard["path"]).read_bytes()
            assert shard["sha256"].startswith(shard["path"].rpartition("-")[2].removesuffix(".parquet"))
            assert (len(data), hashlib.sha256(data).hexdigest()) == (shard["bytes"], shard["sha256"])


# --- commit -----------------------------------------------------------------------------------------------------------


def test_a_run_leaves_its_dataset_and_nothing_else(tmp_path: Path) -> None:
    output = tmp_path / "new" / "out"
    committed = run(output)
    check_whole(output)
    assert read_manifest(str(output)) == committed
    assert [shard["rows"] for shard in committed["configs"]["a"]["shards"]] == [5, 5]
    assert not has_leftovers(str(output))


def test_a_commit_that_a_runner_repeats_changes_nothing(tmp_path: Path) -> None:
    with claim(str(tmp_path), "rows"):
        parts = [write_part(tmp_path, "a", order) for order in range(2)] + [write_part(tmp_path, "b", 0)]
        first = commit(str(tmp_path), work(tmp_path), parts, HEAD)
        assert commit(str(tmp_path), work(tmp_path), reversed(parts), HEAD) == first
    check_whole(tmp_path)


def test_a_part_that_vanished_is_an_error(tmp_path: Path) -> None:
    with claim(str(tmp_path), "rows"):
        parts = [write_part(tmp_path, "a", order) for order in range(2)]
        os.unlink(parts[1].path)
        with pytest.raises(InputError, match="a finished part has vanished"):
            commit(str(tmp_path), work(tmp_path), parts, HEAD)
    assert read_manifest(str(tmp_path)) is None


def test_an_abandoned_part_goes(tmp_path: Path) -> None:
    with claim(str(tmp_path), "rows"):
        write_part(tmp_path, "a", 0)
        commit(str(tmp_path), work(tmp_path), [write_part(tmp_path, "a", 0)], HEAD)
    assert names(tmp_path) == [CARD, "data/a/train-00000-of-00001.parquet", MANIFEST]


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{", b"\xff\xfe", b"[]", b"{}", b'{"name": "web app"}', b'{"dataset": "rows", "configs": []}'),
        b'{"dataset": {}, "configs": {}}',
    ],
)
def test_what_is_no_manifest_of_ours_is_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(text)
    with pytest.raises(InputError, match=f"^{tmp_path}/{MANIFEST}: not "):
        read_manifest(str(tmp_path))
    with pytest.raises(InputError), claim(str(tmp_path), "rows"):
        pytest.fail("took it")
    assert (tmp_path / MANIFEST).read_bytes() == text


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({"a": []}, "the config 'a' has no rows or no shards"),
        ({"a": {"shards": [], "rows": "1"}}, "the config 'a' has no rows or no shards"),
        ({"a": {"shards": [{"path": "../x"}], "rows": 1}}, "'a' has a wrong entry for a shard: {'path': '../x'}"),
        ({"a": {"shards": [7], "rows": 7}}, "'a' has a wrong entry for a shard: 7"),
        ({"a": {"shards": [], "rows": 1}}, "the rows of the shards of 'a' do not add up to 1"),
    ],
)
def test_a_manifest_of_another_shape_is_described(configs: dict[str, Any], problem: str) -> None:
    head = {"inputs": [], "options": {}, "ledger": {}, "schema_version": "1.0"}
    assert [*manifest.manifest_problems({**head, "configs": configs})] == [f"manifest.json: {problem}"]
    del head["ledger"]
    assert [*manifest.manifest_problems({**head, "configs": {}})] == ["manifest.json: 'ledger' is missing"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"ledger": []},
        {"ledger": {"enwiki": 3}},
        {"inputs": [7]},
        {"inputs": [{"path": None}]},
        {"made_of": [{"inputs": [[]]}]},
        {"made_with": {"wikianchor": 1}},
        {"languages": {"en": ["en"]}},
    ],
)
def test_a_value_of_another_form_is_described(wrong: dict[str, Any]) -> None:
    head = {"inputs": [], "options": {}, "ledger": {}, "schema_version": "1.0", "configs": {}}
    ((key, value),) = wrong.items()
    assert [*manifest.manifest_problems({**head, **wrong})] == [
        f"manifest.json: {key!r} has another form than in a manifest of ours: {value!r}"
    ]


@pytest.mark.parametrize(
    "wrong", [{"dataset": "mewsc16", "ledger": {"en": []}}, {"dataset": "pairs", "configs": {"pairs": {}}}]
)
def test_no_card_is_made_of_another_form(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="another form"):
        card({"inputs": [], "ledger": {}, "configs": {}, **wrong})


def test_no_manifest_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for folder in (tmp_path, tmp_path / "none", tmp_path / "file", tmp_path / "file" / "below"):
        assert read_manifest(str(folder)) is None


def test_damaged_and_missing_shards_are_found(tmp_path: Path) -> None:
    committed = run(tmp_path)
    assert damaged_shard(str(tmp_path), committed) is None
    shard = tmp_path / committed["configs"]["a"]["shards"][1]["path"]
    data = shard.read_bytes()
    shard.write_bytes(data[:-1])
    assert damaged_shard(str(tmp_path), committed) == str(shard)
    shard.unlink()
    assert damaged_shard(str(tmp_path), committed) == str(shard)
    shard.mkdir()
    assert damaged_shard(str(tmp_path), committed) == str(shard)


# --- claim and clear --------------------------------------------------------------------------------------------------

FOREIGN = {
    "a file": lambda folder: (folder / "thesis.tex").write_text("x"),
    "a hidden file": lambda folder: (folder / ".git").mkdir(),
    "data of somebody": lambda folder: ((folder / "data").mkdir(), (folder / "data" / "photos.zip").write_text("x")),
    "data below": lambda folder: ((folder / "data" / "a").mkdir(parents=True), (folder / "data" / "a" / "x").touch()),
    "a README": lambda folder: (folder / CARD).write_text("# My project"),
    "a manifest": lambda folder: (folder / MANIFEST).write_text('{"name": "web app"}'),
    "another dataset": lambda folder: (folder / MANIFEST).write_text('{"dataset": "pairs", "configs": {}}'),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_nothing_of_others_is_touched(tmp_path: Path, kind: str) -> None:
    FOREIGN[kind](tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    with pytest.raises((UsageError, InputError), match=str(tmp_path)), claim(str(tmp_path), "rows"):
        pytest.fail("took it")
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


def test_a_file_cannot_be_claimed_nor_what_is_below_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match=f"--output={tmp_path}/file is a file: name a directory"):
        claim(str(tmp_path / "file"), "rows").__enter__()
    with pytest.raises(InputError, match=r"file/below: cannot be written \(Not a directory\): choose another --output"):
        claim(str(tmp_path / "file" / "below"), "rows").__enter__()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc for a place that nobody can write")
def test_a_place_that_cannot_be_written() -> None:
    with pytest.raises(InputError, match=r"^/proc/out: cannot be written .*: choose another --output$"):
        claim("/proc/out", "rows").__enter__()


def test_a_second_run_is_told_and_leaves_the_first_alone(tmp_path: Path) -> None:
    with claim(str(tmp_path), "rows"):
        part = write_part(tmp_path, "a", 0)
        with (
            pytest.raises(UsageError, match="another run is writing there: wait for it, or name another directory"),
            claim(str(tmp_path), "rows"),
        ):
            pytest.fail("two runs at once")
        assert Path(part.path).exists()
    with claim(str(tmp_path), "rows"):
        pass
    assert names(tmp_path) == []


def test_a_lock_that_was_removed_meanwhile_is_not_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends, and removes its lock, between our opening of the file and our locking of it."""
    real = manifest.fcntl.flock
    calls: list[int] = []

    def flock(file: Any, operation: int) -> None:
        if not calls:
            os.unlink(tmp_path / LOCK)
        calls.append(operation)
        real(file, operation)

    monkeypatch.setattr(manifest.fcntl, "flock", flock)
    with claim(str(tmp_path), "rows"):
        assert len(calls) == 2
        with pytest.raises(UsageError, match="another run"), claim(str(tmp_path), "rows"):
            pytest.fail("two runs at once")


def test_leftovers_of_other_runs_are_removed(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    write_part(tmp_path, "a", 0)
    (tmp_path / UNFINISHED / "other" / "titles-x").mkdir(parents=True)
    (tmp_path / UNFINISHED / "file").touch()
    assert has_leftovers(str(tmp_path))
    with claim(str(tmp_path), "rows", "another"):
        assert names(tmp_path) == [LOCK]
    assert list(tmp_path.iterdir()) == []


def test_work_of_the_same_run_is_kept_until_the_dataset_is_finished(tmp_path: Path) -> None:
    run(tmp_path, rows=3)

    def interrupted() -> Part:
        with suppress(KeyboardInterrupt), claim(str(tmp_path), "rows", RUN):
            part = write_part(tmp_path, "a", 0)
            (Path(work(tmp_path)) / RECORDS).mkdir()
            raise KeyboardInterrupt
        return part

    part = interrupted()
    assert Path(part.path).exists()
    committed = read_manifest(str(tmp_path))
    assert committed is not None
    assert damaged_shard(str(tmp_path), committed) is None, "the old dataset stays valid"
    with claim(str(tmp_path), "rows", RUN):
        assert Path(part.path).exists()
        commit(str(tmp_path), work(tmp_path), [part], HEAD)
    assert names(tmp_path) == [CARD, "data/a/train-00000-of-00001.parquet", MANIFEST]
    assert not (tmp_path / UNFINISHED).exists()


def test_work_that_no_run_can_use_is_removed(tmp_path: Path) -> None:
    with suppress(InputError), claim(str(tmp_path), "rows", RUN):
        write_part(tmp_path, "a", 0)
        discard(Workspace(work(tmp_path), work(tmp_path), "files"))
        raise InputError("broken input")
    assert not (tmp_path / UNFINISHED / RUN).exists()


def test_an_error_ends_the_claim_and_is_what_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OSError("cannot remove")

    def begin() -> None:
        with claim(str(tmp_path), "rows"):
            write_part(tmp_path, "a", 0)
            monkeypatch.setattr(manifest, "_remove", fail)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin()
    monkeypatch.undo()
    with claim(str(tmp_path), "rows"):
        assert names(tmp_path) == [LOCK]


def test_a_worker_that_is_still_ending_does_not_keep_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = shutil.rmtree, []

    def busy(path: str) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise OSError("Directory not empty")
        real(path)

    monkeypatch.setattr(shutil, "rmtree", busy)
    write_part(tmp_path, "a", 0)
    manifest._remove(fs.LocalFileSystem(), str(tmp_path / UNFINISHED))
    assert len(calls) == 2
    assert names(tmp_path) == []


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A directory beside the dataset, which must stay as it is."""
    folder = tmp_path / "victim"
    (folder / "below").mkdir(parents=True)
    for name in ("thesis.tex", "below/train-00000-of-00001.parquet"):
        (folder / name).write_text("precious")
    yield folder
    assert [(folder / name).read_text() for name in ("thesis.tex", "below/train-00000-of-00001.parquet")] == [
        "precious",
        "precious",
    ]


@pytest.mark.parametrize("name", [UNFINISHED, "data", "data/a", LOCK])
def test_an_output_with_a_link_to_a_directory_is_refused(tmp_path: Path, victim: Path, name: str) -> None:
    output = tmp_path / "out"
    run(output)
    path = output / name
    if path.is_dir():
        shutil.rmtree(path)
    path.symlink_to(victim / "below" if name != LOCK else victim / "thesis.tex")
    with pytest.raises(UsageError, match=f"^--output={output}: {name} is a symbolic link: remove it$"):
        run(output, rows=3)


def test_links_in_a_workspace_are_removed_and_not_followed(tmp_path: Path, victim: Path) -> None:
    output = tmp_path / "out"
    (output / UNFINISHED / "other").mkdir(parents=True)
    for path in (RUN, "link", "dangling", "other/link"):
        (output / UNFINISHED / path).symlink_to(victim if path != "dangling" else tmp_path / "none")
    run(output)
    check_whole(output)


def test_a_shard_that_is_a_link_is_replaced_and_not_what_is_behind_it(tmp_path: Path, victim: Path) -> None:
    output = tmp_path / "out"
    committed = run(output)
    for shard in committed["configs"]["a"]["shards"]:
        (output / shard["path"]).unlink()
        (output / shard["path"]).symlink_to(victim / "thesis.tex")
    run(output)
    check_whole(output)


def test_an_output_that_is_a_link_is_the_directory_behind_it(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    run(tmp_path / "out")
    check_whole(tmp_path / "disk")


def test_a_planted_journal_moves_nothing(tmp_path: Path, victim: Path) -> None:
    """Older versions followed a journal that they found in a workspace."""
    output = tmp_path / "out"
    work_of_other = output / UNFINISHED / "other"
    work_of_other.mkdir(parents=True)
    (work_of_other / "evil").write_text("evil")
    (work_of_other / "commit.json").write_text(json.dumps([[f"{work_of_other}/evil", "../victim/thesis.tex"]] * 3))
    run(output)
    check_whole(output)


def test_a_part_outside_of_the_workspace_is_refused(tmp_path: Path, victim: Path) -> None:
    output = tmp_path / "out"
    part = write_part(output, "a", 0)._replace(path=f"{work(output)}/../../../victim/thesis.tex")
    with claim(str(output), "rows", RUN), pytest.raises(InputError, match="a part outside of"):
        commit(str(output), work(output), [part], HEAD)
    assert read_manifest(str(output)) is None


@pytest.mark.parametrize("path", ["data/a/../../../victim/thesis.tex", "/etc/passwd", "data/../a.parquet", None, ""])
def test_a_manifest_that_names_a_file_elsewhere_is_refused(tmp_path: Path, path: str | None) -> None:
    committed = run(tmp_path)
    committed["configs"]["a"]["shards"][0]["path"] = path
    (tmp_path / MANIFEST).write_text(json.dumps(committed))
    with pytest.raises(
        InputError, match=rf"^{tmp_path}/{MANIFEST}: .* is no path of a shard: build the dataset again$"
    ):
        read_manifest(str(tmp_path))


# --- replacing --------------------------------------------------------------------------------------------------------


def test_a_dataset_whose_shards_have_no_digest_in_their_names_is_read_and_replaced(tmp_path: Path) -> None:
    committed = run(tmp_path)
    for config in committed["configs"].values():
        for shard in config["shards"]:
            old = tmp_path / shard["path"]
            shard["path"] = DIGEST.sub("", shard["path"])
            old.rename(tmp_path / shard["path"])
    (tmp_path / MANIFEST).write_text(json.dumps(committed))
    assert read_manifest(str(tmp_path)) == committed
    assert damaged_shard(str(tmp_path), committed) is None
    run(tmp_path)
    check_whole(tmp_path)


def test_equal_rows_have_equal_paths_and_other_rows_other_ones(tmp_path: Path) -> None:
    first, second = run(tmp_path / "first"), run(tmp_path / "second")
    assert first == second
    paths = {shard["path"] for config in first["configs"].values() for shard in config["shards"]}
    other = run(tmp_path / "first", rows=3)
    assert not paths & {shard["path"] for config in other["configs"].values() for shard in config["shards"]}


def test_a_file_system_without_hard_links_gets_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    run(tmp_path, rows=3)
    run(tmp_path)
    check_whole(tmp_path)


def rows_of(directory: str) -> int:
    """Read a dataset as a stage does, and return its option, which is the number of rows of a shard."""

    def read() -> int:
        committed = read_manifest(directory)
        assert committed is not None
        assert damaged_shard(directory, committed) is None or fail(directory)
        shards = Dataset(directory, committed).shards("a")
        rows = [sum(batch.num_rows for batch in read_batches(shard, ["number"])) for shard in shards]
        assert rows == [committed["options"]] * 2
        return int(committed["options"])

    return read_dataset(read, directory)


def fail(directory: str) -> bool:
    raise InputError(f"{directory}: damaged")


def test_a_reader_sees_the_old_or_the_new_dataset_at_every_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each call and return within the commit; a dataset that is replaced between two reads is read again."""
    run(tmp_path, rows=3)
    seen: list[int] = []

    def look(frame: Any, kind: str, argument: Any) -> None:
        if frame.f_code.co_filename == manifest.__file__:
            sys.setprofile(None)
            seen.append(rows_of(str(tmp_path)))
            sys.setprofile(look)

    sys.setprofile(look)
    try:
        run(tmp_path)
    finally:
        sys.setprofile(None)
    assert set(seen) == {3, 5}
    assert seen == sorted(seen)


def test_a_reader_whose_dataset_is_replaced_reads_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, rows=3)
    real = reader.damaged_shard

    def replaced(directory: str, committed: Any) -> str | None:
        monkeypatch.undo()
        run(tmp_path)
        return real(directory, committed)

    monkeypatch.setattr(reader, "damaged_shard", replaced)
    (dataset,) = open_datasets(str(tmp_path), "rows", "1.0", "rows")
    assert dataset.manifest["options"] == 5
    old = dataset.shards("a")[0]
    run(tmp_path, rows=3)
    with pytest.raises(
        InputError, match=f"^{old}: is gone: if its dataset was built again, run the same command again$"
    ):
        next(read_batches(old, ["number"]))


# --- death ------------------------------------------------------------------------------------------------------------


def dies_at(event: int, job: Callable[[], object]) -> bool:
    """Run a job in a child that kills itself at the given call or return in the code under test; whether it died."""
    sources = {manifest.__file__, parts.__file__}
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    seen = 0

    def count(frame: Any, kind: str, argument: Any) -> None:
        nonlocal seen
        # The many small writes into one file are one moment.
        if frame.f_code.co_filename in sources and not isinstance(frame.f_locals.get("self"), parts.HashedFile):
            seen += 1
            if seen == event:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    job()
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("older", [False, True])
def test_death_at_any_moment_leaves_no_half_dataset_and_the_same_command_mends_it(tmp_path: Path, older: bool) -> None:
    """Every call and return of the code that writes is a moment to be killed at."""
    died = olds = news = 0
    for event in range(1, 10_000, 5):
        output = tmp_path / str(event)
        if older:
            run(output, rows=3)
        ended = not dies_at(event, lambda output=output: run(output))
        died += not ended
        committed = read_manifest(str(output))
        assert committed is not None or not older, "no moment is without a dataset"
        if committed is not None:
            assert committed["options"] == rows_of(str(output))
            olds, news = olds + (committed["options"] == 3), news + (committed["options"] == 5)
            # Whoever comes next deletes the files of the other dataset.
            with claim(str(output), "rows", RUN):
                assert names(output / "data") == [name.removeprefix("data/") for name in FINISHED[1:-1]]
        run(output)
        check_whole(output)
        shutil.rmtree(output)
        if ended:
            break
    assert died > 50
    assert olds > 20 or not older
    assert news > 10
