"""Write wikianchor/aliases/han_pairs.py: the simplified form of each traditional Chinese character.

    python tools/han.py FILE

FILE is TSCharacters.txt of OpenCC (https://github.com/BYVoid/OpenCC), also in the package opencc-python-reimplemented:
a character, a tab, and its simplified forms, the most frequent first. Only single code points are taken, because
folding keeps offsets. A form that is itself a key is replaced by its own form, so that folding twice changes nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

OUTPUT = Path(__file__).resolve().parent.parent / "wikianchor/aliases/han_pairs.py"
HEAD = '''"""Traditional Chinese characters and their simplified forms.

Written by tools/han.py from a table of OpenCC (Apache-2.0).
"""

# The character at an index of TRADITIONAL has its form at the same index of SIMPLIFIED.
'''


def read_pairs(text: str) -> dict[str, str]:
    """Return the simplified form of each character.

    >>> read_pairs("國\\t国\\n乾\\t干 乾\\n")
    {'國': '国', '乾': '干'}
    """
    pairs = {}
    for line in text.splitlines():
        character, _, forms = line.partition("\t")
        form = forms.split(" ")[0]
        if len(character) == len(form) == 1 and character != form:
            pairs[character] = form
    closed = {}
    for character, form in pairs.items():
        seen = {character}
        while form in pairs and form not in seen:
            seen.add(form)
            form = pairs[form]
        closed[character] = form
    return closed


def literal(name: str, characters: str) -> str:
    """Return the definition of a string constant, in lines of at most 100 characters."""
    lines = [f'    "{characters[start : start + 100]}"' for start in range(0, len(characters), 100)]
    return f"{name} = (\n" + "\n".join(lines) + "\n)\n"


def main(argv: list[str]) -> None:
    """Write the module."""
    pairs = sorted(read_pairs(Path(argv[0]).read_text("utf-8")).items())
    text = HEAD + literal("TRADITIONAL", "".join(key for key, _ in pairs))
    OUTPUT.write_text(text + literal("SIMPLIFIED", "".join(form for _, form in pairs)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
