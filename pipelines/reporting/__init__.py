"""What is in datasets, as one HTML page: figures are counted, charts drawn, and all of it escaped by one serialiser."""
