import CWebRTC
import LiquidAuth
import Testing

@testable import liquid_auth_wallet

/// The base64url of a CBOR text of `count` bytes, at least 65 536.
private func frame(of count: Int) -> String {
  let head: [UInt8] = [0x7A] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
  return base64(head + [UInt8](repeating: 0x41, count: count))
}

private func base64(_ bytes: [UInt8]) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
  var text = ""
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let group = bytes[start..<min(start + 3, bytes.count)]
    let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
    text += String((0...group.count).map { alphabet[bits >> (18 - 6 * $0) & 63] })
  }
  return text
}

struct MessagePiecesTests {
  private let size = Int(CWEBRTC_PIECE_SIZE)

  /// The pieces as GStreamer delivers them, each except the last with `piece` characters.
  private func cut(_ text: String, _ piece: Int) -> [String] {
    var (rest, pieces) = (text[...], [String]())
    while !rest.isEmpty {
      pieces.append(String(rest.prefix(piece)))
      rest = rest.dropFirst(piece)
    }
    return pieces
  }

  // Holds: DAPP-12
  @Test(arguments: [65_536, 65_537, 66_120, 131_072, 254_990])
  func `a frame is joined from pieces of any size`(piece: Int) {
    let whole = frame(of: 190_000)
    var pieces = MessagePieces()
    let taken = cut(whole, piece).map { pieces.add(.text($0)) }
    #expect(taken.dropLast().allSatisfy { $0.isEmpty })
    #expect(taken.last == [.text(whole)])
    #expect(pieces.add("next") == ["next"])
  }

  @Test func `a message of too many pieces is delivered incomplete`() {
    let whole = frame(of: 190_000)
    var pieces = MessagePieces()
    #expect(pieces.add(.text(String(whole.prefix(size)))).isEmpty)
    let more = (2..<MessagePieces.maximumCount).map { _ in pieces.add("A") }
    #expect(more.allSatisfy { $0.isEmpty })
    let begun = String(whole.prefix(size)) + String(repeating: "A", count: MessagePieces.maximumCount - 1)
    #expect(pieces.add("A") == [.text(begun)])
    #expect(pieces.add("next") == ["next"])
  }

  @Test(arguments: [49_147, 49_148, 49_149, 49_150, 190_000])
  func `a complete long message is delivered at once`(count: Int) {
    let whole = frame(of: count)
    #expect(whole.utf8.count >= size)
    var pieces = MessagePieces()
    #expect(pieces.add(.text(whole)) == [.text(whole)])
  }

  @Test(arguments: [65_536, 66_120, 131_072])
  func `a binary message is joined too`(piece: Int) {
    let whole: [UInt8] = [0x5A, 0x00, 0x02, 0xE6, 0x30] + [UInt8](repeating: 0x80, count: 190_000)
    var pieces = MessagePieces()
    let taken = stride(from: 0, to: whole.count, by: piece).map {
      pieces.add(.binary(Array(whole[$0..<min($0 + piece, whole.count)])))
    }
    #expect(taken.dropLast().allSatisfy { $0.isEmpty })
    #expect(taken.last == [.binary(whole)])
    #expect(pieces.add(.binary([])) == [.binary([])])
  }

  @Test func `a short message is not part of another`() {
    var pieces = MessagePieces()
    for text in ["", "ping", String(repeating: "A", count: size - 1), String(frame(of: 90_000).prefix(size - 1))] {
      #expect(pieces.add(.text(text)) == [.text(text)])
    }
  }

  // Holds: DAPP-12
  @Test func `text that cannot be a frame is delivered at once`() {
    var pieces = MessagePieces()
    for text in [String(repeating: "A", count: size), String(repeating: "!", count: size)] {
      #expect(pieces.add(.text(text)) == [.text(text)])
    }
  }

  @Test func `pieces after the first may be short`() {
    let whole = frame(of: 190_000)
    var pieces = MessagePieces()
    #expect(pieces.add(.text(String(whole.prefix(size)))).isEmpty)
    #expect(pieces.add(.text(String(whole.dropFirst(size).prefix(3)))).isEmpty)
    #expect(pieces.add(.text(String(whole.dropFirst(size + 3).prefix(size)))).isEmpty)
    #expect(pieces.add(.text(String(whole.dropFirst(2 * size + 3)))) == [.text(whole)])
  }

  /// The map {"a": 1}.
  private static let short = "oWFhAQ"

  @Test(arguments: [short, "ping"], [1, 3, 4, 40_000])
  func `a short message can arrive before the last piece`(short: String, missing: Int) {
    let whole = frame(of: 190_000)
    let parts = cut(String(whole.dropLast(missing)), 66_120) + [String(whole.suffix(missing))]
    var pieces = MessagePieces()
    for part in parts.dropLast() { #expect(pieces.add(.text(part)).isEmpty) }
    #expect(pieces.add(.text(short)) == [.text(short)])
    #expect(pieces.add(.text(parts.last!)) == [.text(whole)])
    #expect(pieces.add("next") == ["next"])
  }

  @Test func `a binary message can arrive before the last piece too`() {
    let whole: [UInt8] = [0x5A, 0x00, 0x02, 0xE6, 0x30] + [UInt8](repeating: 0x80, count: 190_000)
    let short: [UInt8] = [0xA1, 0x61, 0x61, 0x01]
    var pieces = MessagePieces()
    #expect(pieces.add(.binary(Array(whole.prefix(100_000)))).isEmpty)
    #expect(pieces.add(.binary(short)) == [.binary(short)])
    #expect(pieces.add(.binary(Array(whole.dropFirst(100_000)))) == [.binary(whole)])
  }

  @Test func `an incomplete long message ends at the eighth message that overtakes it`() {
    var pieces = MessagePieces()
    let begun = String(frame(of: 1_000_000).prefix(size))
    #expect(pieces.add(.text(begun)).isEmpty)
    for _ in 1..<MessagePieces.maximumOvertaking { #expect(pieces.add(.text(Self.short)) == [.text(Self.short)]) }
    #expect(pieces.add(.text(Self.short)) == [.text(begun), .text(Self.short)])
    #expect(pieces.add("next") == ["next"])
  }

  @Test func `an incomplete message ends at the size limit`() {
    var pieces = MessagePieces()
    #expect(pieces.add(.text(String(frame(of: 1_000_000).prefix(size)))).isEmpty)
    let more = String(repeating: "A", count: size)
    let taken = (1...PeerChannel.maximumIncomingSize / size).map { _ in pieces.add(.text(more)) }
    #expect(taken.dropLast().allSatisfy { $0.isEmpty })
    #expect(taken.last?.first?.size == (1 + taken.count) * size)
  }
}
