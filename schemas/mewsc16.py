"""`mewsc16`: topic sentences of Wikinews, one config per language. Text CC BY or CC BY-SA, see `licence`."""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema, strings

VERSION = "1.0"
# In the order of the class numbers on the card.
TOPICS = (
    "Science and technology",
    "Politics and conflicts",
    "Environment",
    "Sports",
    "Health",
    "Crime and law",
    "Obituaries",
    "Disasters and accidents",
    "Culture and entertainment",
    "Economy and business",
    "Weather",
    "Education",
    "Media",
)
LANGUAGES = ("ar", "ca", "cs", "de", "en", "eo", "es", "fa", "fr", "ja", "ko", "pl", "pt", "ru", "sv", "tr")
# How a topic was found, the most certain first.
WIKITEXT, TEMPLATE, SUBCATEGORY = ROUTES = ("wikitext", "template", "subcategory")
STATUS = ("published", "unpublished", "unknown")

SCHEMA = schema(
    "mewsc16",
    VERSION,
    field("language", pa.string(), "language code of the wiki, such as ja"),
    field("page_id", pa.int64(), "the page"),
    field("rev_id", pa.int64(), "the revision that was read"),
    field("timestamp", pa.string(), "when that revision was saved, ISO 8601, UTC"),
    field("title", pa.string(), "title of the page"),
    field("sentence", pa.string(), "the first sentence of the article"),
    field("label", pa.string(), "the topic, one of TOPICS: the only one of the surest route"),
    field("topics", strings(), "all topics of the page, in the order of TOPICS"),
    field(
        "routes",
        strings(),
        "how each of `topics` was found: wikitext (a category link on the page), template (only in the wiki's own "
        "table of categories) or subcategory (by a category right below)",
    ),
    field("status", pa.string(), "published, unpublished, or unknown where the wiki's dump does not tell"),
    field("licence", pa.string(), "of the revision, by the wiki's rules at its date, as the Hub writes licences"),
    field("permalink", pa.string(), "the revision on the wiki: its text, authors and history"),
)
