"""Evaluate `{{#expr:...}}` (https://www.mediawiki.org/wiki/Help:Extension:ParserFunctions##expr)."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?|\.\d+)|(<>|!=|>=|<=|[-+*/^()<>=])|([a-z]+))", re.IGNORECASE)
_LONGEST = 1000
_MAX_DEPTH = 40
# Larger results are no numbers that a page shows.
_LARGEST = 1e15
_Binary = Callable[[float, float], float]


class ExpressionError(ValueError):
    """The text is no expression, or has no value."""


def _round(value: float, digits: float) -> float:
    if abs(digits) > 20:
        raise ExpressionError
    exact = Decimal(repr(value)).quantize(Decimal(1).scaleb(-int(digits)), ROUND_HALF_UP)
    return float(exact)


# Operator -> precedence and function; the order is that of the extension.
_BINARY: dict[str, tuple[int, _Binary]] = {
    "or": (1, lambda a, b: float(bool(a) or bool(b))),
    "and": (2, lambda a, b: float(bool(a) and bool(b))),
    **dict.fromkeys(("=",), (3, lambda a, b: float(a == b))),
    **dict.fromkeys(("<>", "!="), (3, lambda a, b: float(a != b))),
    "<": (3, lambda a, b: float(a < b)),
    ">": (3, lambda a, b: float(a > b)),
    "<=": (3, lambda a, b: float(a <= b)),
    ">=": (3, lambda a, b: float(a >= b)),
    "round": (4, _round),
    "+": (5, operator.add),
    "-": (5, operator.sub),
    "*": (6, operator.mul),
    **dict.fromkeys(("/", "div"), (6, operator.truediv)),
    "mod": (6, lambda a, b: math.fmod(int(a), int(b))),
    "fmod": (6, math.fmod),
    # Of floats: an overflow is an error, and so is a root of a negative number.
    "^": (7, math.pow),
}
_UNARY: dict[str, Callable[[float], float]] = {
    "-": operator.neg,
    "+": operator.pos,
    "not": lambda a: float(not a),
    "abs": abs,
    # Powers of integers would have no bound.
    "ceil": lambda a: float(math.ceil(a)),
    "floor": lambda a: float(math.floor(a)),
    "trunc": lambda a: float(math.trunc(a)),
    "exp": math.exp,
    "ln": math.log,
    "sqrt": math.sqrt,
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_UNARY_PRECEDENCE = 8


def evaluate(text: str) -> str:
    """Return the value of an expression as MediaWiki writes it; "" for an empty one.

    Raises:
        ExpressionError: the text is no expression, or has no finite value.

    >>> evaluate("2 * (3 + 4)"), evaluate("7 / 2 round 0"), evaluate("1 = 2")
    ('14', '4', '0')
    """
    if not text.strip():
        return ""
    tokens = _tokens(text)
    try:
        value = _parse(tokens, 0, 0)
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise ExpressionError from error
    if tokens or not abs(value) < _LARGEST:
        raise ExpressionError
    return str(int(value)) if value == int(value) else f"{value:.12g}"


def _tokens(text: str) -> list[float | str]:
    """Return the tokens of an expression, the first one last."""
    if len(text) > _LONGEST:
        raise ExpressionError
    tokens: list[float | str] = []
    position, text = 0, text.strip().replace("−", "-").replace("&minus;", "-").replace("&lt;", "<").replace("&gt;", ">")
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError
        word = (match[3] or "").lower()
        tokens.append(float(match[1]) if match[1] else _CONSTANTS.get(word, match[2] or word))
        position = match.end()
    return tokens[::-1]


def _parse(tokens: list[float | str], precedence: int, depth: int) -> float:
    """Read an operand and the binary operators after it that bind at least as strongly as `precedence`."""
    if depth > _MAX_DEPTH:
        raise ExpressionError
    token = tokens.pop()
    if token == "(":
        value = _parse(tokens, 0, depth + 1)
        if tokens.pop() != ")":
            raise ExpressionError
    elif isinstance(token, str):
        if token not in _UNARY:
            raise ExpressionError
        value = _UNARY[token](_parse(tokens, _UNARY_PRECEDENCE, depth + 1))
    else:
        value = token
    while tokens and isinstance(tokens[-1], str) and tokens[-1] in _BINARY:
        binds, function = _BINARY[tokens[-1]]
        if binds < precedence:
            break
        tokens.pop()
        value = function(value, _parse(tokens, binds + 1, depth + 1))
    return value
