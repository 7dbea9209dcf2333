"""Cards on the Hugging Face Hub, of datasets and of models: languages, the YAML head, the hash of a model's files."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping

from wikianchor.io.storage import checksum

# Language codes in the names of old wikis -> the code of the language today.
RENAMED: Mapping[str, str] = {
    "als": "gsw",
    "bat-smg": "sgs",
    "be-x-old": "be-tarask",
    "fiu-vro": "vro",
    "no": "nb",
    "roa-rup": "rup",
    "simple": "en",
    "zh-classical": "lzh",
    "zh-min-nan": "nan",
    "zh-yue": "yue",
}
# The file that makes a directory one of a model, and the name of every card.
MODEL_CONFIG, CARD = "config.json", "README.md"
# Endings of the files that a model's vectors depend on.
_MODEL_FILES = (".safetensors", ".bin", ".json", ".txt", ".model")


def hub_languages(names: Iterable[str]) -> list[str]:
    """Return the language codes that the Hub accepts in a card, sorted, each once.

    The Hub takes ISO 639 codes of two or three letters, so of be-tarask the first part is left.

    Args:
        names: database names of wikis, or language codes.

    >>> hub_languages(["jawiki", "simplewiki", "be_x_oldwiki", "nowiki", "commonswiki", "en"])
    ['be', 'en', 'ja', 'nb']
    """
    codes = (re.sub(r"wik(i|tionary)[a-z]*$", "", name).replace("_", "-") for name in names)
    primary = {RENAMED.get(code, code).partition("-")[0] for code in codes}
    return sorted(code for code in primary if re.fullmatch("[a-z]{2,3}", code))


def card_head(values: Mapping[str, object]) -> str:
    """Return the YAML head of a card; empty values are left out. Each value is JSON, which is YAML as well.

    >>> print(card_head({"license": "mit", "language": ["nb"], "datasets": []}), end="")
    ---
    license: "mit"
    language: ["nb"]
    ---
    """
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items() if value]
    return f"---\n{''.join(lines)}---\n"


def with_head(card: str, values: Mapping[str, object]) -> str:
    """Return a card with other values in its head; empty values leave the head as it is.

    >>> print(with_head("---\\nlicense:\\n- mit\\ntags: [a]\\n---\\nText", {"license": "other", "datasets": []}))
    ---
    tags: [a]
    license: "other"
    ---
    Text
    """
    values = {key: value for key, value in values.items() if value}
    match = re.match(r"---\n(.*?)^---\n", card, re.DOTALL | re.MULTILINE)
    head, text = (match[1], card[match.end() :]) if match else ("", card)
    # A key at the beginning of a line, with the lines of its value.
    entries = re.findall(r"^[^\s#-].*\n(?:(?:[\s-].*)?\n)*", head, re.MULTILINE)
    kept = "".join(entry for entry in entries if entry.partition(":")[0] not in values)
    return card_head(values).replace("---\n", f"---\n{kept}", 1) + text


def head_keys(card: str) -> set[str]:
    """Return the names of the values in the head of a card."""
    match = re.match(r"---\n(.*?)^---\n", card, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"^([\w-]+):", match[1], re.MULTILINE)) if match else set()


def model_revision(directory: str) -> str:
    """Return a hash of the files that a local model's vectors depend on."""
    fingerprint = hashlib.sha256()
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_MODEL_FILES) and not name.startswith("."):
                file = os.path.join(folder, name)
                fingerprint.update(f"{os.path.relpath(file, directory)}\0{checksum(file, 'sha256')}\n".encode())
    return fingerprint.hexdigest()
