/// The grammar of RFC 8259, checked as a whole before Foundation reads the members that a type names.
///
/// Foundation's reader checks a string or a number only when a type asks for it, accepts a comma after the last value,
/// and finds members by the normal forms of their names.
struct JSONGrammar {
  /// The longest name, in bytes after its escapes are decoded; no name that this project reads is half as long.
  static let maximumNameSize = 64

  private let bytes: [UInt8]
  private var offset = 0

  /// Checks one text: its encoding, syntax and depth, and the names in each object.
  static func check(_ json: [UInt8]) throws(JSONError) {
    guard String(validating: json, as: UTF8.self) != nil else { throw .noJSON }
    var grammar = JSONGrammar(bytes: json)
    // RFC 8259 §8.1: a reader may ignore a byte order mark.
    if json.starts(with: [0xEF, 0xBB, 0xBF]) { grammar.offset = 3 }
    try grammar.value(depth: 0)
    grammar.skipSpace()
    guard grammar.offset == json.count else { throw .noJSON }
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
  }

  /// Reads one character if it is the next one.
  private mutating func accept(_ character: Character) -> Bool {
    guard let byte = current, byte == character.asciiValue else { return false }
    offset += 1
    return true
  }

  private mutating func require(_ character: Character) throws(JSONError) {
    guard accept(character) else { throw .noJSON }
  }

  /// A value, with the space before it; `depth` arrays and objects are open.
  private mutating func value(depth: Int) throws(JSONError) {
    skipSpace()
    switch current {
    case UInt8(ascii: "{"): try object(depth: depth + 1)
    case UInt8(ascii: "["): try array(depth: depth + 1)
    case UInt8(ascii: "\""): _ = try string()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: try number()
    }
  }

  private mutating func object(depth: Int) throws(JSONError) {
    guard depth <= JSONCoding.maximumDepth else { throw .tooDeep }
    offset += 1
    skipSpace()
    if accept("}") { return }
    var names: Set<[UInt8]> = []
    repeat {
      skipSpace()
      guard names.insert(try name()).inserted else { throw .repeatedName }
      skipSpace()
      try require(":")
      try value(depth: depth)
      skipSpace()
    } while accept(",")
    try require("}")
  }

  private mutating func array(depth: Int) throws(JSONError) {
    guard depth <= JSONCoding.maximumDepth else { throw .tooDeep }
    offset += 1
    skipSpace()
    if accept("]") { return }
    repeat {
      try value(depth: depth)
      skipSpace()
    } while accept(",")
    try require("]")
  }

  private mutating func word(_ word: String) throws(JSONError) {
    guard bytes[offset...].starts(with: word.utf8) else { throw .noJSON }
    offset += word.utf8.count
  }

  private mutating func number() throws(JSONError) {
    _ = accept("-")
    if !accept("0") { try digits() }
    if accept(".") { try digits() }
    if accept("e") || accept("E") {
      if !accept("+") { _ = accept("-") }
      try digits()
    }
  }

  /// One or more digits.
  private mutating func digits() throws(JSONError) {
    let start = offset
    while let byte = current, byte.isASCIIDigit { offset += 1 }
    guard offset > start else { throw .noJSON }
  }

  // MARK: Strings

  /// The name of a member, with its escapes decoded: `"a"` and `"\u0061"` are the same.
  private mutating func name() throws(JSONError) -> [UInt8] {
    guard current == UInt8(ascii: "\"") else { throw .noJSON }
    let content = try string()
    // An escape has six bytes for one at least.
    guard content.count <= 6 * Self.maximumNameSize else { throw .longName }
    var place = JSONGrammar(bytes: Array(content))
    var name: [UInt8] = []
    while let byte = place.current {
      place.offset += 1
      if byte == UInt8(ascii: "\\") { name += Array(String(try place.escaped()).utf8) } else { name.append(byte) }
    }
    guard name.count <= Self.maximumNameSize else { throw .longName }
    let text = String(decoding: name, as: UTF8.self)
    guard !text.unicodeScalars.contains(where: Self.isLikeASCII) else { throw .ambiguousName }
    return name
  }

  /// Whether the normal form of a scalar that is not ASCII is one of ASCII: GREEK QUESTION MARK, GREEK VARIA, KELVIN SIGN.
  ///
  /// Foundation would read `public\u{212A}ey` as `publicKey`.
  private static func isLikeASCII(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "\u{37E}" || scalar == "\u{1FEF}" || scalar == "\u{212A}"
  }

  /// A string; returns what is between its quotation marks.
  private mutating func string() throws(JSONError) -> ArraySlice<UInt8> {
    offset += 1
    let start = offset
    while let byte = current, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { throw .noJSON }
      offset += 1
      if byte == UInt8(ascii: "\\") { _ = try escaped() }
    }
    let content = bytes[start..<offset]
    try require("\"")
    return content
  }

  /// The character of an escape, after its backslash.
  private mutating func escaped() throws(JSONError) -> Unicode.Scalar {
    guard let byte = current else { throw .noJSON }
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      var units = [try codeUnit()]
      if UTF16.isLeadSurrogate(units[0]) {
        guard accept("\\"), accept("u") else { throw .noJSON }
        units.append(try codeUnit())
      }
      // A surrogate without its other half is no character.
      guard let text = String(validating: units, as: UTF16.self), let scalar = text.unicodeScalars.first else {
        throw .noJSON
      }
      return scalar
    default: throw .noJSON
    }
  }

  /// Four hexadecimal digits.
  private mutating func codeUnit() throws(JSONError) -> UInt16 {
    let digits = bytes[offset...].prefix(4)
    guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw .noJSON }
    offset += 4
    return unit
  }
}
