import AlgorandTransaction
import CBOR
import CryptoPrimitives
import DeterministicKeys
import Testing

@testable import LiquidAuth

@Suite struct `ARC-27 posting` {
  private func text(_ bytes: [UInt8]) -> LooseCBORValue { .text(Base64.encode(bytes)) }

  private func id(_ payment: TestPayment) throws -> LooseCBORValue {
    .text(try Transaction(decoding: payment.bytes).id)
  }

  /// A group of two, two transactions without a group, and a group of two.
  private func payments(_ fixture: ProviderFixture) throws -> [TestPayment] {
    let (ours, stranger) = (fixture.account, fixture.stranger)
    let first = try TestPayment.grouped([TestPayment(sender: ours), TestPayment(sender: stranger)])
    let last = try TestPayment.grouped([TestPayment(sender: stranger), TestPayment(sender: ours)])
    return first + [TestPayment(sender: ours, amount: 8), TestPayment(sender: stranger, amount: 9)] + last
  }

  @Test func `each group is posted together, any other transaction alone`() async throws {
    let algod = FakeAlgod()
    var fixture = try ProviderFixture(algod: algod)
    let payments = try payments(fixture)
    let said = try await fixture.ask("post_transactions", ["stxns": .array(payments.map { text($0.signed) })])
    #expect(said.result?["txnIDs"] == .array(try payments.map(id)))
    let signed = payments.map(\.signed)
    #expect(await algod.posted == [signed[0] + signed[1], signed[2], signed[3], signed[4] + signed[5]])
    #expect(await fixture.signer.asked == [])
  }

  // Holds: ARC27-8
  @Test func `a rejected transaction is null in error 4300, and the next one is still posted`() async throws {
    let words = String(repeating: "no", count: 300)
    let algod = FakeAlgod(failures: [0: .refused(words), 2: .unreachable("at 10.0.0.7"), 3: .timedOut])
    var fixture = try ProviderFixture(algod: algod)
    let payments = try payments(fixture)
    let said = try await fixture.ask("post_transactions", ["stxns": .array(payments.map { text($0.signed) })])
    #expect(said.code == 4300)
    #expect(said.data == ["successTxnIDs": [.null, .null, try id(payments[2]), .null, .null, .null]])
    #expect(
      said.message == "the network did not accept all transactions; rejected: \(words.prefix(500)); "
        + "the wallet's node cannot be reached; no answer in time")
    #expect(said.reply.error?.description.contains("at 10.0.0.7") == true)
    #expect(await algod.posted.count == 4)
  }

  @Test func `an empty list is answered without posting`() async throws {
    let algod = FakeAlgod()
    var fixture = try ProviderFixture(algod: algod)
    #expect(try await fixture.ask("post_transactions", ["stxns": []]).result?["txnIDs"] == [])
    #expect(try await fixture.ask("sign_and_post_transactions", ["txns": []]).result?["txnIDs"] == [])
    #expect(await algod.posted == [])
  }

  @Test func `own signed transactions are posted with those of others`() async throws {
    let algod = FakeAlgod()
    var fixture = try ProviderFixture(algod: algod)
    let group = Array(try payments(fixture).prefix(2))
    let said = try await fixture.ask(
      "sign_and_post_transactions",
      ["txns": [["txn": group[0].text], ["txn": group[1].text, "signers": [], "stxn": text(group[1].signed)]]])
    #expect(said.result?["txnIDs"] == .array(try group.map(id)))
    #expect(said.result?["stxns"] == nil)
    let posted = try #require(await algod.posted.first)
    #expect(Array(posted.suffix(group[1].signed.count)) == group[1].signed)
    let ours = try SignedTransaction(decoding: posted.dropLast(group[1].signed.count))
    #expect(ours.transaction.bytes == group[0].bytes)
    #expect(await fixture.signer.asked == [.transactions([0])])
  }

  @Test func `signed but rejected transactions give error 4300`() async throws {
    let algod = FakeAlgod(failures: [0: .refused("overspend")])
    var fixture = try ProviderFixture(algod: algod)
    let said = try await fixture.ask(
      "sign_and_post_transactions", ["txns": [["txn": TestPayment(sender: fixture.account).text]]])
    #expect(said.code == 4300)
    #expect(said.data == ["successTxnIDs": [.null]])
    #expect(said.message == "the network did not accept all transactions; rejected: overspend")
  }

  // Holds: PEERARC27-5
  @Test func `an unknown network, or one without a node, is refused without a prompt`() async throws {
    let algod = FakeAlgod()
    var fixture = try ProviderFixture(algod: algod)
    let foreign = TestPayment(sender: fixture.account, genesisHash: [UInt8](repeating: 1, count: 32))
    for (method, params) in [
      ("post_transactions", ["stxns": [text(foreign.signed)]] as LooseCBORValue),
      ("sign_and_post_transactions", ["txns": [["txn": foreign.text]]]),
    ] {
      let said = try await fixture.ask(method, params)
      #expect(said.code == 4004)
      #expect(said.data == ["genesisHash": .text(Base64.encode(foreign.genesisHash))])
    }

    let nodeless = Provider.Network(genesisHash: foreign.genesisHash, genesisID: "private")
    let known = fixture.provider.configuration
    fixture.provider = Provider(
      Provider.Configuration(
        name: known.name, account: known.account, networks: known.networks + [nodeless], origin: known.origin),
      signer: fixture.signer, randomness: AscendingBytes())
    for (method, params) in [
      ("post_transactions", ["stxns": [text(foreign.signed)]] as LooseCBORValue),
      ("sign_and_post_transactions", ["txns": [["txn": foreign.text]]]),
    ] {
      let said = try await fixture.ask(method, params)
      #expect(said.code == 4003)
      #expect(said.data == ["method": .text(method)])
    }
    #expect(await fixture.signer.asked == [])
    #expect(await algod.posted == [])
  }
}

@Suite struct `A node over HTTP` {
  actor FakeHTTP: HTTPPort {
    let answer: Result<HTTPResponse, PortError>
    private(set) var requests: [HTTPRequest] = []
    init(_ answer: Result<HTTPResponse, PortError>) { self.answer = answer }
    func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
      requests.append(request)
      return try answer.get()
    }
  }

  @Test func `transactions are posted to the endpoint of algod`() async throws {
    let http = FakeHTTP(.success(HTTPResponse(status: 200, body: Array("{\"txId\":\"A\"}".utf8))))
    try await AlgodClient(url: "https://node.example/", token: "aaaa", http: http).post([1, 2])
    try await AlgodClient(url: "https://node.example/algod", http: http).post([3])
    let type = HTTPHeader("Content-Type", "application/x-binary")
    #expect(
      await http.requests == [
        HTTPRequest(
          method: .post, url: "https://node.example/v2/transactions",
          headers: [type, HTTPHeader("X-Algo-API-Token", "aaaa")], body: [1, 2]),
        HTTPRequest(method: .post, url: "https://node.example/algod/v2/transactions", headers: [type], body: [3]),
      ])
  }

  // Holds: ARC27-8
  @Test(arguments: [
    (400, "{\"message\":\"overspend\"}", PortError.refused("overspend")),
    (400, "<html>", .refused("no reason given")), (400, "", .refused("no reason given")),
    (401, "{\"message\":\"token\"}", .broken("it answered HTTP 401")),
    (301, "", .broken("it answered HTTP 301")),
    (500, "{\"message\":\"x\"}", .broken("it answered HTTP 500")), (201, "", .broken("it answered HTTP 201")),
  ])
  func `only 200 is success, and only 400 is a rejection`(status: Int, body: String, failure: PortError) async {
    let http = FakeHTTP(.success(HTTPResponse(status: status, body: Array(body.utf8))))
    await #expect(throws: failure) { try await AlgodClient(url: "https://node.example", http: http).post([1]) }
  }

  @Test func `an answer without an amount is not an account without ALGO`() async throws {
    let account = AlgorandAddress(publicKey: [UInt8](repeating: 1, count: 32))
    func node(_ body: String) -> AlgodClient {
      AlgodClient(
        url: "https://node.example", http: FakeHTTP(.success(HTTPResponse(status: 200, body: Array(body.utf8)))))
    }
    let (microalgos, signer) = try await node("{\"amount\":0}").state(of: account)
    #expect(microalgos == 0 && signer == account)
    #expect(try await node("{}").signer(of: account) == account)
    await #expect(throws: PortError.broken("its answer is not that of a node")) {
      try await node("{}").state(of: account)
    }
  }

  @Test(arguments: [
    PortError.timedOut, .unreachable("refused"), .untrusted("expired"), .broken("reset"), .tooLarge,
  ])
  func `an unreachable node has its own error`(failure: PortError) async {
    let http = FakeHTTP(.failure(failure))
    await #expect(throws: failure) { try await AlgodClient(url: "https://node.example", http: http).post([1]) }
  }
}
