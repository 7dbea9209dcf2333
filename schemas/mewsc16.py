"""`mewsc16`: topic sentences from Wikinews, one config per language. Licence: CC BY or CC BY-SA, see `licence`."""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema, strings

VERSION = "1.0"
# In the order of the class numbers in the dataset card.
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
# Ways to determine a topic, the most reliable first.
WIKITEXT, TEMPLATE, SUBCATEGORY = ROUTES = ("wikitext", "template", "subcategory")
STATUS = ("published", "unpublished", "unknown")

SCHEMA = schema(
    "mewsc16",
    VERSION,
    [
        field("language", pa.string(), "Language code of the wiki, such as ja."),
        field("page_id", pa.int64(), "Id of the page."),
        field("rev_id", pa.int64(), "Id of the revision that was read."),
        field(
            "timestamp",
            pa.string(),
            "Time when this revision was saved, ISO 8601 in UTC, such as 2009-03-01T12:00:00Z.",
        ),
        field("title", pa.string(), "Title of the page."),
        field("sentence", pa.string(), "First sentence of the article."),
        field(
            "label",
            pa.string(),
            "Topic of the sentence, such as Sports: the only topic with the most reliable of the routes.",
        ),
        field("topics", strings(), "All topics of the page, in the order of TOPICS."),
        field(
            "routes",
            strings(),
            "For each of `topics`, how it was determined: wikitext (a category link on the page), template (only in "
            "the wiki's table of categories) or subcategory (by a category directly below).",
        ),
        field("status", pa.string(), "published, unpublished, or unknown if the dump of the wiki does not contain it."),
        field(
            "licence", pa.string(), "Licence of the revision at its date, as the Hugging Face Hub writes it: cc-by-2.5."
        ),
        field("permalink", pa.string(), "Address of the revision on the wiki, with its text, authors and history."),
    ],
)
