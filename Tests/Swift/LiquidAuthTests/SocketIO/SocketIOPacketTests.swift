import TestVectors
import Testing

@testable import LiquidAuth

struct SocketIOPacketTests {
  @Test func `a client sends two kinds of packets`() throws {
    #expect(SocketIOPacket.connect() == "0")
    #expect(SocketIOPacket.connect(auth: "{}") == "0{}")
    let event = try SocketIOEvent("link", ["requestId": "019a"])
    #expect(SocketIOPacket.text(of: event) == #"2["link",{"requestId":"019a"}]"#)
  }

  @Test func `an argument is JSON on one line with unescaped slashes`() throws {
    #expect(try SocketIOEvent("a\"b", "v=0\r\no=- \"é\"/\u{1}\n").array == #"["a\"b","v=0\r\no=- \"é\"/\u0001\n"]"#)
    let candidate = CandidatePayload(ICECandidate(candidate: "candidate:1 1 UDP", sdpMid: nil, sdpMLineIndex: 0))
    #expect(
      try SocketIOEvent("offer-candidate", candidate).array
        == #"["offer-candidate",{"candidate":"candidate:1 1 UDP","sdpMLineIndex":0,"sdpMid":""}]"#)
  }

  @Test func `a server's packets are read`() throws {
    #expect(try SocketIOPacket(#"0{"sid":"oSO0OpakMV_3jnilAAAA"}"#).kind == .connect(sid: "oSO0OpakMV_3jnilAAAA"))
    #expect(try SocketIOPacket("1").kind == .disconnect)
    let event = try SocketIOEvent("answer-description", "v=0")
    #expect(try SocketIOPacket(#"2["answer-description","v=0"]"#).kind == .event(event))
    #expect(try SocketIOPacket(#"2456["answer-description","v=0"]"#).kind == .event(event))
    #expect(try SocketIOPacket(#"31[{"data":{}}]"#).kind == .acknowledgement)
    #expect(try SocketIOPacket("30[]").kind == .acknowledgement)
    #expect(try SocketIOPacket(#"4{"message":"no","data":[1]}"#).kind == .connectError(message: "no"))
  }

  @Test(arguments: [
    (#"0/admin,{"sid":"a"}"#, "/admin"), ("1/admin,", "/admin"), ("1/admin", "/admin"), (#"2/a,1["e"]"#, "/a"),
    ("1/", "/"), ("1/,", "/"), ("1", "/"), ("1/é,", "/é"),
  ])
  func `the namespace comes before the number`(_ text: String, _ namespace: String) throws {
    #expect(try SocketIOPacket(text).namespace == namespace)
  }

  // Holds: SIGNAL-1
  @Test(arguments: [
    ("", LiquidAuthError.malformed("message")), ("7", .malformed("message")), ("x", .malformed("message")),
    ("0", .malformed("JSON")), ("0{}", .malformed("JSON")), (#"0{"sid":1}"#, .malformed("JSON")),
    (#"0["a"]"#, .malformed("JSON")), (#"01{"sid":"a"}"#, .malformed("message")), ("1{}", .malformed("message")),
    ("11", .malformed("message")), ("2", .malformed("JSON")), ("2[]", .malformed("JSON")), ("2{}", .malformed("JSON")),
    ("2[1]", .malformed("JSON")), (#"2["a""#, .malformed("JSON")), (#"2["a",]x"#, .malformed("JSON")),
    (#"2"a""#, .malformed("JSON")), ("2[null]", .malformed("JSON")), ("3[]", .malformed("message")),
    ("31", .malformed("JSON")), ("31{}", .malformed("JSON")), ("31[", .malformed("JSON")),
    ("318446744073709551616[]", .malformed("message")), ("3-1[]", .malformed("message")), ("4", .malformed("JSON")),
    (#"4"no""#, .malformed("JSON")), (#"41{"message":"no"}"#, .malformed("message")),
    (#"51-["a",{"_placeholder":true,"num":0}]"#, .binary), ("61-1[]", .binary), ("5", .binary),
  ])
  func `an invalid packet is refused`(_ text: String, _ error: LiquidAuthError) {
    #expect(throws: error) { try SocketIOPacket(text) }
  }

  // Holds: SERVER-8
  @Test func `an event with a long name is refused, and its arguments are checked`() throws {
    try checkLongNames(String(repeating: "\u{300}\u{316}", count: 100))
  }

  // Holds: SERVER-8
  @Test(.whole("it measures a time"), .timeLimit(.minutes(1)))
  func `a very long name of an event does not take minutes`() throws {
    try checkLongNames(String(repeating: "\u{300}\u{316}", count: 500_000))
  }

  private func checkLongNames(_ marks: String) throws {
    #expect(throws: LiquidAuthError.malformed("event")) {
      try SocketIOPacket(#"2["answer-description\#(marks)","v=0"]"#)
    }
    #expect(throws: LiquidAuthError.malformed("JSON")) { try SocketIOPacket(#"2["link",{"\#(marks)":1}]"#) }
    #expect(throws: LiquidAuthError.malformed("JSON")) { try SocketIOPacket(#"2["link","\x"]"#) }
    #expect(try SocketIOPacket("2/\(marks),[\"link\",1]").namespace.utf8.count == marks.utf8.count + 1)
  }

  // Holds: SIGNAL-1
  @Test func `deeply nested JSON is refused without a stack overflow`() {
    let deep = #"2["a","# + String(repeating: "[", count: 100_000)
    #expect(throws: LiquidAuthError.malformed("JSON")) { try SocketIOPacket(deep) }
    let whole = deep + String(repeating: "]", count: 100_001)
    #expect(throws: LiquidAuthError.malformed("JSON")) { try SocketIOPacket(whole) }
  }

  @Test func `the first argument is decoded on access`() throws {
    let event = try SocketIOEvent(array: #"["a",{"b":[1,2]},3]"#)
    #expect(event.name == "a")
    #expect(try event.argument([String: [Int]].self) == ["b": [1, 2]])
    #expect(throws: LiquidAuthError.malformed("JSON")) { try event.argument(String.self) }
    #expect(throws: LiquidAuthError.malformed("JSON")) { try SocketIOEvent(array: #"["a"]"#).argument(String.self) }
  }
}
