import CBOR
import CryptoPrimitives
import DeterministicKeys
import Recovery
import TestVectors

@testable import AlgorandStatements
@testable import AlgorandTransaction
@testable import LiquidAuth

/// What dApps send: requests of ARC-27, transactions, and the extension `liquid`.
enum DAppTargets {
  static let all: [Target] = [
    Target(
      "arc27", of: "a message of a dApp: a byte that is odd for text, and the message", atMost: 4096, words: arc27Words,
      seeds: {
        let ac2 = Array(#"{"type":"ac2/SigningRequest","id":"m","thid":"t","from":"did:web:a"}"#.utf8)
        let page: LooseCBORValue = ["metadata": ["name": "A", "url": "https://a.example"]]
        let hello = LooseCBOREncoder.encode(["id": "1", "reference": "biatec:hello:request", "params": page])
        var seeds: [[UInt8]] = [[1] + ac2, [0] + hello]
        for frame in try Vector("arc27").answered.array.map(\.frame.text) {
          seeds.append([1] + Array(frame.utf8))
          seeds.append([0] + (Base64.decode(frame) ?? []))
        }
        return seeds
      }, read: readMessage),
    Target(
      "transaction", of: "a transaction in msgpack", atMost: 4096, words: transactionWords,
      seeds: { try Vector("algorand-transactions").transactions.array.map(\.["bytes"].bytes) }, read: readTransaction),
    Target(
      "signed-transaction", of: "a signed transaction in msgpack", atMost: 4096, words: transactionWords,
      seeds: {
        let vectors = try Vector("algorand-transactions")
        return vectors.transactions.array.map(\.signed.bytes) + vectors.signedInOtherWays.array.map(\.["bytes"].bytes)
      }, read: readSignedTransaction),
    Target(
      "liquid-extension", of: "client data of the extension liquid", atMost: 600,
      words: [
        #"{"type":"webauthn.create","challenge":""#, #"{"type":"webauthn.get","challenge":""#, #"","origin":""#,
        #","crossOrigin":false}"#, "https://", "http://localhost", ".example.com", ":443",
      ],
      seeds: {
        try Vector("keys-and-recovery").liquid.accepted.array.compactMap { $0.clientDataJSON.optional?.json?.text }
          .map { Array($0.utf8) }
      }, read: readClientData),
  ]

  // MARK: - ARC-27

  private struct Signer: TransactionSigner {
    let key: Ed25519.PrivateKey

    func sign(_ transactions: [TransactionToSign], origin: String) async throws(PortError) -> [[UInt8]?] {
      expect((1...16).contains(transactions.count), "\(transactions.count) transactions")
      expect(transactions.contains(where: \.isToBeSigned), "no transaction is to be signed")
      return transactions.map { $0.isToBeSigned ? (try? key.signature(for: Array("TX".utf8) + $0.bytes)) : nil }
    }

    func sign(message: [UInt8], origin: String) async throws(PortError) -> [UInt8] {
      expect((1...Provider.maximumMessageSize).contains(message.count), "a message of \(message.count) bytes")
      return (try? key.signature(for: Array("MX".utf8) + message)) ?? []
    }
  }

  /// A node that accepts everything.
  private struct Node: AlgodPort {
    func post(_ signedTransactions: [UInt8]) async throws(PortError) {
      expect(!signedTransactions.isEmpty, "nothing is posted")
    }
  }

  private static let provider: Provider = constant {
    let vectors = try Vector("arc27")
    guard let account = AlgorandAddress(text: Array(vectors.account.text.utf8)) else {
      throw CBORError.missing("account")
    }
    let networks = vectors.networks.array.map {
      Provider.Network(genesisHash: $0.genesisHash.base64, genesisID: $0.genesisId.text, algod: Node())
    }
    return Provider(
      Provider.Configuration(name: "Liquid Auth", account: account, networks: networks, origin: "https://dapp.example"),
      signer: Signer(key: try Ed25519.PrivateKey(seed: secret(vectors.seed.bytes))), randomness: FixedRandomness())
  }

  private static func readMessage(_ input: [UInt8]) throws {
    let content = Array(input.dropFirst())
    let message: PeerMessage =
      (input.first ?? 0) & 1 == 1 ? .text(String(decoding: content, as: UTF8.self)) : .binary(content)
    let isFrame = PeerChannel.isFrame(message)
    expect(!isFrame || !PeerChannel.isUnfinishedFrame(message), "a whole frame counts as unfinished")
    let answer = try wait {
      var provider = Self.provider
      return await provider.answer(message)
    }
    guard case .reply(let reply) = answer else { return }
    if let ac2 = AC2Message(message) {
      // A refusal is JSON, and wants no answer itself.
      expect(reply.method == ac2.type && reply.error == .methodNotSupported(ac2.type), "no refusal")
      expect(AC2Message(reply.frame) == nil, "a refusal that wants an answer")
      return
    }
    expect(isFrame, "an answer to a message that is no frame")
    let members = try ARC27Frame.decode(reply.frame)
    let request = try ARC27Envelope(ARC27Frame.decode(message))
    expect(members["requestId"]?.text == request.id, "another request is answered")
    expect(members["reference"]?.text == "\(ARC27Reference(request.method, .response))", "another reference")
    expect((members["result"] == nil) == (reply.error != nil), "a result and an error")
    expect((members["error"] != nil) == (reply.error != nil), "neither a result nor an error")
  }

  private static let arc27Words = [
    "id", "reference", "params", "arc0027:", "arc0060:", ":request", "discover", "enable", "disable",
    "sign_transactions", "sign_and_post_transactions", "post_transactions", "sign_message", "genesisHash", "providerId",
    "txns", "txn",
    "stxns",
    "stxn", "signers", "authAddr", "msig", "message", "groupMessage", "signer", "sessionIds", "biatec:hello",
    "metadata", "ac2/SigningRequest", "\"type\":", "\"thid\":", "\"from\":",
  ]

  // MARK: - Transactions

  private static let account = AlgorandAddress(publicKey: [UInt8](repeating: 1, count: 32))

  private static func readTransaction(_ input: [UInt8]) throws {
    if let value = try? MessagePackDecoder.decode(input) {
      expect(value.encoded == input, "bytes that are not canonical were read")
    }
    guard let transaction = try? Transaction(decoding: input) else { return }
    expect(transaction.bytes == input && transaction.id.utf8.count == 52, "another transaction")
    expect(!transaction.summary.isEmpty, "a transaction without a summary")
    // A transaction of a group alone is refused.
    guard let group = try? TransactionGroup([transaction]) else { return }
    let lines = GroupSummary(group, isSigned: [true], account: account)
    expect(lines.each.count == 1, "\(lines.each.count) summaries of one transaction")
  }

  private static func readSignedTransaction(_ input: [UInt8]) throws {
    guard let signed = try? SignedTransaction(decoding: input) else { return }
    expect(signed.bytes == input, "other bytes")
    let again = try Transaction(decoding: signed.transaction.bytes)
    expect(again == signed.transaction && again.id == signed.transaction.id, "another transaction")
    let joined = SignedTransaction(again, signature: [UInt8](repeating: 1, count: 64), signer: account)
    expect(try SignedTransaction(decoding: joined.bytes) == joined, "another signed transaction")
  }

  private static let transactionWords = [
    "\u{A3}amt", "fee", "snd", "rcv", "type", "pay", "axfer", "acfg", "afrz", "appl", "keyreg", "gen", "gh", "grp",
    "lx",
    "note", "rekey", "close", "aamt", "xaid", "asnd", "arcv", "aclose", "caid", "apar", "faid", "fadd", "afrz", "apid",
    "apan", "apat", "apaa", "apas", "apfa", "apbx", "apgs", "apls", "apap", "apsu", "votekey", "selkey", "votefst",
    "votelst", "votekd", "nonpart", "txn", "sig", "msig", "lsig", "sgnr", "testnet-v1.0",
  ]

  // MARK: - The extension liquid

  private static func readClientData(_ input: [UInt8]) throws {
    for ceremony in [LiquidRequest.Ceremony.create, .get] {
      let context = LiquidRequest.Context(
        ceremony: ceremony, rpID: "example.com", clientDataHash: SHA256.hash(input), userPresence: true,
        userVerification: true)
      guard let request = try? LiquidRequest(["clientDataJSON": .bytes(input)], in: context) else { continue }
      guard case .challenge(let challenge, let origin) = request.form else { fatalError("the bound form") }
      let isSigned = challenge.count == 32 && !LiquidReservedTags.isPrefix(of: challenge)
      expect(isSigned, "a challenge that must not be signed")
      expect(request.signingInput(credentialID: [1]) == challenge, "other bytes are signed")
      let host = origin.dropFirst("https://".count).prefix { $0 != ":" }
      expect(
        origin.hasPrefix("https://") && (host == "example.com" || host.hasSuffix(".example.com")),
        "the origin \(origin)")
    }
  }
}
