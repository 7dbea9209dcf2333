"""The options of `wikianchor templates`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.option_groups import Output
from wikianchor.pipelines.wikimedia.options import Dumps, Lua, Wiki


@dataclass(frozen=True, kw_only=True)
class TemplatesOptions(Lua, Output, Wiki, Dumps):
    """Options of the stage `templates`."""
