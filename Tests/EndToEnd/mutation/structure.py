"""The statements and blocks of a Swift source, from its tokens."""

import dataclasses

from .tokens import CLOSING, OPENING, Token

MODIFIERS = {
    "public", "package", "internal", "fileprivate", "private", "open", "static", "final", "mutating",
    "nonmutating", "nonisolated", "consuming", "borrowing", "override", "indirect", "lazy", "required", "convenience",
    "isolated", "unsafe", "weak", "unowned",
}
TYPES = {"class", "struct", "enum", "actor", "extension", "protocol"}
CONTROL = {"if", "guard", "for", "while", "repeat", "do", "defer"}
DECLARATIONS = {"let", "var", "func", "init", "deinit", "subscript", "typealias", "import", "case", "default",
                "precedencegroup", "infix", "prefix", "postfix"} | TYPES
KEYWORDS = DECLARATIONS | CONTROL | {"switch", "return", "else", "catch", "where", "in", "is", "as", "fallthrough",
                                     "break", "continue", "yield"}
#: Words after which a statement goes on in the next line, and words with which it goes on there.
GOES_ON_AFTER = {"return", "throw", "try", "await", "in", "where", "is", "as", "else", "guard", "if", "while", "for",
                 "case", "let", "var"}
GOES_ON_WITH = {"else", "catch", "where", "is", "as", "in", "throws", "async", "rethrows"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "&+=", "&-="}


@dataclasses.dataclass
class Block:
    """What is between two braces: its kind, and its statements."""

    #: type, func, init, computed, control, value, switch or closure.
    kind: str
    #: The first word of the header, such as `guard`.
    word: str
    #: The text of the result type of a function or of a computed property.
    result: str
    parent: "Block | None"
    statements: list["Statement"] = dataclasses.field(default_factory=list)

    def ancestors(self):
        block = self
        while block:
            yield block
            block = block.parent


@dataclasses.dataclass
class Statement:
    """The tokens of one statement; `label` numbers the case of a switch that it is in, and is -1 for `case` itself."""

    block: Block
    label: int
    first: int
    last: int = -1


def first_word(tokens: list[Token], start: int, end: int) -> tuple[str, int]:
    """Return the first token of a header after its modifiers and attributes, and its index."""
    at = start
    while at < end:
        if tokens[at].text == "@":
            at += 2
        elif tokens[at].text in MODIFIERS and at + 1 < end and not tokens[at + 1].text == ".":
            at += 1
        elif tokens[at].text == "(" and at > start:
            at = closing(tokens, at) + 1
        else:
            return tokens[at].text, at
    return "", end


def closing(tokens: list[Token], at: int) -> int:
    """Return the index of the bracket that closes the one at this index."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index].text in OPENING) - (tokens[index].text in CLOSING)
        if not depth:
            return index
    raise ValueError(f"line {tokens[at].line}: a bracket has no end")


class Structure:
    """All statements of a source, in the order of their beginnings, and the block of each token."""

    def __init__(self, tokens: list[Token]):
        self.tokens = tokens
        self.file = Block("type", "", "", None)
        self.statements: list[Statement] = []
        self._read(0, len(tokens), self.file)

    def _read(self, at, end, block):
        """Read the statements of a block."""
        tokens, statement, label, in_label = self.tokens, None, 0, False
        while at < end:
            token = tokens[at]
            if token.text == ";":
                self._close(statement, at - 1)
                statement, at = None, at + 1
                continue
            begins = statement is None or (
                token.line > _last_line(tokens[at - 1]) and not self._goes_on(tokens[at - 1], token))
            if begins and not (in_label and statement is not None):
                self._close(statement, at - 1)
                statement = Statement(block, label, at)
                if in_label := block.kind == "switch" and token.text in ("case", "default"):
                    statement.label = -1
            if in_label and token.text == ":":
                # The label ends, and the first statement of the case follows.
                self._close(statement, at)
                label, in_label, statement, at = label + 1, False, None, at + 1
                if block.kind == "switch":
                    continue
            elif token.text == "{":
                inner_end = closing(tokens, at)
                self._read(self._after_signature(at, inner_end), inner_end, self._block(statement.first, at, block))
                at = inner_end + 1
            elif token.text in OPENING:
                at = self._brackets(at, block)
            else:
                at += 1
        self._close(statement, end - 1)

    def _brackets(self, at, block):
        """Read the closures in brackets; return the index after the brackets."""
        end, index = closing(self.tokens, at), at + 1
        while index < end:
            if self.tokens[index].text == "{":
                inner_end = closing(self.tokens, index)
                word = "if" if self._is_value(at + 1, index) else ""
                inner = Block("value" if word else "closure", word, "", block)
                self._read(self._after_signature(index, inner_end), inner_end, inner)
                index = inner_end
            index += 1
        return end + 1

    def _is_value(self, start, end):
        return any(token.text in ("if", "switch") and token.kind == "word" for token in self.tokens[start:end])

    def _close(self, statement, last):
        if statement is not None and last >= statement.first:
            statement.last = last
            statement.block.statements.append(statement)
            self.statements.append(statement)

    @staticmethod
    def _goes_on(before, token):
        if before.text in GOES_ON_AFTER or token.text in GOES_ON_WITH:
            return True
        if before.kind == "operator" and before.is_free_left or before.text in (",", ":", ".", "->"):
            return True
        return token.text in (".", "?", ":", ",", ")", "]", "->") or token.kind == "operator" and token.is_free_right

    def _after_signature(self, at, end):
        """Return the index after `{` and the parameters of a closure."""
        if self.tokens[at + 1].text == "for":
            return at + 1
        index = at + 1
        while index < end and self.tokens[index].line == self.tokens[at].line:
            text = self.tokens[index].text
            if text == "in":
                return index + 1
            if text in ("{", "=", ";") or text in CONTROL:
                break
            index = closing(self.tokens, index) + 1 if text in OPENING else index + 1
        return at + 1

    def _block(self, start, brace, parent):
        """Return the block that this brace opens, by the header of its statement."""
        tokens = self.tokens
        word, index = first_word(tokens, start, brace)
        header = [token for token in self._outer(index, brace)]
        texts = [token.text for token in header]
        if word in TYPES:
            return Block("type", word, "", parent)
        if word in ("func", "init", "subscript", "deinit"):
            result = ""
            if "->" in texts:
                arrow = len(texts) - 1 - texts[::-1].index("->")
                result = "".join(texts[arrow + 1:]).split("where")[0]
            return Block("init" if word == "init" else "func", word, result, parent)
        if word in ("let", "var") and "=" not in texts and ":" in texts:
            return Block("computed", word, "".join(texts[texts.index(":") + 1:]), parent)
        if word in ("get", "set", "didSet", "willSet", "_read", "_modify") and parent.kind == "computed":
            return Block("computed", word, parent.result if word == "get" else "", parent)
        if word == "switch":
            return Block("switch", word, "", parent)
        if word in CONTROL:
            return Block("control", word, "", parent)
        control = next((text for text in reversed(texts) if text in ("if", "else", "switch", "do", "catch")), "")
        if control == "switch":
            return Block("switch", "value", "", parent)
        return Block("value" if control else "closure", control, "", parent)

    def _outer(self, start, end):
        """Yield the tokens of a header without what is in brackets."""
        at = start
        while at < end:
            yield self.tokens[at]
            at = closing(self.tokens, at) + 1 if self.tokens[at].text in OPENING else at + 1


def _last_line(token):
    return token.line + token.text.count("\n")
