"""The places of a Swift source that can be changed, and their changes."""

import dataclasses

from .structure import ASSIGNMENTS, KEYWORDS, OPENING, Structure, closing, first_word
from .tokens import CLOSING, tokenize

#: Binary operators and their changes. The function of each is in schemata.py.
OPERATORS = {
    "==": ["`==` becomes `!=`"], "!=": ["`!=` becomes `==`"],
    "===": ["`===` becomes `!==`"], "!==": ["`!==` becomes `===`"],
    "<": ["`<` becomes `<=`"], "<=": ["`<=` becomes `<`"],
    ">": ["`>` becomes `>=`"], ">=": ["`>=` becomes `>`"],
    "&&": ["`&&` becomes `||`", "`&&` keeps its left side only", "`&&` keeps its right side only"],
    "||": ["`||` becomes `&&`", "`||` keeps its left side only", "`||` keeps its right side only"],
    "+": ["`+` becomes `-`, or keeps one side of a sequence only"], "-": ["`-` becomes `+`"],
    "..<": ["`..<` includes one more"], "...": ["`...` includes one less"],
}
CONDITION = ["a condition is always true", "a condition is always false"]
RESULT = ["a result is always true", "a result is always false"]


@dataclasses.dataclass
class Site:
    """A place in a source. `kind` selects the function in schemata.py, `start` and `end` the text that it replaces."""

    kind: str
    line: int
    start: int
    end: int
    changes: list[str]
    #: The number of the first change, unique in a run; the others follow it.
    number: int = 0


def find(source: str) -> list[Site]:
    """Return all places of a source, in the order of their beginnings."""
    tokens = tokenize(source)
    structure = Structure(tokens)
    sites = [*_operators(tokens), *_literals(tokens, structure), *_conditions(tokens, structure),
             *_results(tokens, structure), *_statements(tokens, structure)]
    return sorted(sites, key=lambda site: (site.start, -site.end, site.kind))


def _operators(tokens):
    for before, token, after in zip(tokens, tokens[1:], tokens[2:]):
        if token.kind != "operator" or before.text in ("func", "operator"):
            continue
        if token.text in ("..<", "..."):
            ends = token.is_free_left or token.is_free_right or before.text in ("(", "[", ",", ":")
            if ends or after.text in (")", "]", ",", ":"):
                continue
        elif not (token.is_free_left and token.is_free_right) or after.text in ("{", ")", ","):
            continue
        if token.text in OPERATORS:
            yield Site(token.text, token.line, token.start, token.end, list(OPERATORS[token.text]))
        elif token.text == "?":
            yield Site("condition", token.line, before.end, before.end, list(CONDITION))


def _literals(tokens, structure):
    raw = {token.start for token in _raw_values(tokens, structure)}
    for before, token in zip(tokens, tokens[1:]):
        if token.start in raw or before.text == ".":
            continue
        # `while true` ends by a return or a break: without its body, most functions do not compile.
        if token.text in ("true", "false") and before.text != "while":
            other = "false" if token.text == "true" else "true"
            yield Site("literal", token.line, token.start, token.end, [f"`{token.text}` becomes `{other}`"])
        elif token.kind == "number" and (text := _next_number(token.text)):
            start, sign = token.start, ""
            if before.text == "-" and not before.is_free_right and before.end == token.start:
                start, sign = before.start, "-"
            yield Site("literal", token.line, start, token.end, [f"`{sign}{token.text}` becomes `{sign}{text}`"])


def _next_number(text):
    """Return the next integer, or the previous one for the largest of a type; None for a number with a fraction."""
    try:
        value = int(text.replace("_", ""), 0)
    except ValueError:
        return None
    value += -1 if value + 1 in {1 << bits for bits in (8, 16, 32, 63, 64)} else 1
    return f"0x{value:X}" if text.startswith("0x") else str(value)


def _raw_values(tokens, structure):
    """Yield the tokens that must be literals: raw values of an enumeration, what follows a # or an @, and defaults of
    parameters, which other modules may read."""
    for statement in structure.statements:
        word, first = first_word(tokens, statement.first, statement.last)
        if word in ("func", "init", "subscript"):
            for index in range(first, statement.last + 1):
                if tokens[index].text == "{":
                    break
                yield tokens[index]
        if statement.block.kind == "type" and tokens[statement.first].text == "case":
            yield from tokens[statement.first:statement.last + 1]
        elif tokens[statement.first].text in ("#", "@"):
            yield from tokens[statement.first:statement.last + 1]


def _conditions(tokens, structure):
    """Yield the conditions of if, guard and while, and those after where."""
    for index, token in enumerate(tokens):
        if token.kind != "word" or token.text not in ("if", "guard", "while"):
            continue
        before = tokens[index - 1] if index else token
        # Not the end of a `repeat`, which has no mark after it, nor the label of a parameter.
        is_end = token.text == "while" and before.text == "}" and before.line == token.line
        if is_end or before.text in (".", "#", ",") or tokens[index + 1].text == ":":
            continue
        yield from _clauses(tokens, index + 1, {"else" if token.text == "guard" else "{"})
    for statement in structure.statements:
        if tokens[statement.first].text in ("for", "case"):
            for index in _top(tokens, statement.first, statement.last + 1):
                if tokens[index].text == "where":
                    yield from _clauses(tokens, index + 1, {"{", ":", ","})


def _top(tokens, start, end):
    """Yield the indices of the tokens from start to end that are outside of brackets."""
    at = start
    while at < end:
        yield at
        at = closing(tokens, at) + 1 if tokens[at].text in OPENING else at + 1


def _clauses(tokens, start, ends):
    """Yield the Boolean clauses of a condition that begins here and ends before one of these tokens."""
    first = start
    for index in _top(tokens, start, len(tokens)):
        text = tokens[index].text
        if text not in ends and text != ",":
            continue
        if tokens[first].text not in ("let", "var", "case", "#", "true"):
            last = tokens[index - 1]
            yield Site("condition", last.line + last.text.count("\n"), last.end, last.end, list(CONDITION))
        first = index + 1
        if text in ends:
            return


def _results(tokens, structure):
    """Yield the results of functions and properties whose result is a Bool."""
    for statement in structure.statements:
        block, first, last = statement.block, tokens[statement.first], tokens[statement.last]
        if first.text == "return" and statement.last > statement.first:
            owner = next((one for one in block.ancestors() if one.kind in ("func", "computed", "closure", "init")), None)
            is_bool = owner is not None and owner.result == "Bool"
            is_value = tokens[statement.first + 1].text not in ("true", "false", "if", "switch")
        else:
            is_bool = block.result == "Bool" and len(block.statements) == 1
            is_value = first.text not in KEYWORDS | {"true", "false", "throw", "get", "set"}
        if is_bool and is_value:
            yield Site("result", last.line + last.text.count("\n"), last.end, last.end, list(RESULT))


def _statements(tokens, structure):
    """Yield the assignments, calls and throws that can be left out."""
    for statement in structure.statements:
        block, first, last = statement.block, tokens[statement.first], tokens[statement.last]
        if block.kind == "type" or first.text in KEYWORDS or first.kind not in ("word", "mark"):
            continue
        if first.kind == "mark" and first.text != "(":
            continue
        top = [tokens[index].text for index in _top(tokens, statement.first, statement.last + 1)]
        is_assignment = any(text in ASSIGNMENTS for text in top)
        is_throw = first.text == "throw"
        if first.kind == "mark" and not is_assignment:
            continue
        if is_throw and block.word == "guard":
            continue
        if any(one.kind == "init" for one in block.ancestors()) and (is_assignment or {"self", "super"} & set(top[:2])):
            continue
        if not (is_assignment or is_throw):
            beside = sum(other.label == statement.label for other in block.statements)
            is_alone = beside == 1 and block.kind not in ("control", "init")
            if last.text not in CLOSING or is_alone and not (block.kind == "func" and not block.result):
                continue
        name = "an assignment" if is_assignment else "a throw" if is_throw else "a call"
        yield Site("statement", first.line, first.start, last.end, [f"{name} is left out"])
