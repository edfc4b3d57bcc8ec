/// One msgpack value of the kinds that Algorand uses; no nil, no negative number, no floating point, no extension.
indirect enum MessagePack: Sendable {
  case unsigned(UInt64)
  case bytes([UInt8])
  case text(String)
  case bool(Bool)
  case array([MessagePack])
  /// Keys are ASCII, in ascending order.
  case map([Member])

  /// One member of a map.
  struct Member: Sendable {
    let key: String
    let value: MessagePack
  }

  /// Whether the canonical form leaves a member with this value out of a map.
  var isZero: Bool {
    switch self {
    case .unsigned(let number): number == 0
    case .bytes(let content): content.isEmpty
    case .text(let text): text.isEmpty
    case .bool(let truth): !truth
    case .array(let elements): elements.isEmpty
    case .map(let members): members.isEmpty
    }
  }
}

// MARK: - Encoding

extension MessagePack {
  /// The value in canonical form: every number and length in its shortest head.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  private func append(to bytes: inout [UInt8]) {
    switch self {
    case .unsigned(let number) where number < 0x80: bytes.append(UInt8(number))
    case .unsigned(let number): Self.appendHead(0xCC, number, widths: [1, 2, 4, 8], to: &bytes)
    case .bytes(let content):
      Self.appendHead(0xC4, UInt64(content.count), widths: [1, 2, 4], to: &bytes)
      bytes += content
    case .text(let text):
      let utf8 = Array(text.utf8)
      Self.appendHead(0xD9, UInt64(utf8.count), short: 0xA0, below: 32, widths: [1, 2, 4], to: &bytes)
      bytes += utf8
    case .bool(let truth): bytes.append(truth ? 0xC3 : 0xC2)
    case .array(let elements):
      Self.appendHead(0xDC, UInt64(elements.count), short: 0x90, below: 16, widths: [2, 4], to: &bytes)
      for element in elements { element.append(to: &bytes) }
    case .map(let members):
      Self.appendHead(0xDE, UInt64(members.count), short: 0x80, below: 16, widths: [2, 4], to: &bytes)
      for member in members {
        MessagePack.text(member.key).append(to: &bytes)
        member.value.append(to: &bytes)
      }
    }
  }

  /// Writes `number` into `short` if it is below `limit`, else after `head`, `head` + 1, …, in the first of `widths`
  /// bytes that can hold it.
  private static func appendHead(
    _ head: UInt8, _ number: UInt64, short: UInt8 = 0, below limit: UInt64 = 0, widths: [Int], to bytes: inout [UInt8]
  ) {
    guard number >= limit else { return bytes.append(short | UInt8(number)) }
    let needed = (64 - number.leadingZeroBitCount + 7) / 8
    let index = widths.firstIndex { $0 >= needed } ?? widths.endIndex - 1
    bytes.append(head + UInt8(index))
    for byte in (0..<widths[index]).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * byte))) }
  }
}
