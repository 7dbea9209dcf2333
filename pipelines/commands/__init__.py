"""Commands that make no dataset of their own kind: build, demo, download, extract, publish, report, verify."""
