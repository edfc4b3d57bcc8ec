import AlgorandTransaction
import CBOR
import CryptoPrimitives
import DeterministicKeys
import Recovery
import TestVectors
import Testing

@testable import LiquidAuth

@Suite struct `ARC-27 signing` {
  // Holds: PEERARC27-1
  /// Every combination of signers in a group of one to four, in each form.
  @Test(arguments: 1...4, [Provider.SignedTransactionForm.signature, .signedTransaction])
  func `each signature is at its transaction's index; the others are null`(
    count: Int, form: Provider.SignedTransactionForm
  ) async throws {
    for pattern in 0..<(1 << count) {
      var fixture = try ProviderFixture(form: form)
      let account = fixture.account
      let group = try TestPayment.grouped((1...count).map { TestPayment(sender: account, amount: UInt8($0)) })
      let isSigned = (0..<count).map { pattern >> $0 & 1 == 1 }
      let items = zip(group, isSigned).map { payment, isSigned -> LooseCBORValue in
        isSigned ? ["txn": payment.text] : ["txn": payment.text, "signers": []]
      }
      let stxns = try #require(
        try await fixture.ask("sign_transactions", ["txns": .array(items)]).result?["stxns"]?.array)
      #expect(stxns.count == count)
      for (index, stxn) in stxns.enumerated() {
        guard isSigned[index] else {
          #expect(stxn == .null)
          continue
        }
        let bytes = try #require(stxn.text.flatMap(Base64.decode))
        let signature = form == .signature ? bytes : Array(bytes.dropFirst(7).prefix(64))
        #expect(
          Ed25519.isValidSignature(signature, for: Array("TX".utf8) + group[index].bytes, publicKey: account.publicKey))
        if form == .signedTransaction {
          #expect(try SignedTransaction(decoding: bytes).transaction.bytes == group[index].bytes)
        }
      }
      let asked = (0..<count).filter { isSigned[$0] }
      #expect(await fixture.signer.asked == (asked.isEmpty ? [] : [.transactions(asked)]))
      #expect(await fixture.signer.transactions.allSatisfy { $0.map(\.bytes) == group.map(\.bytes) })
    }
  }

  @Test func `the authenticator gets the authorized signer of a rekeyed sender`() async throws {
    var fixture = try ProviderFixture()
    let (account, stranger) = (fixture.account, fixture.stranger)
    let payments = try TestPayment.grouped([TestPayment(sender: stranger), TestPayment(sender: account)])
    _ = try await fixture.ask(
      "sign_transactions",
      [
        "txns": [
          ["txn": payments[0].text, "authAddr": .text(account.text)],
          ["txn": payments[1].text, "authAddr": .text(stranger.text), "signers": []],
        ]
      ])
    #expect(
      await fixture.signer.transactions == [
        [
          TransactionToSign(bytes: payments[0].bytes, isToBeSigned: true, authAddr: account),
          TransactionToSign(bytes: payments[1].bytes, isToBeSigned: false),
        ]
      ])
  }

  // Holds: PEERARC27-4
  @Test func `a message is passed to the authenticator as UTF-8 without a prefix`() async throws {
    var fixture = try ProviderFixture()
    for message in ["a", "TX", "\u{65}\u{301}", String(repeating: "\u{e9}", count: 512)] {
      let result = try #require(try await fixture.ask("sign_message", ["message": .text(message)]).result)
      let signature = try #require(result["signature"]?.text.flatMap(Base64.decode))
      #expect(
        Ed25519.isValidSignature(
          signature, for: Array("MX".utf8) + message.utf8, publicKey: fixture.account.publicKey))
      #expect(await fixture.signer.messages.last == Array(message.utf8))
    }
  }

  @Test func `the dApp's messages about transactions are not passed on`() async throws {
    var fixture = try ProviderFixture()
    let payment = TestPayment(sender: fixture.account)
    let item: LooseCBORValue = [
      "txn": payment.text, "message": "a gift", "groupMessage": "for you", "_hint": .float(1),
    ]
    #expect(try await fixture.ask("sign_transactions", ["txns": [item]]).result != nil)
    #expect(await fixture.signer.transactions == [[TransactionToSign(bytes: payment.bytes, isToBeSigned: true)]])
  }

  @Test func `requests are answered in sequence, each with its own id`() async throws {
    var fixture = try ProviderFixture()
    let payment = TestPayment(sender: fixture.account)
    var ids: Set<String> = []
    for _ in 0..<5 {
      let said = try await fixture.ask("sign_transactions", ["txns": [["txn": payment.text]]])
      ids.insert(try #require(said.members["id"]?.text))
    }
    #expect(ids.count == 5)
    #expect(await fixture.signer.asked.count == 5)
  }

  // Holds: PEERARC27-2
  @Test(arguments: ["x", "\u{65}\u{301}", "\u{1F511}\n", "01936B5E-7C3A-7DEF-8123-456789ABCDEF", "7"])
  func `a request id is returned byte for byte`(id: String) async throws {
    var fixture = try ProviderFixture()
    let frame = ARC27Frame.encode(["id": .text(id), "reference": "arc0027:discover:request"])
    let said = try Said(await fixture.provider.answer(frame))
    #expect(said.members["requestId"]?.text.map { Array($0.utf8) } == Array(id.utf8))
  }
}

@Suite struct `ARC-27 sessions` {
  @Test func `a network keeps one session until disable`() async throws {
    var fixture = try ProviderFixture()
    let first = try #require(try await fixture.ask("enable").result?["sessionId"]?.text)
    #expect(try await fixture.ask("enable").result?["sessionId"] == .text(first))
    let other: LooseCBORValue = ["genesisHash": .text(fixture.vectors.networks[1].genesisHash.text)]
    let second = try #require(try await fixture.ask("enable", other).result?["sessionId"]?.text)
    #expect(second != first)

    #expect(try await fixture.ask("disable", ["sessionIds": [.text(second)]]).result?["sessionIds"] == [])
    #expect(
      try await fixture.ask("disable", ["sessionIds": ["x", .text(first)]]).result?["sessionIds"] == [.text(first)])
    #expect(try await fixture.ask("disable").result?["sessionIds"] == [])
    #expect(try await fixture.ask("enable").result?["sessionId"]?.text != first)
    #expect(try await fixture.ask("disable", other).result?["sessionIds"] == [.text(second)])
    #expect(await fixture.signer.asked == [])
  }

  @Test func `only a network with a node has the posting methods`() async throws {
    let plain = ["enable", "disable", "sign_transactions", "sign_message"]
    for (algod, methods) in [(nil, plain), (FakeAlgod(), plain + ["post_transactions", "sign_and_post_transactions"])] {
      var fixture = try ProviderFixture(algod: algod)
      let networks = try #require(try await fixture.ask("discover").result?["networks"]?.array)
      #expect(networks.map { $0.map?["methods"]?.array?.compactMap(\.text) } == [methods, methods])
    }
  }

  @Test func `hello gets the account and the methods, and what the dApp says is its own word`() async throws {
    var fixture = try ProviderFixture()
    let frame = ARC27Frame.encode([
      "id": "1", "reference": "biatec:hello:request",
      "params": ["providerId": "p", "metadata": ["name": "Shop", "url": "https://shop.example", "icons": []]],
    ])
    let said = try Said(await fixture.provider.answer(frame))
    #expect(said.members["reference"] == "biatec:hello:response" && said.reply.error == nil)
    #expect(said.result?["wallet"] == .text(fixture.account.text))
    #expect(said.result?["name"] == "Liquid Auth for Linux")
    #expect(said.result?["methods"]?.array?.contains("arc0027:sign_transactions") == true)
    #expect(said.result?["methods"]?.array?.contains("arc0027:post_transactions") == false, "there is no node")
    #expect(said.reply.introduction?.name == "Shop" && said.reply.introduction?.url == "https://shop.example")
    let bare = ARC27Frame.encode(["id": "1", "reference": "biatec:hello:request"])
    #expect(try Said(await fixture.provider.answer(bare)).reply.introduction == nil)
    let long = ARC27Frame.encode([
      "id": "1", "reference": "biatec:hello:request",
      "params": ["metadata": ["name": .text(String(repeating: "x", count: 1025)), "url": "https://shop.example"]],
    ])
    let introduction = try Said(await fixture.provider.answer(long)).reply.introduction
    #expect(introduction?.name == "" && introduction?.url == "https://shop.example")
  }
}
