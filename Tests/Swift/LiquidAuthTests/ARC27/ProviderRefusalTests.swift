import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@testable import LiquidAuth

/// Requests that are refused with their ARC-27 error.
@Suite struct `ARC-27 refusals` {
  struct Malformed: Sendable, CustomTestStringConvertible {
    let method: String
    let params: LooseCBORValue
    let message: String
    var testDescription: String { message }

    init(_ message: String, _ params: LooseCBORValue, _ method: String = "sign_transactions") {
      (self.method, self.params, self.message) = (method, params, message)
    }

    /// An item of `txns` after a valid one.
    init(_ message: String, item: LooseCBORValue) {
      self.init("params.txns[1]\(message)", ["txns": [["txn": Self.good.text], item]])
    }

    static let ours = AlgorandAddress(publicKey: (try? vectorAccount()) ?? [])
    static let good = TestPayment(sender: ours)
    private static func vectorAccount() throws -> [UInt8] {
      try #require(AlgorandAddress(text: Array(ARC27Vectors.load().account.text.utf8))).publicKey
    }
    static func item(_ more: [LooseCBORName: LooseCBORValue]) -> LooseCBORValue {
      .map(["txn": good.text].merging(more) { $1 })
    }
  }

  private static let ours = Malformed.ours
  private static let good = Malformed.good
  private static let other = TestPayment(sender: ours, amount: 9)

  /// Sixteen of these are more than the authenticator accepts.
  private static let long = TestPayment(sender: ours, note: [UInt8](repeating: 1, count: 10_000))

  static let malformed: [Malformed] = [
    Malformed("params is not a map", .null), Malformed("params is not a map", []),
    Malformed("params.txns is missing", [:]), Malformed("params.txns is missing", ["txns": .null]),
    Malformed("params.txns is not a list", ["txns": ["txn": good.text]]),
    Malformed(" is not a map", item: good.text), Malformed(" is not a map", item: .null),
    Malformed(".txn is missing", item: [:]), Malformed(".txn is not a text", item: ["txn": .bytes(good.bytes)]),
    Malformed(".txn is not base64", item: ["txn": "a"]), Malformed(".txn is not base64", item: ["txn": "a-/_"]),
    Malformed(".txn is not base64", item: ["txn": "YQ="]), Malformed(".txn is not base64", item: ["txn": "YR=="]),
    Malformed(".txn is not base64", item: ["txn": "YWE=\n"]),
    Malformed(".txn is refused: not canonical msgpack: it ends too early", item: ["txn": ""]),
    Malformed(
      ".txn is refused: not canonical msgpack: it ends too early",
      item: ["txn": .text(Base64URL.encode(good.bytes.dropLast()))]),
    Malformed(
      ".txn is refused: not canonical msgpack: bytes follow the transaction",
      item: ["txn": .text(Base64URL.encode(good.bytes + [0]))]),
    Malformed(
      ".txn begins with \"TX\", which is a prefix for signing and not part of the transaction",
      item: ["txn": .text(Base64URL.encode("TX".utf8 + good.bytes))]),
    Malformed(
      ".txn is refused: not a transaction: the member \"snd\" is missing",
      item: ["txn": .text(Base64URL.encode(unsent))]),
    Malformed(
      " has an unknown member; known are authAddr, groupMessage, message, msig, signers, stxn, txn",
      item: Malformed.item(["signer": .text(ours.text)])),
    Malformed(".signers is not a list", item: Malformed.item(["signers": .text(ours.text)])),
    Malformed(".signers[0] is not a text", item: Malformed.item(["signers": [.null]])),
    Malformed(".signers[0] is not an address", item: Malformed.item(["signers": ["nobody"]])),
    Malformed(".authAddr is not an address", item: Malformed.item(["authAddr": .text(ours.text.lowercased())])),
    Malformed(
      ".msig is not supported; this is not a multisig account", item: Malformed.item(["msig": [:], "signers": []])),
    Malformed(".message is not a text", item: Malformed.item(["message": .unsigned(1)])),
    Malformed(
      ".groupMessage is allowed only in the first transaction", item: Malformed.item(["groupMessage": "hello"])),
    Malformed(
      ".stxn is allowed only with an empty list of signers",
      item: Malformed.item(["stxn": .text(Base64URL.encode(good.signed))])),
    Malformed(
      ".stxn is refused: not canonical msgpack: it ends too early", item: Malformed.item(["signers": [], "stxn": ""])),
    Malformed(
      ".stxn is not the signed form of txn",
      item: Malformed.item(["signers": [], "stxn": .text(Base64URL.encode(other.signed))])),
    Malformed(
      "params.txns has 17 elements, of 16 at most",
      ["txns": .array([LooseCBORValue](repeating: ["txn": good.text], count: 17))]),
    Malformed(
      "params.txns has 250000 elements, of 16 at most",
      ["txns": .array([LooseCBORValue](repeating: .null, count: 250_000))]),
    Malformed(
      ".signers has 17 elements, of 16 at most",
      item: Malformed.item(["signers": .array([LooseCBORValue](repeating: .text(ours.text), count: 17))])),
    Malformed(
      "params.txns has 162416 bytes in all, of 160000 at most",
      ["txns": .array([LooseCBORValue](repeating: ["txn": long.text], count: 16))]),
    Malformed(
      "params.sessionIds has 17 elements, of 16 at most",
      ["sessionIds": .array([LooseCBORValue](repeating: "", count: 17))], "disable"),
    Malformed(
      "a transaction without msig has one signer, not 2",
      ["txns": [Malformed.item(["signers": [.text(ours.text), .text(ours.text)]])]]),
    Malformed("params is not a map", .null, "sign_message"),
    Malformed("params.message is missing", [:], "sign_message"),
    Malformed("params.message is not a text", ["message": .bytes([1])], "sign_message"),
    Malformed("params.message has 0 bytes; it must have 1 to 1024", ["message": ""], "sign_message"),
    Malformed(
      "params.message has 1026 bytes; it must have 1 to 1024",
      ["message": .text(String(repeating: "\u{e9}", count: 513))], "sign_message"),
    Malformed("params.signer is not an address", ["message": "a", "signer": "me"], "sign_message"),
    Malformed(
      "params.data: sign_message takes a text in message (ARC-27); ARC-60 is not supported",
      ["data": "AQID", "signer": .text(ours.text), "domain": "example.com"], "sign_message"),
    Malformed("params is not a map", "all", "discover"), Malformed("params is not a map", [], "enable"),
    Malformed("params.genesisHash is not base64", ["genesisHash": "testnet!"], "enable"),
    Malformed("params.genesisHash is not a block hash", ["genesisHash": "AAAA"], "enable"),
    Malformed("params.genesisHash is not a text", ["genesisHash": .unsigned(1)], "disable"),
    Malformed("params.sessionIds is not a list", ["sessionIds": "all"], "disable"),
    Malformed("params.sessionIds[1] is not a text", ["sessionIds": ["a", .float(1)]], "disable"),
    Malformed("params.stxns is missing", [:], "post_transactions"),
    Malformed("params.stxns[0] is not base64", ["stxns": ["?"]], "post_transactions"),
    Malformed("params.stxns[0] is not a text", ["stxns": [.null]], "post_transactions"),
    Malformed(
      "params.stxns[1] is refused: not a transaction: the member \"txn\" is missing",
      ["stxns": [.text(Base64URL.encode(good.signed)), .text(Base64URL.encode(good.bytes))]], "post_transactions"),
    Malformed(
      "params.stxns has 17 elements, of 16 at most",
      ["stxns": .array([LooseCBORValue](repeating: .text(Base64URL.encode(good.signed)), count: 17))],
      "post_transactions"),
    Malformed(
      "params.txns[0] has no signature and cannot be posted", ["txns": [Malformed.item(["signers": []])]],
      "sign_and_post_transactions"),
  ]

  // Holds: ARC27-5, PEERARC27-5
  @Test(arguments: malformed)
  func `a malformed request is answered with 4200, the member and the reason`(item: Malformed) async throws {
    let algod = FakeAlgod()
    var fixture = try ProviderFixture(algod: algod)
    let said = try await fixture.ask(item.method, item.params)
    #expect(said.code == 4200)
    #expect(said.message == item.message)
    #expect(said.data == nil)
    #expect(said.error?["providerId"] == .text(Provider.liquidAuthID))
    #expect(said.members["requestId"] == .text(ProviderFixture.requestID))
    #expect(said.members["reference"] == .text("arc0027:\(item.method):response"))
    #expect(await fixture.signer.asked == [])
    #expect(await algod.posted == [])
  }

  /// The second is of no namespace of Algorand's; the third has the name of a method of ARC-27.
  // Holds: ARC27-10
  @Test(arguments: ["arc0060:sign_data", "dapp.example:hello", "arc0028:discover", "sign_bytes", "signBytes"])
  func `a request for an unknown method or of another namespace is answered with 4003`(method: String) async throws {
    var fixture = try ProviderFixture()
    let reference = method.contains(":") ? method : "arc0027:\(method)"
    let request: LooseCBORValue = [
      "id": .text(ProviderFixture.requestID), "reference": .text("\(reference):request"), "params": .unsigned(1),
    ]
    let said = try await Said(fixture.provider.answer(ARC27Frame.encode(request)))
    #expect(said.code == 4003)
    #expect(said.data == ["method": .text(method)])
    #expect(said.message == "this wallet does not support the method \(method)")
    #expect(said.members["reference"] == .text("\(reference):response"))
    #expect(said.members["requestId"] == .text(ProviderFixture.requestID))
    #expect(said.reply.method == method)
    #expect(await fixture.signer.asked == [])
  }

  private static let unsent = [0x81, 0xA4] + "type".utf8 + [0xA3] + Array("pay".utf8)

  @Test func `a message for another account is not signed`() async throws {
    var fixture = try ProviderFixture()
    let said = try await fixture.ask("sign_message", ["message": "a", "signer": .text(fixture.stranger.text)])
    #expect(said.code == 4100)
    #expect(said.data == ["signer": .text(fixture.stranger.text)])
    #expect(await fixture.signer.asked == [])
  }

  // Holds: ARC27-6, PEERARC27-5
  @Test func `one refused transaction refuses the whole request`() async throws {
    var fixture = try ProviderFixture()
    let strange = TestPayment(sender: fixture.stranger)
    for position in 0..<3 {
      var items = [LooseCBORValue](repeating: ["txn": Self.good.text], count: 3)
      items[position] = ["txn": strange.text]
      #expect(try await fixture.ask("sign_transactions", ["txns": .array(items)]).code == 4100)
    }
    #expect(await fixture.signer.asked == [])
  }

  // Holds: ARC27-6, PEERARC27-2
  @Test func `a faulty group is answered with its computed id`()
    async throws
  {
    var fixture = try ProviderFixture()
    let group = try TestPayment.grouped([Self.good, Self.other])
    let foreign = try TestPayment.grouped([Self.other, Self.good])
    for list in [[group[0], Self.other], [group[0], foreign[0]], [group[1], group[0]], [group[0]]] {
      let said = try await fixture.ask("sign_transactions", ["txns": .array(list.map { ["txn": $0.text] })])
      #expect(said.code == 4201)
      let bare = list.map { TestPayment(sender: $0.sender, amount: $0.amount) }
      let expected = try #require(try TestPayment.grouped(bare)[0].group)
      #expect(said.data == ["computedGroupId": .text(Base64.encode(expected))])
    }
    #expect(await fixture.signer.asked == [])
  }

  // MARK: - The authenticator does not sign

  struct Failing: Sendable, CustomTestStringConvertible {
    let failure: PortError
    let code: Int
    let message: String
    let data: LooseCBORValue?
    var testDescription: String { "\(failure)" }
  }

  // Holds: ARC27-7, PEERARC27-5
  @Test(arguments: [
    Failing(failure: .declined, code: 4001, message: "the user refused", data: ["method": "sign_transactions"]),
    Failing(failure: .timedOut, code: 4002, message: "nobody answered in time", data: ["method": "sign_transactions"]),
    Failing(
      failure: PortError(.wrongGroup(computed: [UInt8](repeating: 0xFF, count: 32)), "another group"), code: 4201,
      message: "the transactions do not match their group id",
      data: ["computedGroupId": "//////////////////////////////////////////8="]),
    Failing(
      failure: PortError(.notOurSigner(index: 1), "another signer"), code: 4100,
      message: "this wallet does not sign with \(ours)",
      data: ["signer": .text(ours.text)]),
    Failing(
      failure: PortError(.notOurSigner(index: 2), "another signer"), code: 4000,
      message: "the wallet failed to do this", data: nil),
    Failing(
      failure: PortError(.notUnderstood(index: 1), "too long"), code: 4200,
      message: "params.txns[1].txn is refused: too long", data: nil),
    Failing(failure: PortError(.notUnderstood(index: nil), "too much"), code: 4200, message: "too much", data: nil),
    Failing(
      failure: .unreachable("no socket at /run/user/1000"), code: 4000, message: "the wallet failed to do this",
      data: nil
    ),
  ])
  func `each failure of the authenticator has its ARC-27 error`(item: Failing) async throws {
    var fixture = try ProviderFixture(failure: item.failure)
    let said = try await fixture.ask(
      "sign_transactions", ["txns": [["txn": Self.good.text], ["txn": Self.other.text]]])
    #expect(said.code == item.code)
    #expect(said.message == item.message)
    #expect(said.data == item.data)
    #expect(await fixture.signer.asked == [.transactions([0, 1])])
  }

  @Test func `a refusal names the method`() async throws {
    for method in ["sign_message", "sign_and_post_transactions"] {
      let algod = FakeAlgod()
      var fixture = try ProviderFixture(failure: .declined, algod: algod)
      let said = try await fixture.ask(method, ["message": "a", "txns": [["txn": Self.good.text]]])
      #expect(said.code == 4001)
      #expect(said.data == ["method": .text(method)])
      #expect(await fixture.signer.asked.count == 1)
      #expect(await algod.posted == [])
    }
  }

  @Test func `only the user sees that no prompt could be shown`() async throws {
    var fixture = try ProviderFixture(failure: PortError(.declined, "no prompt could be shown"))
    let said = try await fixture.ask("sign_message", ["message": "a"])
    #expect(said.reply.error == .methodCanceled(.signMessage, reason: "no prompt could be shown"))
    #expect(said.reply.error?.description == "no prompt could be shown")
    #expect(said.message == "the user refused")
  }

  // Holds: ARC27-7
  @Test func `only the user sees why the authenticator is missing`() async throws {
    var fixture = try ProviderFixture(failure: .unreachable("no socket"))
    let said = try await fixture.ask("sign_message", ["message": "a"])
    #expect(said.reply.error == .unknown(reason: "no socket"))
    #expect(said.reply.error?.description == "the wallet failed to do this: no socket")
    #expect(said.message == "the wallet failed to do this")
  }

  // Holds: ARC27-7
  @Test func `unrequested or invalid signatures are not passed on`() async throws {
    let tampers: [@Sendable ([[UInt8]?]) -> [[UInt8]?]] = [
      { Array($0.dropLast()) }, { $0 + [nil] }, { _ in [nil, nil] }, { [$0[0], $0[0]] }, { [nil, $0[0]] },
      { [$0[0].map { Array($0.dropLast()) }, nil] }, { [$0[0].map { $0.dropLast() + [$0[63] ^ 1] }, nil] },
      { _ in [[UInt8](repeating: 0, count: 64), nil] },
    ]
    let group = try TestPayment.grouped([Self.good, Self.other])
    for tamper in tampers {
      var fixture = try ProviderFixture(tamper: tamper)
      let said = try await fixture.ask(
        "sign_transactions", ["txns": [["txn": group[0].text], ["txn": group[1].text, "signers": []]]])
      #expect(said.code == 4000)
      #expect(said.result == nil)
    }
    var fixture = try ProviderFixture { [$0[0].map { $0.dropLast() + [$0[63] ^ 1] }] }
    #expect(try await fixture.ask("sign_message", ["message": "a"]).code == 4000)
  }
}
