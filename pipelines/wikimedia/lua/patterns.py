"""Read the patterns of Lua (https://www.lua.org/manual/5.1/manual.html#5.4.1) for the matcher whose steps are counted.

A program is a list of operations; `data/strings.lua` runs it. Codes are bytes for `string`, code points for
`mw.ustring`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

ONE, MOST, FEWEST, OPTIONAL, OPEN, CLOSE, POSITION, BALANCED, FRONTIER, SAME, END = range(1, 12)
_QUANTIFIERS = {ord("*"): MOST, ord("+"): MOST, ord("-"): FEWEST, ord("?"): OPTIONAL}
# Longer patterns take longer at each position.
_LONG = 100

Test = Callable[[int], bool]


class PatternError(Exception):
    """The pattern is malformed."""


class Operation(NamedTuple):
    """An operation of a program.

    Attributes:
        code: one of the numbers above.
        test: whether a code belongs to the set; None for operations without a set.
        argument: the number of a capture, or the two codes of BALANCED.
    """

    code: int
    test: Test | None = None
    argument: int | tuple[int, int] = 0


class Program(NamedTuple):
    """A pattern that has been read: its operations, the number of its captures, whether it begins with "^"."""

    operations: list[Operation]
    captures: int
    anchored: bool

    @property
    def exponent(self) -> int:
        """The power of the length of a text that bounds the steps of a matcher that backtracks."""
        last = len(self.operations)
        while last and self.operations[last - 1].code in (CLOSE, POSITION):
            last -= 1
        repeats = [operation.code in (MOST, FEWEST, OPTIONAL, BALANCED, SAME) for operation in self.operations]
        return (not self.anchored) + sum(repeats[: max(0, last - 1)]) + (len(self.operations) > _LONG)


def read_pattern(pattern: Sequence[int], in_class: Callable[[int, str], bool]) -> Program:
    """Return the program of a pattern.

    Args:
        pattern: its codes.
        in_class: whether a code belongs to a class, such as "a" for %a.

    Raises:
        PatternError: it is malformed.
    """
    operations: list[Operation] = []
    opened: list[int] = []
    captures = 0
    anchored = pattern[:1] == [ord("^")]
    index = int(anchored)
    while index < len(pattern):
        sign = chr(pattern[index])
        following = chr(pattern[index + 1]) if index + 1 < len(pattern) else ""
        if sign == "(":
            captures += 1
            index += 2 if following == ")" else 1
            if following == ")":
                operations.append(Operation(POSITION, argument=captures))
            else:
                opened.append(captures)
                operations.append(Operation(OPEN, argument=captures))
        elif sign == ")":
            if not opened:
                raise PatternError("invalid pattern capture")
            operations.append(Operation(CLOSE, argument=opened.pop()))
            index += 1
        elif sign == "$" and not following:
            operations.append(Operation(END))
            index += 1
        elif sign == "%" and following == "b":
            if index + 3 >= len(pattern):
                raise PatternError("unbalanced pattern")
            operations.append(Operation(BALANCED, argument=(pattern[index + 2], pattern[index + 3])))
            index += 4
        elif sign == "%" and following == "f":
            test, index = _set(pattern, index + 2, in_class)
            operations.append(Operation(FRONTIER, test))
        elif sign == "%" and "0" <= following <= "9":
            if not 1 <= int(following) <= captures or int(following) in opened:
                raise PatternError("invalid capture index")
            operations.append(Operation(SAME, argument=int(following)))
            index += 2
        else:
            test, index = _set(pattern, index, in_class)
            quantifier = _QUANTIFIERS.get(pattern[index]) if index < len(pattern) else None
            if quantifier is None:
                operations.append(Operation(ONE, test))
                continue
            if pattern[index] == ord("+"):
                operations.append(Operation(ONE, test))
            operations.append(Operation(quantifier, test))
            index += 1
    if opened:
        raise PatternError("unfinished capture")
    if captures > 32:
        raise PatternError("too many captures")
    return Program(operations, captures, anchored)


def _set(pattern: Sequence[int], index: int, in_class: Callable[[int, str], bool]) -> tuple[Test, int]:
    """Return the test of a single code, and where it ends."""
    if index >= len(pattern):
        raise PatternError("missing '[' after '%f' in pattern")
    sign = chr(pattern[index])
    if sign == ".":
        return (lambda code: True), index + 1
    if sign == "%":
        return _escaped(pattern, index, in_class), index + 2
    if sign != "[":
        return _equals(pattern[index]), index + 1
    index += 1
    negated = index < len(pattern) and pattern[index] == ord("^")
    index += negated
    tests: list[Test] = []
    singles: set[int] = set()
    begin = index
    while index >= len(pattern) or pattern[index] != ord("]") or index == begin:
        if index >= len(pattern):
            raise PatternError("malformed pattern (missing ']')")
        if pattern[index] == ord("%"):
            tests.append(_escaped(pattern, index, in_class))
            index += 2
        elif index + 2 < len(pattern) and pattern[index + 1] == ord("-") and pattern[index + 2] != ord("]"):
            tests.append(_between(pattern[index], pattern[index + 2]))
            index += 3
        else:
            singles.add(pattern[index])
            index += 1
    return (lambda code: (code in singles or any(test(code) for test in tests)) != negated), index + 1


def _equals(wanted: int) -> Test:
    return lambda code: code == wanted


def _between(first: int, last: int) -> Test:
    return lambda code: first <= code <= last


def _escaped(pattern: Sequence[int], index: int, in_class: Callable[[int, str], bool]) -> Test:
    if index + 1 >= len(pattern):
        raise PatternError("malformed pattern (ends with '%')")
    sign = chr(pattern[index + 1])
    if sign.lower() not in "acdlpsuwxz":
        return _equals(pattern[index + 1])
    return lambda code: in_class(code, sign.lower()) != sign.isupper()


def in_ascii_class(code: int, name: str) -> bool:
    """Return whether a byte belongs to a class of `string`, as in the locale C."""
    return code == 0 if name == "z" else code < 128 and _ASCII[name](chr(code))


_ASCII: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "c": lambda char: char < " " or char == "\x7f",
    "d": str.isdigit,
    "l": str.islower,
    "p": lambda char: "!" <= char <= "~" and not char.isalnum(),
    "s": lambda char: char in " \t\n\v\f\r",
    "u": str.isupper,
    "w": str.isalnum,
    "x": lambda char: char in "0123456789abcdefABCDEF",
}


def in_unicode_class(code: int, name: str) -> bool:
    """Return whether a code point belongs to a class of `mw.ustring`, by its general category."""
    char = chr(code)
    category = unicodedata.category(char)
    if name == "z":
        return code == 0
    if name == "x":
        return char in "0123456789abcdefABCDEF０１２３４５６７８９ａｂｃｄｅｆＡＢＣＤＥＦ"
    if name == "s":
        return category[0] == "Z" or char in "\t\n\v\f\r"
    return category.startswith(_CATEGORIES[name])


_CATEGORIES: dict[str, str | tuple[str, ...]] = {
    **{"a": "L", "c": "Cc", "d": "Nd", "l": "Ll", "p": "P", "u": "Lu"},
    "w": ("L", "Nd"),
}
