import CryptoPrimitives

/// Reads the subset of XML 1.0 that exports of KeePass consist of: elements, attributes and text.
///
/// It reads the five predefined entities and character references, and skips comments. It refuses a document type, so that a
/// file cannot define entities; CDATA sections; and processing instructions other than the declaration. Elements are nested at
/// most ``maximumDepth`` levels deep. The text is wiped at the end.
final class XMLText {
  /// The most levels of nested elements.
  static let maximumDepth = 64
  /// The most elements and pieces of text.
  static let maximumEvents = 8_000_000
  /// The most attributes of one element.
  static let maximumAttributes = 16

  enum Event: Equatable {
    /// An element begins.
    case start(String, [Attribute])
    /// The element that began last ends.
    case end(String)
    /// The range of text or white space.
    case text(Range<Int>)
  }

  struct Attribute: Equatable {
    let name: String
    let value: String
  }

  private var bytes: [UInt8]
  private var offset = 0
  private var open: [String] = []
  private var events = 0
  private var hasRoot = false
  /// The name of an empty element, `<name/>`, whose end event is next.
  private var empty: String?

  /// - Parameter bytes: the only reference to the text, at most 64 MiB.
  init(_ bytes: consuming [UInt8]) throws(PasskeyFileError) {
    self.bytes = bytes
    if self.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    if matches("<?xml") { offset = try findEnd(of: "?>", from: offset) }
  }

  deinit { wipe(&bytes) }

  private func fault(_ what: String) -> PasskeyFileError {
    PasskeyFileError("it is not XML as KeePassXC writes it: \(what) at byte \(offset)")
  }

  private func matches(_ text: String) -> Bool { bytes[offset...].starts(with: text.utf8) }

  /// The offset after the next `text`.
  private func findEnd(of text: String, from start: Int) throws(PasskeyFileError) -> Int {
    let pattern = Array(text.utf8)
    var place = start
    while place + pattern.count <= bytes.count {
      if bytes[place] == pattern[0], bytes[place...].starts(with: pattern) { return place + pattern.count }
      place += 1
    }
    throw fault("no \(text)")
  }

  /// The next event; `nil` after the end of the outermost element.
  func next() throws(PasskeyFileError) -> Event? {
    if let name = empty {
      empty = nil
      return .end(name)
    }
    while true {
      events += 1
      guard events <= Self.maximumEvents else { throw PasskeyFileError("it has too many elements for an export") }
      guard offset < bytes.count else {
        guard open.isEmpty, hasRoot else { throw fault("the end comes too early") }
        return nil
      }
      guard bytes[offset] == UInt8(ascii: "<") else {
        if let text = try text() { return text }
        continue
      }
      if matches("<!--") {
        offset = try findEnd(of: "-->", from: offset + 4)
      } else if matches("</") {
        return try endTag()
      } else if matches("<!DOCTYPE") {
        throw fault("a document type, which is not supported,")
      } else if matches("<!") || matches("<?") {
        throw fault("a section that is not an element")
      } else {
        return try startTag()
      }
    }
  }

  /// Text; `nil` for white space outside of the outermost element, which is skipped.
  private func text() throws(PasskeyFileError) -> Event? {
    let start = offset
    while offset < bytes.count, bytes[offset] != UInt8(ascii: "<") { offset += 1 }
    if open.isEmpty {
      guard bytes[start..<offset].allSatisfy(isSpace) else {
        offset = start
        throw fault("text outside of an element")
      }
      return nil
    }
    return .text(start..<offset)
  }

  private func endTag() throws(PasskeyFileError) -> Event {
    offset += 2
    let name = try name()
    skipSpace()
    guard offset < bytes.count, bytes[offset] == UInt8(ascii: ">"), open.last == name else {
      throw fault("an end that belongs to no element")
    }
    offset += 1
    open.removeLast()
    return .end(name)
  }

  private func startTag() throws(PasskeyFileError) -> Event {
    guard !open.isEmpty || !hasRoot else { throw fault("a second outermost element") }
    guard open.count < Self.maximumDepth else {
      throw PasskeyFileError("its elements are nested more than \(Self.maximumDepth) levels deep")
    }
    hasRoot = true
    offset += 1
    let name = try name()
    var attributes: [Attribute] = []
    while true {
      let before = offset
      skipSpace()
      guard offset < bytes.count else { throw fault("an element without an end") }
      if bytes[offset] == UInt8(ascii: ">") {
        offset += 1
        open.append(name)
        return .start(name, attributes)
      }
      if matches("/>") {
        offset += 2
        empty = name
        return .start(name, attributes)
      }
      guard offset > before, attributes.count < Self.maximumAttributes else { throw fault("an invalid attribute") }
      attributes.append(try attribute())
    }
  }

  private func attribute() throws(PasskeyFileError) -> Attribute {
    let name = try name()
    skipSpace()
    guard offset < bytes.count, bytes[offset] == UInt8(ascii: "=") else { throw fault("an invalid attribute") }
    offset += 1
    skipSpace()
    guard offset < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(bytes[offset]),
      let end = bytes[(offset + 1)...].firstIndex(of: bytes[offset])
    else { throw fault("an invalid attribute") }
    let value = bytes[(offset + 1)..<end]
    guard !value.contains(UInt8(ascii: "<")), let text = String(validating: value, as: UTF8.self) else {
      throw fault("an invalid attribute")
    }
    offset = end + 1
    return Attribute(name: name, value: text)
  }

  private func name() throws(PasskeyFileError) -> String {
    let start = offset
    while offset < bytes.count, offset - start <= 64, Self.isName(bytes[offset]) { offset += 1 }
    guard 1...64 ~= offset - start else { throw fault("an invalid name") }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private static func isName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
      true
    default: isDigit(byte)
    }
  }

  private func skipSpace() { while offset < bytes.count, isSpace(bytes[offset]) { offset += 1 } }

  /// The content of a range of text; the caller wipes it if it is secret.
  func content(_ range: Range<Int>) throws(PasskeyFileError) -> [UInt8] {
    guard bytes[range].contains(UInt8(ascii: "&")) else { return Array(bytes[range]) }
    var (result, place) = ([UInt8](), range.lowerBound)
    result.reserveCapacity(range.count)
    while place < range.upperBound {
      guard bytes[place] == UInt8(ascii: "&") else {
        result.append(bytes[place])
        place += 1
        continue
      }
      guard let end = bytes[place..<min(place + 12, range.upperBound)].firstIndex(of: UInt8(ascii: ";")),
        let scalar = Self.scalar(String(decoding: bytes[(place + 1)..<end], as: UTF8.self))
      else {
        offset = place
        throw fault("an unknown entity")
      }
      result.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
      place = end + 1
    }
    return result
  }

  private static func scalar(_ entity: String) -> Unicode.Scalar? {
    switch entity {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default:
      guard entity.utf8.first == UInt8(ascii: "#") else { return nil }
      let isHexadecimal = entity.utf8.dropFirst().first == UInt8(ascii: "x")
      let digits = entity.dropFirst(isHexadecimal ? 2 : 1)
      guard digits.utf8.allSatisfy({ isHexadecimal ? hexadecimalValue($0) != nil : isDigit($0) }) else { return nil }
      return UInt32(digits, radix: isHexadecimal ? 16 : 10).flatMap { $0 == 0 ? nil : Unicode.Scalar($0) }
    }
  }
}
