"""The options of `wikianchor topics`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.option_groups import Output
from wikianchor.io.options import file_path
from wikianchor.pipelines.mewsc16.options import WikinewsTables


@dataclass(frozen=True, kw_only=True)
class TopicsOptions(Output, WikinewsTables):
    """Options of the command `topics`."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "output": {"metavar": "FILE", "help": "the topic map, for mewsc16 --topics", "parse": file_path}
    }
