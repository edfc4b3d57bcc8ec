"""The tokens of a Swift source, as far as the mutations need them."""

import dataclasses
import re

OPERATOR = "/=-+!*%<>&|^~?"
OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = {")", "]", "}"}
_WORD = re.compile(r"`\w+`|\$?\w+")
_NUMBER = re.compile(r"0[xob][0-9A-Fa-f_]+(\.?[0-9A-Fa-f_]*[pP][+-]?[0-9]+)?|[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?")
_STRING = re.compile(r'#*"')
_REGEX = re.compile(r"/(?![ /*])([^/\\\n]|\\.)+/")


@dataclasses.dataclass
class Token:
    """One token: its kind (word, number, string, operator or mark), its text, and its place."""

    kind: str
    text: str
    start: int
    line: int
    #: Whether white space, or the edge of the file, is on this side.
    is_free_left: bool = False
    is_free_right: bool = False

    @property
    def end(self):
        return self.start + len(self.text)


def tokenize(source: str) -> list[Token]:
    """Return the tokens without comments. A string is one token, with all of its interpolations."""
    tokens, at, line = [], 0, 1
    while at < len(source):
        letter = source[at]
        if letter.isspace():
            line += letter == "\n"
            at += 1
            continue
        if source.startswith("//", at):
            at = _end(source, "\n", at)
            continue
        if source.startswith("/*", at):
            end = _end_of_comment(source, at)
            line += source.count("\n", at, end)
            at = end
            continue
        kind, end = _next(source, at)
        # A regular expression stands where an operand does.
        if tokens and tokens[-1].text in ("(", ",", "=", ":") and (match := _REGEX.match(source, at)):
            kind, end = "string", match.end()
        tokens.append(Token(kind, source[at:end], at, line, at == 0 or source[at - 1].isspace(),
                            end == len(source) or source[end].isspace()))
        line += source.count("\n", at, end)
        at = end
    return tokens


def _next(source, at):
    letter = source[at]
    if match := _STRING.match(source, at):
        return "string", _end_of_string(source, at, match.group().count("#"))
    if letter.isdigit():
        return "number", _NUMBER.match(source, at).end()
    if match := _WORD.match(source, at):
        return "word", match.end()
    if letter in OPERATOR or source.startswith("..", at):
        allowed = OPERATOR + ("." if letter == "." else "")
        end = at
        while end < len(source) and source[end] in allowed and not source.startswith(("//", "/*"), end):
            end += 1
        # A postfix ? or ! is a token of its own: `x?.y`, `[T]?=`.
        return "operator", end
    return "mark", at + 1


def _end(source, what, at):
    found = source.find(what, at)
    return len(source) if found < 0 else found


def _end_of_comment(source, at):
    depth = 0
    while at < len(source):
        if source.startswith("/*", at):
            depth, at = depth + 1, at + 2
        elif source.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if not depth:
                return at
        else:
            at += 1
    raise ValueError("a comment has no end")


def _end_of_string(source, at, hashes):
    """Return the end of the string literal that begins here, with this number of # before it."""
    at += hashes
    quote = '"""' if source.startswith('"""', at) else '"'
    at += len(quote)
    escape = "\\" + "#" * hashes
    while at < len(source):
        if source.startswith(escape + "(", at):
            at = _end_of_interpolation(source, at + len(escape))
        elif source.startswith(escape, at):
            at += len(escape) + 1
        elif source.startswith(quote + "#" * hashes, at):
            return at + len(quote) + hashes
        else:
            at += 1
    raise ValueError("a string has no end")


def _end_of_interpolation(source, at):
    depth = 0
    while at < len(source):
        if match := _STRING.match(source, at):
            at = _end_of_string(source, at, match.group().count("#"))
            continue
        depth += (source[at] == "(") - (source[at] == ")")
        at += 1
        if not depth:
            return at
    raise ValueError("an interpolation has no end")
