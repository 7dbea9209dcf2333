"""Models by the name of a directory or of a repository on the Hub: what to say where one cannot be had."""

from __future__ import annotations

import os
import re

from wikianchor.io.errors import InputError
from wikianchor.io.flags import did_you_mean

CONFIG = "config.json"
# How transformers and huggingface_hub say that there is no network, and that there is no such model.
_NO_NETWORK = re.compile(r"couldn't connect|offline|cannot send a request|name or service not known", re.IGNORECASE)
_NO_MODEL = re.compile(r"not a valid model identifier|repository not found|repo id must|401|404", re.IGNORECASE)


def check_model(path: str) -> None:
    """Check that a directory holds a model; a name that is no path is for the Hub to judge, and a URI
    for its store.

    Raises:
        InputError: there is no such directory, or no model in it.
    """
    if "://" in path:
        return
    place = path.rstrip("/")
    if os.path.isdir(place):
        if os.path.isfile(f"{place}/{CONFIG}"):
            return
        if os.path.isfile(f"{place}/model/{CONFIG}"):
            raise InputError(f"{path}: holds no model ({CONFIG}): did you mean {place}/model?")
        raise InputError(f"{path}: holds no model ({CONFIG}): name the directory of a model")
    if os.path.exists(place):
        raise InputError(f"{path}: is a file: name the directory of a model")
    parent, _, name = place.rpartition("/")
    # user/model is a name on the Hub, unless there is a directory of the first name here.
    if path.startswith(("/", ".", "~")) or path.endswith("/") or "/" in parent or (parent and os.path.isdir(parent)):
        beside = os.listdir(parent) if os.path.isdir(parent) else []
        nearest = did_you_mean(name, beside)
        suggestion = nearest.replace("mean ", f"mean {parent}/") or ": name the directory of a model"
        raise InputError(f"{path}: no such directory{suggestion}")


def no_model(path: str, error: Exception, kind: str = "model") -> InputError:
    """Return the error to raise where a model cannot be read.

    Args:
        path: its name.
        error: what transformers raised: many kinds, and texts of many lines.
        kind: of what is missing.
    """
    text = " ".join(str(error).split())
    if not os.path.isdir(path):
        if _NO_NETWORK.search(text):
            return InputError(
                f"{path}: no such directory, and the Hub cannot be reached: check the name and the network"
            )
        if _NO_MODEL.search(text):
            return InputError(
                f"{path}: no such directory, and no such model on the Hub: check the name, and `hf auth login`"
            )
    reason = text[:200] or type(error).__name__
    return InputError(f"{path}: no {kind} that can be read here ({reason}): name the directory of another model")
