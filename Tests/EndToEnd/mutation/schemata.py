"""One source with all of its mutants: each changed place becomes a call of a function that selects a change at run time.

A binary operator becomes an operator of its own, with the same precedence, whose name ends with the number of the place.
A condition or a result gets such an operator after it, with a precedence below all others but the ternary operator. So
expressions need not be parsed, and no line moves.
"""

from .sites import Site

#: Each module with mutants gets a file of this name.
FILE = "MutantsOfThisModule.swift"
#: Operator characters that no program uses, for the octal digits of a number.
DIGITS = "─━│┃┄┅┆┇"

PRECEDENCE = {
    "==": "ComparisonPrecedence", "!=": "ComparisonPrecedence", "===": "ComparisonPrecedence",
    "!==": "ComparisonPrecedence", "<": "ComparisonPrecedence", "<=": "ComparisonPrecedence",
    ">": "ComparisonPrecedence", ">=": "ComparisonPrecedence", "&&": "LogicalConjunctionPrecedence",
    "||": "LogicalDisjunctionPrecedence", "+": "AdditionPrecedence", "-": "AdditionPrecedence",
    "..<": "RangeFormationPrecedence", "...": "RangeFormationPrecedence",
    "condition": "MutantPrecedence", "result": "MutantPrecedence",
}

#: The functions of each kind: the operator's name follows `func` in place of @, and # is the number of the first change.
_EQUALITY = """\
func @ <T: Equatable>(a: T, b: T) -> Bool { (a {0} b) != isMutant(#) }
func @ <T>(a: T?, b: _OptionalNilComparisonType) -> Bool { (a {0} b) != isMutant(#) }
func @ <A: Equatable, B: Equatable>(a: (A, B), b: (A, B)) -> Bool { (a {0} b) != isMutant(#) }
@_disfavoredOverload func @ <A: BinaryInteger, B: BinaryInteger>(a: A, b: B) -> Bool { (a {0} b) != isMutant(#) }
"""
_ORDER = """\
func @ <T: Comparable>(a: T, b: T) -> Bool { isMutant(#) ? a {1} b : a {0} b }
func @ <A: Comparable, B: Comparable>(a: (A, B), b: (A, B)) -> Bool { isMutant(#) ? a {1} b : a {0} b }
@_disfavoredOverload func @ <A: BinaryInteger, B: BinaryInteger>(a: A, b: B) -> Bool { isMutant(#) ? a {1} b : a {0} b }
"""
_LOGIC = """\
func @ (a: Bool, b: @autoclosure () throws -> Bool) rethrows -> Bool {
  switch mutantChange(#) {
  case 0: try a {1} b()
  case 1: a
  case 2: try b()
  default: try a {0} b()
  }
}
"""
_CONSTANT = """\
func @ (a: Bool, _: MutantMark) -> Bool {
  switch mutantChange(#) {
  case 0: true
  case 1: false
  default: a
  }
}
"""
_TEMPLATES = {
    "==": _EQUALITY, "!=": _EQUALITY,
    "===": "func @ (a: AnyObject?, b: AnyObject?) -> Bool { (a === b) != isMutant(#) }\n",
    "!==": "func @ (a: AnyObject?, b: AnyObject?) -> Bool { (a !== b) != isMutant(#) }\n",
    "<": _ORDER, "<=": _ORDER, ">": _ORDER, ">=": _ORDER, "&&": _LOGIC, "||": _LOGIC,
    "+": """\
func @ <T: AdditiveArithmetic>(a: T, b: T) -> T { isMutant(#) ? a - b : a + b }
func @ <A: RangeReplaceableCollection, B: Sequence>(a: A, b: B) -> A where A.Element == B.Element {
  isMutant(#) ? a : a + b
}
func @ <A: Sequence, B: RangeReplaceableCollection>(a: A, b: B) -> B where A.Element == B.Element {
  isMutant(#) ? b : a + b
}
func @ <A: RangeReplaceableCollection, B: RangeReplaceableCollection>(a: A, b: B) -> A where A.Element == B.Element {
  isMutant(#) ? a : a + b
}
""",
    "-": "func @ <T: AdditiveArithmetic>(a: T, b: T) -> T { isMutant(#) ? a + b : a - b }\n",
    "..<": """\
func @ <T: Strideable>(a: T, b: T) -> Range<T> where T.Stride: SignedInteger {
  a..<(isMutant(#) ? b.advanced(by: 1) : b)
}
""",
    "...": """\
func @ <T: Strideable>(a: T, b: T) -> ClosedRange<T> where T.Stride: SignedInteger {
  a...(isMutant(#) ? b.advanced(by: -1) : b)
}
""",
    "condition": _CONSTANT, "result": _CONSTANT,
}
_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&"}

#: What each file of mutants begins with. The variables are those of runs.py.
PREAMBLE = """\
import Glibc

// Written by Tests/EndToEnd/mutation. The number of the change that is made in this run; none is 0.
private let chosenMutant = getenv("LIQUID_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0

// A byte for each number, 1 after its place was reached: a file that all modules map.
nonisolated(unsafe) private let reachedMutants: UnsafeMutablePointer<UInt8>? = {
  guard let path = getenv("LIQUID_MUTANTS_REACHED") else { return nil }
  let file = open(path, O_RDWR)
  var status = stat()
  guard file >= 0, fstat(file, &status) == 0 else { return nil }
  let map = mmap(nil, Int(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
  return map == MAP_FAILED ? nil : map?.assumingMemoryBound(to: UInt8.self)
}()

struct MutantMark {}
let mutantMark = MutantMark()

precedencegroup MutantPrecedence {
  higherThan: TernaryPrecedence
  lowerThan: LogicalDisjunctionPrecedence
}

/// The change of the place whose first change has this number: 0 is the first; one that the place does not have is none.
@inline(never) func mutantChange(_ first: Int) -> Int {
  reachedMutants?[first] = 1
  return chosenMutant - first
}

func isMutant(_ first: Int) -> Bool { mutantChange(first) == 0 }

func mutantLiteral<T>(_ first: Int, _ original: T, _ changed: T) -> T { isMutant(first) ? changed : original }

"""


def name(site: Site) -> str:
    """Return the operator of a place."""
    prefix = "?" if site.kind in ("condition", "result") else site.kind
    return prefix + "".join(DIGITS[int(digit)] for digit in oct(site.number)[2:])


def declaration(site: Site) -> str:
    """Return the operator and the functions of a place; nothing for a place that needs none."""
    if site.kind in ("literal", "statement"):
        return ""
    template = _TEMPLATES[site.kind].replace("{0}", site.kind).replace("{1}", _OTHER.get(site.kind, ""))
    functions = template.replace("func @", f"func {name(site)}").replace("#", str(site.number))
    return f"infix operator {name(site)}: {PRECEDENCE[site.kind]}\n{functions}"


def mutate(source: str, sites: list[Site]) -> str:
    """Return the source with all of these places changed."""
    edits = []
    for site in sites:
        if site.kind == "literal":
            original = source[site.start:site.end]
            changed = site.changes[0].rsplit("`", 2)[1]
            edits.append((site.start, site.end, f"mutantLiteral({site.number}, {original}, {changed})"))
        elif site.kind == "statement":
            edits.append((site.start, site.start, f"if !isMutant({site.number}) {{ "))
            edits.append((site.end, site.end, " }"))
        elif site.kind in ("condition", "result"):
            edits.append((site.end, site.end, f" {name(site)} mutantMark"))
        else:
            edits.append((site.start, site.end, name(site)))
    return _edited(source, edits)


def _edited(source, edits):
    """Apply the edits. At one position, ends come before beginnings: first marks, then ends of statements."""
    def order(edit):
        start, end, text = edit
        rank = 3
        if start == end:
            rank = 0 if text.startswith(" ?") else 1 if text == " }" else 2
        return start, rank
    pieces, at = [], 0
    for start, end, text in sorted(edits, key=order):
        pieces += [source[at:start], text]
        at = end
    return "".join([*pieces, source[at:]])
