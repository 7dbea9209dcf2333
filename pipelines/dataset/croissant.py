"""Describe a dataset in Croissant 1.1 (https://docs.mlcommons.org/croissant/): files, columns, licence and origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from wikianchor.pipelines.dataset.card import ATTRIBUTION, CC0, licences
from wikianchor.pipelines.dataset.provenance import dumps_of

_LICENCE_URLS = {
    "cc-by-sa-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "cc0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
}
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(manifest: Mapping[str, Any], schemas: Mapping[str, pa.Schema], url: str, date: str) -> dict[str, Any]:
    """Return the description as JSON-LD.

    Args:
        manifest: the manifest of the dataset.
        schemas: the schema of each config.
        url: where it is published.
        date: the date of publication, YYYY-MM-DD.
    """
    name = str(manifest["dataset"])
    notice = CC0 if licences(name) == ("cc0-1.0",) else ATTRIBUTION
    dumps = "; ".join(
        f"{dump['path']} of {dump['date'] or 'an unknown date'}, sha1 {dump['sha1']}" for dump in dumps_of(manifest)
    )
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": f"wikianchor-{name}",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "description": f"The dataset {name} of wikianchor. {notice}".replace("\n", " "),
        "license": [_LICENCE_URLS.get(licence, licence) for licence in licences(name)],
        "url": url,
        "version": f"{manifest['schema_version']}.0",
        "datePublished": date,
        "creator": {"@type": "sc:Organization", "name": "The authors of Wikipedia and Wikidata"},
        "citeAs": "https://aclanthology.org/2022.naacl-main.284 and https://github.com/wikianchor/wikianchor",
        "isLiveDataset": False,
        "rai:dataCollection": f"Made by wikianchor {manifest['made_with'].get('wikianchor', '')} from {dumps}.",
        "rai:dataBiases": "Wikipedia's: what has an article, in which language, and who wrote it. Frequent entities "
        "are far more frequent than others.",
        "distribution": [*_file_objects(manifest), *_file_sets(manifest)],
        "recordSet": [_record_set(config, schema) for config, schema in schemas.items()],
    }


def _file_objects(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "@type": "cr:FileObject",
            "@id": shard["path"],
            "name": shard["path"].rpartition("/")[2],
            "contentUrl": shard["path"],
            "contentSize": f"{shard['bytes']} B",
            "encodingFormat": "application/x-parquet",
            "sha256": shard["sha256"],
        }
        for config in manifest["configs"].values()
        for shard in config["shards"]
    ]


def _file_sets(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "@type": "cr:FileSet",
            "@id": f"{config}-files",
            "name": f"{config}-files",
            "encodingFormat": "application/x-parquet",
            "includes": f"data/{config}/*.parquet",
        }
        for config in manifest["configs"]
    ]


def _record_set(config: str, schema: pa.Schema) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "field": [_field(f"{config}/{column.name}", column, [column.name], f"{config}-files") for column in schema],
    }


def _field(name: str, column: pa.Field, path: list[str], files: str) -> dict[str, Any]:
    kind, repeated = column.type, False
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind, repeated = kind.value_type, True
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": name,
        "name": column.name,
        "description": (column.metadata or {}).get(b"description", b"").decode(),
        "source": {"fileSet": {"@id": files}, "extract": {"column": path[0]}},
    }
    if len(path) > 1:
        field["source"]["transform"] = {"jsonPath": "$." + ".".join(path[1:])}
    if pa.types.is_struct(kind):
        field["subField"] = [_field(f"{name}/{part.name}", part, [*path, part.name], files) for part in kind]
    else:
        field["dataType"] = _type(kind)
    if repeated:
        field["repeated"] = True
    return field


_TYPES = (
    (pa.types.is_boolean, "sc:Boolean"),
    (pa.types.is_integer, "cr:Int{0.bit_width}"),
    (pa.types.is_floating, "cr:Float{0.bit_width}"),
)


def _type(kind: pa.DataType) -> str:
    return next((name.format(kind) for is_kind, name in _TYPES if is_kind(kind)), "sc:Text")
