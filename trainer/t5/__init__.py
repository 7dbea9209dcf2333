"""T5 that fills spans of text: span corruption and its objective."""
