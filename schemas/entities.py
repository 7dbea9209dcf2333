"""`entities`: Wikidata items with a page in one of the wikis; `sitelinks`: their pages. Licence: CC0."""

import pyarrow as pa

from wikianchor.schemas.fields import field, integers, list_of, schema

VERSION = "1.1"
TYPE_ROUTES = ("instance_of", "subclass_of", "none")


def _text(kind: str, example: str) -> pa.DataType:
    return pa.struct(
        [
            field("language", pa.string(), f"Language code of the {kind}, such as en."),
            field("text", pa.string(), f"The {kind}, such as {example}."),
        ]
    )


SCHEMA = schema(
    "entities",
    VERSION,
    [
        field("qid", pa.int64(), "Number of the Wikidata item, 42 for Q42."),
        field(
            "types",
            integers(pa.int64()),
            "Numbers of the classes of the item: the best-rank values of P31 (instance of), or of P279 (subclass of) "
            "if there are none. [5] for a human.",
        ),
        field(
            "type_route",
            pa.string(),
            "Property from which `types` are taken: instance_of (P31), subclass_of (P279) or none.",
        ),
        field("any_rank_types", integers(pa.int64()), "Values of P31 of every rank, deprecated ones included."),
        field("superclasses", integers(pa.int64()), "Best-rank values of P279 (subclass of)."),
        field("occupations", integers(pa.int64()), "Best-rank values of P106 (occupation)."),
        field("labels", list_of(_text("label", "Douglas Adams")), "Labels in the languages of --labels."),
        field("lastrevid", pa.int64(), "Id of the revision of the item; 0 if the dump does not contain it."),
        field(
            "descriptions",
            list_of(_text("description", "English science fiction writer (1952–2001)")),
            "Descriptions in the languages of --labels; null if --texts does not ask for them.",
            nullable=True,
        ),
        field(
            "aliases",
            list_of(_text("alias", "Douglas Noel Adams")),
            "Other names in the languages of --labels, several for a language; null if --texts does not ask for them.",
            nullable=True,
        ),
    ],
)

SITELINKS = schema(
    "sitelinks",
    VERSION,
    [
        field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
        field("qid", pa.int64(), "Number of the Wikidata item, 42 for Q42."),
        field(
            "title", pa.string(), "Title of the item's page in the wiki; null if only its id is known.", nullable=True
        ),
        field(
            "page_id", pa.int64(), "Id of the item's page in the wiki; null if only its title is known.", nullable=True
        ),
        field(
            "source",
            pa.string(),
            "Origin of the row: wikidata (JSON dump, has the title) or page_props (SQL dump of the wiki, has "
            "the page id).",
        ),
    ],
)
