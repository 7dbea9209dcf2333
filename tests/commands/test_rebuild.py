"""`wikianchor rebuild`: a published dataset, made again from its manifest and the dumps."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import wikinews as news
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.rebuild import command
from wikianchor.pipelines.commands.release.command import call
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.provenance import dumps_of, stages_of

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
STS = Path(__file__).parents[2] / "demo" / "sts.tsv"
Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def commands_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands of stages in this process."""
    monkeypatch.setattr(command, "call", main)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build with options that are no defaults, and its release."""
    folder = tmp_path_factory.mktemp("built")
    flags = ("--min_links=2", "--split=0.2,0.25", "--no-back_off", f"--exclude_text={STS}", "--texts=labels,aliases")
    assert main(["build", f"--dumps={DEMO}", f"--output={folder}/out", *flags]) == 0
    assert main(["publish", f"{folder}/out/pairs", f"--to={folder}/place"]) == 0
    return folder


@pytest.fixture
def seen(built: Path, tmp_path: Path) -> Path:
    """The manifest alone of the release, as somebody else fetches it."""
    (tmp_path / "seen").mkdir()
    shutil.copy(built / "place" / "manifest.json", tmp_path / "seen")
    return tmp_path / "seen"


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    shutil.copytree(DEMO, tmp_path / "dumps")
    shutil.copy(STS, tmp_path / "dumps")
    return tmp_path / "dumps"


def change(directory: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    edit(manifest)
    (directory / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.slow
def test_a_release_is_made_again_to_the_byte(seen: Path, dumps: Path, tmp_path: Path, wikianchor: Run) -> None:
    flags = (seen, f"--dumps={dumps}", f"--output={tmp_path}/rebuilt", "--workers=1")
    ended = wikianchor("rebuild", *flags)
    assert ended.status == 0, ended.said
    assert f"the same to the byte: 13 files in {tmp_path}/rebuilt/release\n" in ended.output
    change(seen, lambda manifest: manifest["configs"]["ja"]["shards"][0].update(sha256="0" * 64))
    again = wikianchor("rebuild", *flags)
    assert again.status == 1
    assert again.output.count("differs: ") == 1
    assert "1 files differ from" in again.said[-1]


def test_the_commands_have_the_options_of_each_stage(seen: Path, dumps: Path, tmp_path: Path, wikianchor: Run) -> None:
    ended = wikianchor("rebuild", seen, f"--dumps={dumps}", f"--output={tmp_path}/rebuilt", "--dry_run")
    assert ended.status == 0, ended.said
    lines = ended.output.splitlines()
    assert [line.split()[1] for line in lines] == ["sentences"] * 3 + ["entities", "pairs"]
    assert f"--wikidata={dumps}/wikidata-20260101-all.json.gz" in lines[3]
    assert "--texts=labels,aliases" in lines[3]
    options = lines[4].split()
    assert {"--min_links=2", "--split=0.2,0.25", "--no-back_off", f"--exclude_text={dumps}/sts.tsv"} < set(options)
    assert not any(option.startswith(("--seed", "--negatives")) for option in options)
    assert not (tmp_path / "rebuilt").exists()


def test_what_is_wrong(seen: Path, dumps: Path, tmp_path: Path, wikianchor: Run) -> None:
    def said(*flags: object) -> str:
        ended = wikianchor("rebuild", seen, f"--dumps={dumps}", f"--output={tmp_path}/rebuilt", *flags)
        assert ended.status == 1
        assert len(ended.said) == 1, ended.said
        return str(ended.said[0])

    (dumps / "wikidata-20260101-all.json.gz").write_bytes(b"other")
    assert "wikidata-20260101-all.json.gz: has other bytes than the file of that name had: its sha1 was " in said()
    (dumps / "sts.tsv").unlink()
    assert "--dumps: has no sts.tsv, which the dataset was made from: fetch it, see its card" in said()
    change(seen, lambda manifest: manifest["made_of"][0]["options"].update(exclude_pages="0123"))
    assert "--exclude_pages was a file of whoever made the dataset" in said()
    versions = {"wikianchor": "0.1.0", "pyarrow": "21.0.0", "unicode": "15.0.0"}
    change(seen, lambda manifest: manifest["made_of"][0]["made_with"].update(versions))
    assert said("--dry_run").endswith(
        ": install what made it: pip install 'wikianchor==0.1.0' 'pyarrow==21.0.0'  "
        "# on Python 3.12, which has Unicode 15.0.0"
    )
    change(seen, lambda manifest: manifest.pop("made_of"))
    assert "an older version wrote it, without what entities was made of" in said()
    assert wikianchor("rebuild", tmp_path, f"--dumps={dumps}", f"--output={tmp_path}/out").status == 1
    assert wikianchor("rebuild", seen, f"--dumps={dumps}", f"--output={tmp_path}").status == 2


def test_a_manifest_names_every_dump_and_every_stage(built: Path) -> None:
    sentences, entities, pairs, release = (
        read_manifest(f"{built}/{name}") or {}
        for name in ("out/sentences/enwiki", "out/entities", "out/pairs", "place")
    )
    names = {source["path"]: source["sha1"] for source in (*sentences["inputs"], *entities["inputs"])}
    for manifest in (pairs, release):
        assert {(dump["path"], dump["sha1"]) for dump in manifest["dumps"]} > set(names.items())
        assert {dump["date"] for dump in manifest["dumps"]} == {"20260101"}
        assert [stage["dataset"] for stage in stages_of(manifest)] == ["sentences"] * 3 + ["entities", "pairs"]
    assert pairs["made_of"][3]["options"] == entities["options"]
    assert sentences["dumps"] == dumps_of(sentences)
    assert "made_of" not in pairs["inputs"][0]


@pytest.mark.slow
def test_what_is_made_of_a_build_is_made_again(built: Path, dumps: Path, tmp_path: Path, wikianchor: Run) -> None:
    out, rebuilt = built / "out", tmp_path / "rebuilt"
    # What they are made of is there already; the test above makes that again.
    shutil.copytree(out, rebuilt)
    sources = (f"--sentences={out}/sentences", f"--entities={out}/entities")
    for name, flags in {
        # Near duplicates are kept: they are found by a package that may be absent.
        "export": (f"--pairs={out}/pairs", "--kind=title-lead", "--format=csv", "--near_duplicates"),
        "mentions": (*sources, "--commonness=0.125", "--regions=lead,table"),
        "interlanguage": sources,
        "templates": (f"--dumps={DEMO}/enwiki-20260101-pages-articles-multistream.xml.bz2",),
    }.items():
        made = wikianchor(name, *flags, f"--output={tmp_path}/{name}", "--workers=1")
        assert made.status == 0, made.said
        ended = wikianchor("rebuild", tmp_path / name, f"--dumps={dumps}", f"--output={rebuilt}", "--workers=1")
        assert ended.status == 0, ended.said
        assert "the same to the byte: " in ended.output


def test_a_stage_is_a_process_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    assert (call(["--version"]), call(["pairs", "--min_links=many"])) == (0, 2)
    printed, said = capfd.readouterr()
    assert printed.startswith("wikianchor ")
    assert "invalid int value: 'many'" in said


def test_stages_of_other_datasets() -> None:
    files = {name: f"dumps/{name}" for name in ("enwikinews.xml.bz2", "enwikinews-categorylinks.sql.gz", "clinic.txt")}
    news = {
        "dataset": "mewsc16",
        "inputs": [{"path": "enwikinews.xml.bz2"}, {"path": "enwikinews-categorylinks.sql.gz"}],
        "options": {"membership": "direct", "min_pages": 1, "mode": "clean", "faults": [], "languages": ["en"]},
    }
    assert command.command_of(news, files, "out") == [
        *("mewsc16", "--dumps=dumps/enwikinews.xml.bz2", "--sql=dumps/enwikinews-categorylinks.sql.gz"),
        *("--output=out/mewsc16", "--membership=direct", "--min_pages=1"),
    ]
    documents = {
        "dataset": "documents",
        "inputs": [{"dataset": "sentences", "wiki": "enwiki"}, {"dataset": "entities", "wiki": None}],
        "options": {"wikis": ["enwiki"]},
    }
    assert command.command_of(documents, files, "out") == [
        *("documents", "--sentences=out/sentences", "--entities=out/entities", "--output=out/documents"),
    ]
    inputs = [{"dataset": name} for name in ("sentences", "sentences", "entities", "mentions")]
    pairs = {"dataset": "pairs", "inputs": inputs, "options": {"exclude_types": [], "min_links": 10}}
    assert command.command_of(pairs, files, "out") == [
        *("pairs", "--sentences=out/sentences", "--entities=out/entities", "--mentions=out/mentions"),
        *("--output=out/pairs", "--exclude_types=none"),
    ]
    inputs = [{"dataset": name} for name in ("documents", "mentions", "entities", "documents")]
    linking = {"dataset": "linking", "inputs": inputs, "options": {"wikis": ["enwiki"], "format": "kilt", "split": []}}
    assert command.command_of(linking, files, "out") == [
        *("linking", "--documents=out/documents", "--mentions=out/mentions", "--entities=out/entities"),
        *("--output=out/linking", "--format=kilt"),
    ]
    corpus = {
        "dataset": "corpus",
        "inputs": [{"path": "clinic.txt"}, {"dataset": "sentences", "wiki": "jawiki"}],
        "options": {"seed": None},
    }
    assert command.command_of(corpus, files, "out") == [
        *("corpus", "--input=dumps/clinic.txt,out/sentences", "--output=out/corpus"),
    ]


@pytest.mark.parametrize("flags", [(), ("--sql", "--membership=descend-1"), ("--mode=paper", "--faults=all")])
def test_topic_sentences_are_made_again(tmp_path: Path, wikianchor: Run, flags: tuple[str, ...]) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    for language in ("en", "ja"):
        news.write(news.make_news(language, 60, news.WITH_BELOW), folder, tables=True)
    given = [f"--sql={folder}/*.sql.gz" if flag == "--sql" else flag for flag in flags]
    made = wikianchor("mewsc16", f"--dumps={folder}/*.xml*", f"--output={tmp_path}/out", "--min_pages=1", *given)
    assert made.status == 0, made.said
    ended = wikianchor("rebuild", tmp_path / "out", f"--dumps={folder}", f"--output={tmp_path}/rebuilt")
    assert ended.status == 0, ended.said
    assert f"the same to the byte: 2 files in {tmp_path}/rebuilt/mewsc16\n" in ended.output
