"""Brackets from which a template vanished."""

import pytest

from wikianchor.pipelines.wikimedia.wikitext.brackets import mend_brackets
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, REMOVED


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("Agassi ( ; born 1970) is", "Agassi (born 1970) is"),
        (f"A town ({GAP}) lies", "A town lies"),
        (f"A town ({GAP}, {GAP}; old) lies", "A town (old) lies"),
        (f"A town (lat. ; {GAP}), and", "A town (lat.), and"),
        (f"町（{GAP}、1950年）は", "町（1950年）は"),
        (f"A town (near {GAP}) lies", f"A town (near {GAP}) lies"),
        (f"([[Mercury (planet)|Mercury]]; {GAP})", "([[Mercury (planet)|Mercury]])"),
        ("It calls f() twice", "It calls f() twice"),
        ("Nothing (a; b) to do (c)", "Nothing (a; b) to do (c)"),
        ("A bar ( [[Bar]] ) is", "A bar ( [[Bar]] ) is"),
        (f"A bar ({REMOVED} {REMOVED}) is", "A bar is"),
        (f"A bar ( {REMOVED}; old) is", "A bar (old) is"),
        ("Open ( and never closed", "Open ( and never closed"),
    ],
)
def test_mend_brackets(text: str, mended: str) -> None:
    assert mend_brackets(text) == mended
