/// The head of an HTTP/1.1 message: its start line and its fields (RFC 9112 §2.1).
package struct MessageHead: Sendable {
  /// The request line or the status line.
  package let startLine: String
  /// All fields in their order; a value has no white space around it.
  package let fields: [(name: String, value: String)]

  /// Reads the lines up to the empty one; `nil` if they are not those of a head.
  ///
  /// Every line must end in CR LF. Folded lines and control characters are refused (RFC 9112 §5).
  init?(_ bytes: ArraySlice<UInt8>) {
    var lines: [ArraySlice<UInt8>] = []
    var rest = bytes
    while let end = rest.firstIndex(of: Self.carriageReturn) {
      guard rest[rest.index(after: end)...].first == Self.lineFeed else { return nil }
      lines.append(rest[..<end])
      rest = rest[(end + 2)...]
    }
    guard rest.isEmpty, let first = lines.first, lines.allSatisfy(Self.isText) else { return nil }
    var fields: [(name: String, value: String)] = []
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), Self.isToken(line[..<colon]) else { return nil }
      fields.append(
        (
          String(decoding: line[..<colon], as: UTF8.self),
          String(decoding: Self.trimmed(line[(colon + 1)...]), as: UTF8.self)
        ))
    }
    startLine = String(decoding: first, as: UTF8.self)
    self.fields = fields
  }

  /// The values of the fields with this name; case does not count.
  package func values(_ name: String) -> [String] {
    fields.filter { Self.lowercased($0.name).elementsEqual(Self.lowercased(name)) }.map(\.value)
  }

  /// Whether a field that is a list has this element; case does not count (RFC 9110 §5.6.1).
  func contains(_ element: String, in name: String) -> Bool {
    values(name).flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }.contains {
      Self.lowercased(Self.trimmed($0)).elementsEqual(Self.lowercased(element))
    }
  }

  private static func lowercased(_ text: some StringProtocol) -> some Sequence<UInt8> { lowercased(text.utf8) }

  private static func lowercased(_ bytes: some Sequence<UInt8>) -> some Sequence<UInt8> {
    bytes.lazy.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
  }

  // MARK: Grammar

  static let carriageReturn: UInt8 = 0x0D
  static let lineFeed: UInt8 = 0x0A

  /// Whether there is no control character but HTAB (RFC 9110 §5.5).
  static func isText(_ bytes: some Sequence<UInt8>) -> Bool {
    bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }

  /// Whether it is a token: RFC 9110 §5.6.2.
  static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && !#""(),/:;<=>?@[\]{}"#.utf8.contains($0) }
  }

  /// Without surrounding spaces and tabs.
  static func trimmed(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var rest = Array(bytes.drop { $0 == 0x20 || $0 == 0x09 })
    while rest.last == 0x20 || rest.last == 0x09 { rest.removeLast() }
    return rest
  }
}

/// Reads a head from bytes that come in pieces.
struct HeadReader: Sendable {
  /// The bytes so far, without the last line feed.
  private(set) var bytes: [UInt8] = []

  /// The result of a read.
  enum Outcome {
    case incomplete
    case head(MessageHead)
    case malformed
  }

  /// Reads the head, and leaves the bytes that follow it.
  mutating func read(_ input: inout ArraySlice<UInt8>) -> Outcome {
    let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
    while let byte = input.popFirst() {
      bytes.append(byte)
      guard byte == MessageHead.lineFeed, bytes.suffix(end.count).elementsEqual(end) else { continue }
      return MessageHead(bytes.dropLast(2)).map(Outcome.head) ?? .malformed
    }
    return .incomplete
  }
}
