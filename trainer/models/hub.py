"""Errors for models that cannot be read, from a directory or from the Hub."""

from __future__ import annotations

import os
import re
import socket
import sys
from urllib.parse import urlsplit
from urllib.request import getproxies

from wikianchor.io.errors import InputError
from wikianchor.io.flags import did_you_mean

CONFIG = "config.json"
# Messages of transformers and huggingface_hub for a missing network and for a missing model.
_NO_NETWORK = re.compile(r"couldn't connect|offline|cannot send a request|name or service not known", re.IGNORECASE)
_NO_MODEL = re.compile(r"not a valid model identifier|repository not found|repo id must|401|404", re.IGNORECASE)


def check_model(path: str) -> None:
    """Check that a directory holds a model. Names on the Hub and URIs are not checked, but for a network.

    Raises:
        InputError: the path is no directory, or one without a model.
    """
    if "://" in path:
        return
    if not path:
        raise InputError("--model is empty: name the directory of a model, or a model on the Hub")
    directory = path.rstrip("/")
    if os.path.exists(directory):
        # A static model of sentence-transformers has no config.json.
        if any(os.path.isfile(f"{directory}/{name}") for name in (CONFIG, "modules.json")):
            return
        inner = os.path.isfile(f"{directory}/model/{CONFIG}")
        advice = f"did you mean {directory}/model?" if inner else "name the directory of a model"
        raise InputError(f"{path}: holds no model ({CONFIG}): {advice}")
    parent, _, name = directory.rpartition("/")
    # user/model is a name on the Hub, unless there is a local directory `user`.
    if path.startswith(("/", ".", "~")) or path.endswith("/") or "/" in parent or (parent and os.path.isdir(parent)):
        nearest = did_you_mean(name, os.listdir(parent) if os.path.isdir(parent) else [])
        suggestion = nearest.replace("mean ", f"mean {parent}/") or ": name the directory of a model"
        raise InputError(f"{path}: no such directory{suggestion}")
    _check_network()


def _check_network() -> None:
    """Let models be read from the cache of the Hub alone where its name cannot be resolved: its library would try for
    more than a minute. A proxy resolves names by itself."""
    host = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").hostname
    try:
        known = getproxies() or socket.getaddrinfo(host, None)
    except OSError:
        known = None
    if not known:
        os.environ["HF_HUB_OFFLINE"] = "1"
        # The library has read the variable where it is imported already.
        if constants := sys.modules.get("huggingface_hub.constants"):
            vars(constants)["HF_HUB_OFFLINE"] = True


def no_model(path: str, error: Exception, kind: str = "model") -> InputError:
    """Return the error for a model that cannot be read.

    Args:
        path: the model's path.
        error: raised by transformers; of many types, with texts of many lines.
        kind: what is missing: model, tokenizer or T5.
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
