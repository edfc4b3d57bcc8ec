import CryptoPrimitives

/// A JSON text (RFC 8259) of another program.
///
/// Its grammar is checked as a whole first.
///
/// The values are read in place; they need 16 bytes of memory each besides the text. A text has at most
/// ``maximumValues`` values and ``maximumDepth`` levels. The text is wiped at the end.
final class JSONText {
  /// The most values; the names of members count too.
  static let maximumValues = 2_000_000
  /// The most levels of nested arrays and objects.
  static let maximumDepth = 64

  enum Kind: UInt8 {
    case object, array, string, number, bool, null
  }

  /// A value: its place in the text, without the quotation marks of a string, and the index of the next value that is not
  /// inside it.
  struct Node {
    var start: UInt32
    var end: UInt32
    var next: UInt32
    var kind: Kind
  }

  private(set) var bytes: [UInt8]
  private(set) var nodes: [Node] = []
  private var offset = 0

  /// Checks a text.
  ///
  /// - Parameter bytes: the only reference to the text, at most 64 MiB.
  init(_ bytes: consuming [UInt8]) throws(PasskeyFileError) {
    self.bytes = bytes
    if self.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    try value(depth: 0)
    skipSpace()
    guard offset == self.bytes.count else { throw fault("something after its end") }
  }

  deinit { wipe(&bytes) }

  /// The outermost value.
  var root: JSONValue { JSONValue(text: self, index: 0) }

  private func fault(_ what: String) -> PasskeyFileError {
    PasskeyFileError("it is not valid JSON: \(what) at byte \(offset)")
  }

  private func skipSpace() {
    while offset < bytes.count, isSpace(bytes[offset]) { offset += 1 }
  }

  private var current: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private func require(_ character: Character) throws(PasskeyFileError) {
    guard let byte = current, byte == character.asciiValue else { throw fault("no \(character)") }
    offset += 1
  }

  private func add(_ kind: Kind) throws(PasskeyFileError) -> Int {
    guard nodes.count < Self.maximumValues else {
      throw PasskeyFileError("it has more than \(Self.maximumValues) values, too many for an export of passkeys")
    }
    nodes.append(Node(start: UInt32(offset), end: 0, next: 0, kind: kind))
    return nodes.count - 1
  }

  private func close(_ index: Int, end: Int) {
    nodes[index].end = UInt32(end)
    nodes[index].next = UInt32(nodes.count)
  }

  private func value(depth: Int) throws(PasskeyFileError) {
    guard depth <= Self.maximumDepth else {
      throw PasskeyFileError("its arrays and objects are nested more than \(Self.maximumDepth) levels deep")
    }
    skipSpace()
    switch current {
    case UInt8(ascii: "{"): try object(depth: depth)
    case UInt8(ascii: "["): try array(depth: depth)
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "t"): try word("true", .bool)
    case UInt8(ascii: "f"): try word("false", .bool)
    case UInt8(ascii: "n"): try word("null", .null)
    default: try number()
    }
  }

  private func object(depth: Int) throws(PasskeyFileError) {
    let index = try add(.object)
    offset += 1
    skipSpace()
    if current != UInt8(ascii: "}") {
      while true {
        skipSpace()
        guard current == UInt8(ascii: "\"") else { throw fault("no name of a member") }
        try string()
        skipSpace()
        try require(":")
        try value(depth: depth + 1)
        skipSpace()
        guard current == UInt8(ascii: ",") else { break }
        offset += 1
      }
    }
    try require("}")
    close(index, end: offset)
  }

  private func array(depth: Int) throws(PasskeyFileError) {
    let index = try add(.array)
    offset += 1
    skipSpace()
    if current != UInt8(ascii: "]") {
      while true {
        try value(depth: depth + 1)
        skipSpace()
        guard current == UInt8(ascii: ",") else { break }
        offset += 1
      }
    }
    try require("]")
    close(index, end: offset)
  }

  private func string() throws(PasskeyFileError) {
    offset += 1
    let index = try add(.string)
    while let byte = current, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { throw fault("a control character in a string") }
      offset += 1
      guard byte == UInt8(ascii: "\\") else { continue }
      switch current {
      case UInt8(ascii: "u"):
        guard offset + 4 < bytes.count, bytes[offset + 1...offset + 4].allSatisfy({ hexadecimalValue($0) != nil })
        else { throw fault("an invalid escape") }
        offset += 5
      case let byte? where "\"\\/bfnrt".utf8.contains(byte): offset += 1
      default: throw fault("an invalid escape")
      }
    }
    guard current != nil else { throw fault("a string without an end") }
    close(index, end: offset)
    offset += 1
  }

  private func word(_ word: String, _ kind: Kind) throws(PasskeyFileError) {
    let index = try add(kind)
    guard bytes[offset...].starts(with: word.utf8) else { throw fault("no value") }
    offset += word.utf8.count
    close(index, end: offset)
  }

  private func number() throws(PasskeyFileError) {
    let index = try add(.number)
    func digits() throws(PasskeyFileError) {
      let start = offset
      while let byte = current, isDigit(byte) { offset += 1 }
      guard offset > start else { throw fault("no value") }
    }
    if current == UInt8(ascii: "-") { offset += 1 }
    if current == UInt8(ascii: "0") { offset += 1 } else { try digits() }
    if current == UInt8(ascii: ".") {
      offset += 1
      try digits()
    }
    if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
      offset += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { offset += 1 }
      try digits()
    }
    close(index, end: offset)
  }
}

/// One value of a ``JSONText``.
struct JSONValue {
  let text: JSONText
  let index: Int

  private var node: JSONText.Node { text.nodes[index] }

  /// The type of the value.
  var kind: JSONText.Kind { node.kind }

  /// The elements of an array; none for another value.
  var elements: JSONElements { JSONElements(text: text, place: index + 1, end: kind == .array ? Int(node.next) : 0) }

  /// The member of an object; `nil` if it is absent or null, and for another value.
  ///
  /// - Throws: a fault if the object has the name twice, because programs disagree on which one counts.
  func member(_ name: String) throws(PasskeyFault) -> JSONValue? {
    guard kind == .object else { return nil }
    var found: JSONValue?
    var place = index + 1
    while place < node.next {
      let value = JSONValue(text: text, index: place + 1)
      if JSONValue(text: text, index: place).isString(name) {
        guard found == nil else { throw PasskeyFault("it has \(name) twice") }
        found = value
      }
      place = Int(value.node.next)
    }
    return found.flatMap { $0.kind == .null ? nil : $0 }
  }

  /// The elements of a member that is an array; none if it is another value, or absent.
  func elements(of name: String) throws(PasskeyFault) -> JSONElements {
    try member(name)?.elements ?? JSONElements(text: text, place: 0, end: 0)
  }

  private func isString(_ name: String) -> Bool {
    let raw = text.bytes[Int(node.start)..<Int(node.end)]
    guard raw.contains(UInt8(ascii: "\\")) else { return raw.elementsEqual(name.utf8) }
    return (try? unescaped()).map { $0 == Array(name.utf8) } ?? false
  }

  /// The content of a string; the caller wipes it if it is secret.
  ///
  /// - Throws: a fault for a value of another type, or half of a surrogate pair.
  func unescaped() throws(PasskeyFault) -> [UInt8] {
    guard kind == .string else { throw PasskeyFault("a value is not a text") }
    let raw = text.bytes[Int(node.start)..<Int(node.end)]
    guard raw.contains(UInt8(ascii: "\\")) else { return Array(raw) }
    var (result, place) = ([UInt8](), raw.startIndex)
    result.reserveCapacity(raw.count)
    while place < raw.endIndex {
      guard raw[place] == UInt8(ascii: "\\") else {
        result.append(raw[place])
        place += 1
        continue
      }
      let escape = raw[place + 1]
      place += 2
      switch escape {
      case UInt8(ascii: "b"): result.append(8)
      case UInt8(ascii: "f"): result.append(12)
      case UInt8(ascii: "n"): result.append(10)
      case UInt8(ascii: "r"): result.append(13)
      case UInt8(ascii: "t"): result.append(9)
      case UInt8(ascii: "u"):
        var unit = Self.codeUnit(raw[place..<place + 4])
        place += 4
        if 0xD800..<0xDC00 ~= unit, raw[place...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
          let low = Self.codeUnit(raw[place + 2..<place + 6])
          if 0xDC00..<0xE000 ~= low {
            unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            place += 6
          }
        }
        guard let scalar = Unicode.Scalar(unit) else {
          wipe(&result)
          throw PasskeyFault("a text is not Unicode")
        }
        result.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
      default: result.append(escape)
      }
    }
    return result
  }

  private static func codeUnit(_ digits: ArraySlice<UInt8>) -> UInt32 {
    digits.reduce(0) { $0 << 4 | UInt32(hexadecimalValue($1) ?? 0) }
  }

  /// The content of a string as text.
  func string() throws(PasskeyFault) -> String {
    guard let string = String(validating: try unescaped(), as: UTF8.self) else {
      throw PasskeyFault("a text is not Unicode")
    }
    return string
  }

  /// A whole number that is not negative; `nil` for another value.
  var unsigned: UInt64? {
    guard kind == .number else { return nil }
    return UInt64(String(decoding: text.bytes[Int(node.start)..<Int(node.end)], as: UTF8.self))
  }

  /// A boolean; `nil` for another value.
  var bool: Bool? { kind == .bool ? text.bytes[Int(node.start)] == UInt8(ascii: "t") : nil }
}

/// The elements of an array, one after the other.
struct JSONElements: Sequence, IteratorProtocol {
  let text: JSONText
  var place: Int
  let end: Int

  mutating func next() -> JSONValue? {
    guard place < end else { return nil }
    defer { place = Int(text.nodes[place].next) }
    return JSONValue(text: text, index: place)
  }
}

/// Whether a byte is white space in JSON and XML.
func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

func hexadecimalValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}
