"""`wikianchor rebuild DIR --dumps=PATHS --output=DIR`: make a dataset again from its manifest, and compare every byte.

Each stage runs in its own process, by the command line that its options in the manifest stand for.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.manifests import MANIFEST
from wikianchor.io.options import Option, declared
from wikianchor.io.storage import sha1
from wikianchor.pipelines.commands.rebuild.options import RebuildOptions
from wikianchor.pipelines.commands.release.command import call
from wikianchor.pipelines.dataset.changes import difference
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.provenance import install_line, stages_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.release import RELEASE, make_release
from wikianchor.pipelines.documents.options import DocumentsOptions
from wikianchor.pipelines.engine.stage import made_with
from wikianchor.pipelines.entities.options import EntitiesOptions
from wikianchor.pipelines.export.options import ExportOptions
from wikianchor.pipelines.interlanguage.options import InterlanguageOptions
from wikianchor.pipelines.japanese.corpus.options import CorpusOptions
from wikianchor.pipelines.linking.options import LinkingOptions
from wikianchor.pipelines.mentions.options import MentionsOptions
from wikianchor.pipelines.mewsc16.options import Mewsc16Options
from wikianchor.pipelines.mewsc16.topic_map import OF_RELEASED, load_topics
from wikianchor.pipelines.pairs.options import PairsOptions
from wikianchor.pipelines.retrieval.options import RetrievalOptions
from wikianchor.pipelines.sentences.options import SentencesOptions
from wikianchor.pipelines.templates.options import TemplatesOptions
from wikianchor.pipelines.wikimedia.inventory import list_files

# By dataset: the options of its command, and the flags of the files that it reads: SQL tables, and all others.
COMMANDS: Mapping[str, tuple[type, str, str]] = {
    "sentences": (SentencesOptions, "", "dumps"),
    "templates": (TemplatesOptions, "", "dumps"),
    "entities": (EntitiesOptions, "page_props", "wikidata"),
    "mewsc16": (Mewsc16Options, "sql", "dumps"),
    "corpus": (CorpusOptions, "", "input"),
    "pairs": (PairsOptions, "", ""),
    "export": (ExportOptions, "", ""),
    "mentions": (MentionsOptions, "", ""),
    "documents": (DocumentsOptions, "", ""),
    "interlanguage": (InterlanguageOptions, "", ""),
    "linking": (LinkingOptions, "", ""),
    "retrieval": (RetrievalOptions, "", ""),
}
# A file as an option of a manifest names it.
_FILE = re.compile(r"(?P<name>.+) (?P<sha1>[0-9a-f]{40})")


def run(config: RebuildOptions, beam_args: Sequence[str]) -> None:
    """Make a dataset again.

    Raises:
        InputError: there is no manifest, other rules or versions made it, a dump is missing, or a byte differs.
    """
    manifest = read_manifest(config.directory)
    if manifest is None:
        raise InputError(f"{config.directory}: no {MANIFEST} here: name a dataset, or where its manifest is")
    stages = stages_of(manifest)
    made = {stage["dataset"] for stage in stages}
    for stage in stages:
        check_versions(config.directory, stage)
        if lacking := {source.get("dataset", stage["dataset"]) for source in stage["inputs"]} - made:
            raise InputError(
                f"{config.directory}/{MANIFEST}: an older version wrote it, without what {min(lacking)} was made of"
            )
    outputs = [output_of(stage, config.output) for stage in stages]
    if twice := next((output for output in outputs if outputs.count(output) > 1), ""):
        raise InputError(
            f"{config.directory}: made of several dumps of a wiki, so {twice} would be two datasets: build by hand"
        )
    files = {os.path.basename(path): path for path in list_files(config.dumps)}
    commands = [command_of(stage, files, config.output) for stage in stages]
    for command in commands:
        print(f"wikianchor {shlex.join([*command, *beam_args])}", flush=True)
    if config.dry_run:
        return
    check_dumps(stages, files)
    for command in commands:
        if status := call([*command, *beam_args]):
            raise InputError(
                f"{command[0]}: failed with exit status {status}, see above: the same command goes on there"
            )
    output = output_of(stages[-1], config.output)
    rebuilt = Dataset(output, read_manifest(output) or {})
    if RELEASE in manifest:
        rebuilt = make_release(rebuilt, f"{config.output}/release", url=f"{config.output}/release", date="")
    problems = list(differences(manifest["configs"], rebuilt.configs))
    print("".join(f"differs: {problem}\n" for problem in problems), end="")
    if problems:
        raise InputError(f"{rebuilt.directory}: {len(problems)} files differ from {config.directory}: see above")
    print(f"the same to the byte: {len(rebuilt.entries())} files in {rebuilt.directory}")


def check_versions(directory: str, stage: Mapping[str, Any]) -> None:
    """Check that this program makes the bytes that a stage has made.

    Raises:
        InputError: other rules or versions made them.
    """
    name, maker = stage["dataset"], stage["made_with"] or {}
    if name not in COMMANDS:
        raise InputError(f"{directory}: {name} is made by a model too, and is not made again")
    if change := difference({"dataset": name, "made_with": maker}, {"made_with": made_with(name)}):
        raise InputError(f"{directory}: {name}: {change}: install what made it: {install_line(maker)}")


def output_of(stage: Mapping[str, Any], output: str) -> str:
    """Return the directory of the dataset of a stage, in the layout of a build."""
    wiki = stage["options"].get("wiki")
    return f"{output}/{stage['dataset']}/{wiki}" if wiki else f"{output}/{stage['dataset']}"


def command_of(stage: Mapping[str, Any], files: Mapping[str, str], output: str) -> list[str]:
    """Return the command line of a stage, after `wikianchor`.

    Args:
        stage: as `stages_of` returns it.
        files: paths of dumps, by name.
        output: the directory of all datasets.

    Raises:
        InputError: a file is missing, or an option was a file that the manifest does not name.
    """
    name, options = stage["dataset"], stage["options"]
    cls, tables, others = COMMANDS[name]
    command = [name]
    paths = [_path(source["path"], files) for source in stage["inputs"] if "path" in source]
    given: dict[str, list[str]] = {}
    for path in paths:
        given.setdefault(tables if ".sql" in path else others, []).append(path)
    for dataset in dict.fromkeys(source["dataset"] for source in stage["inputs"] if "dataset" in source):
        given.setdefault("input" if name == "corpus" else dataset, []).append(f"{output}/{dataset}")
    command += [f"--{flag}={','.join(values)}" for flag, values in given.items()]
    command.append(f"--output={output_of(stage, output)}")
    for option in declared(cls):
        value = _value(option, options, files) if option.name in options else None
        default = list(option.default) if isinstance(option.default, tuple) else option.default
        if value is not None and value != default:
            # An empty list in place of a default is written `none`.
            text = (",".join(map(str, value)) or "none") if isinstance(value, list) else str(value)
            command.append(option.written(value) if isinstance(value, bool) else f"--{option.flag}={text}")
    return command


def _value(option: Option, options: Mapping[str, Any], files: Mapping[str, str]) -> Any:
    """Return the value of an option; None where it is not to be given.

    Raises:
        InputError: it was a file that the manifest does not name.
    """
    value = options[option.name]
    if names := _files_named(value):
        return [_path(name, files) for name in names]
    if option.recorded or option.parse:
        return value
    # What was in a file, in place of its path.
    if value and value != _topics(options):
        raise InputError(f"--{option.flag} was a file of whoever made the dataset: ask for it, and build by hand")
    return None


def _files_named(value: Any) -> dict[str, str]:
    """Return the sha1 of each file in the value of an option, by name; {} where it is no list of files."""
    matches = [_FILE.fullmatch(str(text)) for text in value] if isinstance(value, list) else []
    return {match["name"]: match["sha1"] for match in matches if match}


def _topics(options: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the topic map of mewsc16 that is used without --topics."""
    topics = load_topics(None, OF_RELEASED if "old_map" in options.get("faults", ()) else None)
    languages = options.get("languages", ())
    return {language: dict(sorted(topics[language].items())) for language in languages if language in topics}


def _path(name: str, files: Mapping[str, str]) -> str:
    if name not in files:
        raise InputError(f"--dumps: has no {name}, which the dataset was made from: fetch it, see its card")
    return files[name]


def check_dumps(stages: Sequence[Mapping[str, Any]], files: Mapping[str, str]) -> None:
    """Check that the files are those that the stages read.

    Raises:
        InputError: one has other bytes.
    """
    sources = [source for stage in stages for source in stage["inputs"] if "path" in source]
    digests = {source["path"]: source["sha1"] for source in sources}
    for stage in stages:
        for value in stage["options"].values():
            digests |= _files_named(value)
    for name, digest in digests.items():
        if sha1(files[name]) != digest:
            raise InputError(f"{files[name]}: has other bytes than the file of that name had: its sha1 was {digest}")


def differences(wanted: Mapping[str, Any], configs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that only one of two datasets has, by name and sha256."""
    old, new = (
        {shard["path"]: shard["sha256"] for config in dataset.values() for shard in config["shards"]}
        for dataset in (wanted, configs)
    )
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            yield f"{path}: its sha256 is {new.get(path, 'missing')}, the manifest says {old.get(path, 'nothing')}"
