import Testing

@testable import LiquidAuth

struct EngineIOPacketTests {
  static let handshake =
    #"{"sid":"lv_VI97HAXpY6yYWAAAC","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#

  @Test(arguments: [
    ("1", EngineIOPacket.close), ("2", .ping("")), ("2probe", .ping("probe")), ("3", .pong("")),
    ("3probe", .pong("probe")), ("4", .message("")), ("42[\"hé\"]", .message("2[\"hé\"]")), ("5", .upgrade),
    ("6", .noop), ("4\u{301}", .message("\u{301}")),
  ])
  func `each packet is read from and written as a digit and its text`(_ text: String, _ packet: EngineIOPacket) throws {
    #expect(try EngineIOPacket(text) == packet)
    #expect(Array(packet.text.utf8) == Array(text.utf8))
  }

  @Test func `the first packet carries the handshake`() throws {
    guard case .open(let read) = try EngineIOPacket("0" + Self.handshake) else { throw NotOpen() }
    #expect(read.sid == "lv_VI97HAXpY6yYWAAAC")
    #expect(read.pingInterval == .seconds(25))
    #expect(read.pingTimeout == .seconds(20))
    #expect(read.longestSilence == .seconds(45))
    #expect(read.maxPayload == 1_000_000)
    #expect(EngineIOPacket.open(read).text == "0" + Self.handshake)
  }

  @Test func `a handshake without maxPayload is accepted`() throws {
    let read = try EngineIOHandshake(#"{"sid":"a","upgrades":[],"pingInterval":300,"pingTimeout":200,"new":[1]}"#)
    #expect(read.maxPayload == nil)
    #expect(read.longestSilence == .milliseconds(500))
  }

  // Holds: SIGNAL-2
  @Test(arguments: [
    (#"{"sid":"","pingInterval":25000,"pingTimeout":20000}"#, LiquidAuthError.malformed("handshake")),
    (#"{"sid":"a","pingInterval":99,"pingTimeout":20000}"#, .malformed("handshake")),
    (#"{"sid":"a","pingInterval":0,"pingTimeout":20000}"#, .malformed("handshake")),
    (#"{"sid":"a","pingInterval":-1,"pingTimeout":20000}"#, .malformed("handshake")),
    (#"{"sid":"a","pingInterval":600001,"pingTimeout":20000}"#, .malformed("handshake")),
    (#"{"sid":"a","pingInterval":25000,"pingTimeout":0}"#, .malformed("handshake")),
    (#"{"sid":"a","pingInterval":25000,"pingTimeout":600001}"#, .malformed("handshake")),
    (#"{"sid":"a","pingInterval":25000,"pingTimeout":20000,"maxPayload":0}"#, .malformed("handshake")),
    (#"{"sid":"a","pingInterval":1e99,"pingTimeout":20000}"#, .malformed("JSON")),
    (#"{"sid":"a","pingInterval":"25000","pingTimeout":20000}"#, .malformed("JSON")),
    (#"{"sid":7,"pingInterval":25000,"pingTimeout":20000}"#, .malformed("JSON")),
    (#"{"pingInterval":25000,"pingTimeout":20000}"#, .malformed("JSON")),
    (#"{"sid":"a","pingTimeout":20000}"#, .malformed("JSON")), ("", .malformed("JSON")), ("[]", .malformed("JSON")),
    ("{", .malformed("JSON")), ("null", .malformed("JSON")),
  ])
  func `an invalid handshake is refused`(_ text: String, _ error: LiquidAuthError) {
    #expect(throws: error) { try EngineIOPacket("0" + text) }
  }

  @Test func `a session id has at most 256 bytes`() throws {
    func text(_ count: Int) -> String {
      #"{"sid":"\#(String(repeating: "x", count: count))","pingInterval":25000,"pingTimeout":20000}"#
    }
    #expect(try EngineIOHandshake(text(256)).sid.count == 256)
    #expect(throws: LiquidAuthError.malformed("handshake")) { try EngineIOHandshake(text(257)) }
  }

  // Holds: SIGNAL-1
  @Test(arguments: [
    ("", LiquidAuthError.malformed("packet")), ("7", .malformed("packet")), ("a", .malformed("packet")),
    (" 2", .malformed("packet")), ("１", .malformed("packet")), ("\u{301}2", .malformed("packet")),
    ("1x", .malformed("packet")), ("5x", .malformed("packet")), ("6x", .malformed("packet")),
    ("2x", .malformed("packet")), ("b", .binary), ("bAQIDBA==", .binary), ("\0", .malformed("packet")),
  ])
  func `an invalid packet is refused`(_ text: String, _ error: LiquidAuthError) {
    #expect(throws: error) { try EngineIOPacket(text) }
  }

  @Test func `a body is read and written with U+001E between packets`() throws {
    let packets: [EngineIOPacket] = [.message("hello"), .ping(""), .message("€"), .noop]
    #expect(EngineIOPacket.payload(packets) == "4hello\u{1e}2\u{1e}4€\u{1e}6")
    #expect(try EngineIOPacket.packets(inPayload: "4hello\u{1e}2\u{1e}4€\u{1e}6") == packets)
    #expect(try EngineIOPacket.packets(inPayload: "6") == [.noop])
  }

  @Test(arguments: ["", "\u{1e}", "2\u{1e}", "\u{1e}2", "2\u{1e}\u{1e}2", "2\u{1e}x"])
  func `a body with one invalid packet is refused`(_ text: String) {
    #expect(throws: LiquidAuthError.malformed("packet")) { try EngineIOPacket.packets(inPayload: text) }
  }

  @Test func `a body with a base64 packet is refused whole`() {
    #expect(throws: LiquidAuthError.binary) { try EngineIOPacket.packets(inPayload: "2\u{1e}bAQID") }
  }

  struct NotOpen: Error {}
}
