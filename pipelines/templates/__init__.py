"""The dataset `templates`: the wiki's own definitions of its templates, from a dump of pages-articles."""
