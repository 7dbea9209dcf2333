"""The errors that a user can correct. Each message is one line: what is wrong, where, and what to do."""


class UsageError(Exception):
    """The command line is wrong, or the options of a call: exit status 2.

    >>> import wikianchor
    >>> try:
    ...     wikianchor.extract("text", language="klingonish")
    ... except wikianchor.UsageError as error:
    ...     print(error)
    --language: klingonish is not a wiki in a language: write it like en or enwiki
    """


class InputError(Exception):
    """An input is missing or broken, or an output cannot be written: exit status 1.

    Args:
        message: one line.
        results: what the command has found out in spite of it, None for nothing.

    >>> import wikianchor
    >>> try:
    ...     wikianchor.open_dataset("nowhere")
    ... except wikianchor.InputError as error:
    ...     print(error)
    nowhere: no finished dataset here (no manifest.json): run its stage to the end
    """

    def __init__(self, message: str = "", results: object = None) -> None:
        super().__init__(message)
        self.results = results


class Truncated(InputError):
    """A file is truncated. Its complete part has been returned."""
