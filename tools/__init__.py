"""Commands for maintainers: run from the root of the checkout."""
