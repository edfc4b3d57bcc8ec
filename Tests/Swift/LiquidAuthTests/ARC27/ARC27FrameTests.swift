import AlgorandTransaction
import CBOR
import CryptoPrimitives
import TestVectors
import Testing

@testable import LiquidAuth

@Suite struct `Frames without a request` {
  struct Frame: Sendable, CustomTestStringConvertible {
    let message: PeerMessage
    let told: UnansweredFrame
    var testDescription: String { "\(told)" }

    init(_ message: PeerMessage, _ told: UnansweredFrame) { (self.message, self.told) = (message, told) }
    init(_ text: String, _ told: UnansweredFrame) { self.init(PeerMessage.text(text), told) }
    init(_ bytes: [UInt8], _ told: UnansweredFrame) { self.init(Base64URL.encode(bytes), told) }
    init(_ message: LooseCBORValue, _ told: UnansweredFrame) { self.init(ARC27Frame.encode(message), told) }
  }

  private static let reference: LooseCBORValue = "arc0027:discover:request"
  private static let unreadable = "its reference is not namespace:method:request"

  static let unanswered: [Frame] = [
    Frame("ping", .ping), Frame("", .notCBOR("")), Frame("pong!", .notBase64), Frame("\u{1F511}", .notBase64),
    Frame("omJpZGF4aXJl===", .notBase64), Frame("a b", .notBase64),
    Frame("{\"type\":\"transaction\",\"txId\":\"A\",\"txn\":\"gqN0\"}", .legacyTransaction),
    Frame("{\"type\":\"credential\",\"id\":\"A\"}", .json), Frame("{\"type\":7}", .json), Frame("{", .json),
    Frame("[\"transaction\"]", .json), Frame(String(repeating: "[", count: 300_000), .json),
    Frame(Array("{\"id\":\"a\",\"reference\":\"arc0027:discover:request\"}".utf8), .json),
    Frame(String(repeating: "A", count: 340_001), .tooLong(340_001)),
    Frame([UInt8](repeating: 0x81, count: 255_000), .notCBOR("")),
    Frame([0xBB] + [UInt8](repeating: 0xFF, count: 9), .notCBOR("")),
    Frame([0xBF, 0x62, 0x69, 0x64, 0x61, 0x78, 0xFF], .notCBOR("")), Frame([0xA0, 0xA0], .notCBOR("")),
    Frame([0xA2, 0x61, 0x61, 0x01, 0x61, 0x61, 0x02], .notCBOR("")), Frame([0xD9, 0xDF, 0xFF, 0x80], .notCBOR("")),
    Frame([], .notCBOR("")), Frame("text", .notCBOR("")), Frame([.null], .notCBOR("")),
    Frame([:], .noRequest("it has no id of 1 to 128 bytes")),
    Frame(["reference": reference], .noRequest("it has no id of 1 to 128 bytes")),
    Frame(
      ["id": .text(String(repeating: "a", count: 129)), "reference": reference],
      .noRequest("it has no id of 1 to 128 bytes")),
    Frame(["id": "", "reference": reference], .noRequest("it has no id of 1 to 128 bytes")),
    Frame(["id": .unsigned(1), "reference": reference], .noRequest("it has no id of 1 to 128 bytes")),
    Frame(["id": .null, "reference": reference], .noRequest("it has no id of 1 to 128 bytes")),
    Frame(["id": "a"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": .bytes([1])], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "discover"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": ":discover:request"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "arc\u{E9}:discover:request"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "arc0060:sign data:request"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": .text(String(repeating: "a", count: 65) + ":b:request")], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "arc0027:discover"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "arc0027::request"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "arc0027:discover:request:"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "arc0027:\u{1B}[2J:request"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "arc0027:discover:Request"], .noRequest(unreadable)),
    Frame(["id": "a", "reference": "arc0027:sign_transactions:response"], .response),
    Frame(["id": "a", "reference": "arc0060:sign_data:response"], .response),
    Frame(.binary([]), .notCBOR("")), Frame(.binary([0x80]), .notCBOR("")), Frame(.binary([0xA0, 0xA0]), .notCBOR("")),
    Frame(.binary(Array("ping".utf8)), .notCBOR("")), Frame(.binary(Array("{}".utf8)), .json),
    Frame(.binary(Array("{\"type\":\"transaction\"}".utf8)), .legacyTransaction),
    Frame(.binary([0xA0]), .noRequest("it has no id of 1 to 128 bytes")),
    Frame(.binary([UInt8](repeating: 0x81, count: 255_000)), .notCBOR("")),
    Frame(.binary([UInt8](repeating: 0xA0, count: 255_001)), .tooManyBytes(255_001)),
    Frame(
      .binary(LooseCBOREncoder.encode(["id": "a", "reference": "arc0027:discover:response"])), .response),
  ]

  // Holds: ARC27-2
  @Test(arguments: unanswered)
  func `a frame without a request is reported to the user, and nothing is signed`(frame: Frame) async throws {
    var fixture = try ProviderFixture()
    guard case .none(let told) = await fixture.provider.answer(frame.message) else {
      Issue.record("it was answered")
      return
    }
    switch (told, frame.told) {
    case (.notCBOR(let reason), .notCBOR):
      #expect(reason.hasPrefix("invalid CBOR: ") || reason.hasSuffix("it is not a map"))
    default: #expect(told == frame.told)
    }
    #expect(await fixture.signer.asked == [])
  }

  // Holds: ARC27-1
  @Test func `the largest request is read; one byte more is refused`() async throws {
    var fixture = try ProviderFixture()
    let empty: [LooseCBORName: LooseCBORValue] = ["id": "a", "reference": Self.reference, "padding": .bytes([])]
    // The head of the byte string grows from one byte to five.
    let room = ARC27Frame.maximumMessageSize - LooseCBOREncoder.encode(.map(empty)).count - 4
    for (count, isRead) in [(room, true), (room + 1, false)] {
      let message = empty.merging(["padding": .bytes([UInt8](repeating: 0, count: count))]) { $1 }
      let answer = await fixture.provider.answer(ARC27Frame.encode(.map(message)))
      if isRead {
        #expect(try Said(answer).result?["name"] == "Liquid Auth for Linux")
      } else {
        #expect(answer == .none(.tooLong(ARC27Frame.maximumSize + 2)))
      }
      let binary = await fixture.provider.answer(.binary(LooseCBOREncoder.encode(.map(message))))
      if isRead {
        #expect(try Said(binary).result?["name"] == "Liquid Auth for Linux")
      } else {
        #expect(binary == .none(.tooManyBytes(ARC27Frame.maximumMessageSize + 1)))
      }
    }
  }

  // Holds: ARC27-1
  @Test func `a damaged request is refused, ignored or a valid request for a transaction`()
    async throws
  {
    let answered = try ARC27Vectors.load().answered.array
    let frame = try #require(answered.first { $0.name.text == "one transaction, as UW sends it" }).frame.text
    let bytes = try #require(Base64.decode(frame))
    for count in 0..<bytes.count {
      var fixture = try ProviderFixture()
      guard case .none = await fixture.provider.answer(Base64URL.encode(Array(bytes.prefix(count)))) else {
        Issue.record("a part of a request was answered")
        continue
      }
      #expect(await fixture.signer.asked == [])
    }
    for index in bytes.indices {
      var fixture = try ProviderFixture()
      var damaged = bytes
      damaged[index] ^= 1 << UInt8(index % 8)
      if case .reply(let reply) = await fixture.provider.answer(Base64URL.encode(damaged)) {
        #expect(throws: Never.self) { try ARC27Frame.decode(reply.frame) }
        #expect(await fixture.signer.asked.isEmpty == (reply.error != nil))
      }
      for transaction in await fixture.signer.transactions.joined() {
        #expect(throws: Never.self) { try Transaction(decoding: transaction.bytes) }
      }
    }
  }
}

@Suite struct `Texts of combining marks` {
  // Holds: ARC27-9
  @Test func `each text of a frame is compared by its bytes`() async throws {
    try await check(String(repeating: "\u{300}\u{316}", count: 100))
  }

  /// The comparison of its normal forms takes seconds to minutes.
  // Holds: ARC27-9
  @Test(.whole("it measures a time"), .timeLimit(.minutes(1)))
  func `a frame of the largest size does not take minutes`() async throws {
    try await check(String(repeating: "\u{300}\u{316}", count: 63_000))
  }

  private func check(_ marks: String) async throws {
    var fixture = try ProviderFixture()
    let reference: LooseCBORValue = "arc0027:discover:request"
    for message: LooseCBORValue in [
      ["id": "a", "reference": .text("arc0027:discover:request\(marks)")],
      ["id": .text(marks), "reference": reference], ["id": "a", "reference": .text("arc\(marks)")],
    ] {
      guard case .none(.noRequest) = await fixture.provider.answer(ARC27Frame.encode(message)) else {
        Issue.record("it was answered")
        continue
      }
    }
    for text in ["ping\(marks)", "p\(marks)"] {
      #expect(PeerMessage.text(text) != "ping")
      #expect(throws: UnansweredFrame.notBase64) { try ARC27Frame.decode(.text(text)) }
    }
    #expect(throws: UnansweredFrame.json) { try ARC27Frame.decode(.text(#"{"type":"transaction\#(marks)"}"#)) }
    #expect(Set([PeerMessage.text(marks), .text(marks + "a"), .binary(Array(marks.utf8))]).count == 3)
  }
}

@Suite struct `ARC-27 encodings` {
  // Holds: PEERARC27-3
  @Test(arguments: [
    ([UInt8](), "", ""), ([0xFB], "+w==", "-w"), ([0xFF, 0xFE], "//4=", "__4"), ([0xFB, 0xEF, 0xFF], "++//", "--__"),
    ([1, 2, 3, 4], "AQIDBA==", "AQIDBA"),
  ])
  func `base64 is read in both alphabets, with and without padding`(bytes: [UInt8], standard: String, url: String) {
    #expect(Base64.encode(bytes) == standard)
    #expect(Base64.decode(standard) == bytes)
    #expect(Base64.decode(url) == bytes)
    #expect(Base64.decode(String(standard.filter { $0 != "=" })) == bytes)
  }

  @Test(arguments: [
    "A", "+w=", "+w===", "=", "====", "+_AA", "+x==", "AA=A", "AQ ==", "AQ==\n", "AQ==AQ==", "\u{e9}AAA",
  ])
  func `invalid base64 is refused`(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  // Holds: PEERARC27-2
  @Test func `ids are lower-case UUIDs of version 4`() {
    var generator = AscendingBytes(state: 0xF0)
    #expect(UUIDv4.make(using: &generator) == "f0f1f2f3-f4f5-46f7-b8f9-fafbfcfdfeff")
    var random = SystemRandomNumberGenerator()
    for _ in 0..<100 {
      let id = UUIDv4.make(using: &random)
      #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
    #expect(
      Provider.liquidAuthID.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil
    )
  }

  // Holds: PEERARC27-2
  @Test func `a reference is decoded from its text`() {
    let others = ["sign_bytes", "a", "signBytes", "arc0060:sign_data", String(repeating: "a", count: 64)]
    for method in ARC27Method.allCases.map(\.rawValue) + others {
      for kind in [ARC27Reference.Kind.request, .response] {
        let reference = ARC27Reference(method, kind)
        #expect(ARC27Reference("\(reference)") == reference)
      }
    }
    #expect(ARC27Reference("arc0027:\(String(repeating: "a", count: 65)):request") == nil)
    #expect("\(ARC27Reference("sign_transactions", .response))" == "arc0027:sign_transactions:response")
    #expect("\(ARC27Reference("arc0060:sign_data", .response))" == "arc0060:sign_data:response")
  }
}

@Suite struct `Incomplete frames` {
  /// Each remainder of the length that base64 treats differently.
  @Test(arguments: 0..<4) func `each prefix of a frame is incomplete in either alphabet`(size: Int) {
    let message = LooseCBOREncoder.encode(["id": .bytes([UInt8](repeating: 0xFB, count: 60 + size))])
    for text in [Base64URL.encode(message), Base64.encode(message)] {
      for count in 0..<(text.utf8.count - 3) {
        #expect(PeerChannel.isUnfinishedFrame(.text(String(text.prefix(count)))))
      }
      #expect(!PeerChannel.isUnfinishedFrame(.text(text)))
      #expect(!PeerChannel.isUnfinishedFrame(.text(text + text)))
    }
  }

  @Test func `each prefix of a binary message is incomplete`() {
    let message = LooseCBOREncoder.encode(["id": .bytes([UInt8](repeating: 0xFB, count: 60))])
    for count in message.indices { #expect(PeerChannel.isUnfinishedFrame(.binary(Array(message.prefix(count))))) }
    #expect(!PeerChannel.isUnfinishedFrame(.binary(message)))
    #expect(!PeerChannel.isUnfinishedFrame(.binary(message + message)))
    #expect(!PeerChannel.isUnfinishedFrame(.binary([0xFF] + message)))
  }

  @Test(arguments: [
    "p!ng", "{\"type\":", "!!!!", "omJp ZGF4", "AAAA====", "\u{1F511}", String(repeating: "A", count: 70_000),
  ])
  func `text that cannot begin a frame is not incomplete`(text: String) {
    #expect(!PeerChannel.isUnfinishedFrame(.text(text)))
  }
}
