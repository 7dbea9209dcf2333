"""The presets of `wikianchor train`, joined from the tables of `presets.toml`, which has the source of each number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wikianchor.io.config_file import read_toml

_TABLES = read_toml(Path(__file__).with_name("presets.toml"))
NEW_SIZES: dict[str, dict[str, int]] = _TABLES["new_t5"]
NEW_BERTS: dict[str, dict[str, int]] = _TABLES["new_bert"]


def _presets() -> Iterator[tuple[str, dict[str, Any]]]:
    ease, simcse, sdjc, mboe = (_TABLES[objective] for objective in ("ease", "simcse", "sdjc", "mboe"))
    for name, backbone in _TABLES["backbones"].items():
        given = {**backbone, **ease["backbones"][name]}
        yield f"ease-{name}-paper", {**ease["paper"], **given}
        yield (
            f"ease-{name}-released",
            {
                **given,
                **ease["paper"],
                **ease["released"],
                **ease["released_backbones"][name],
            },
        )
        yield f"simcse-{name}", {**simcse["paper"], **backbone, **simcse["backbones"][name]}
    for name, model in sdjc["models"].items():
        count = sdjc["negatives"][name]
        # Both train each pair of an anchor and a negative as often: here each epoch takes the next negative.
        epochs = {"epochs": sdjc["released"]["epochs"] * count}
        yield f"sdjc-{name}-paper", {**sdjc["shared"], **sdjc["pooling"], **model, **sdjc["rows"], **epochs}
        yield f"sdjc-{name}-released", {**sdjc["shared"], **model, "negatives": count, **sdjc["released"]}
    for name, kinds in mboe["backbones"].items():
        model = _TABLES["backbones"][name]["model"]
        for kind, values in kinds.items():
            yield f"mboe-{name}-{kind}", {"model": model, "kind": kind, **mboe["shared"], **values}


# Options hold tuples, and TOML has lists.
PRESETS: dict[str, dict[str, Any]] = {
    name: {key: tuple(value) if isinstance(value, list) else value for key, value in preset.items()}
    for name, preset in _presets()
}
