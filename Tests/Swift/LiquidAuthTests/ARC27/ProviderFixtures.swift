import AlgorandTransaction
import CBOR
import CryptoPrimitives
import DeterministicKeys
import Recovery
import TestVectors
import Testing

@testable import LiquidAuth

/// The vectors in `arc27.json`, made by `judges/arc27.py`: frames as cbor-x writes them, and the answers.
enum ARC27Vectors {
  static func load() throws -> Vector { try Vector("arc27") }

  /// The requests to the authenticator in a case.
  static func asks(_ vector: Vector) -> [FakeSigner.Asked] {
    vector.asks.array.map { asked in
      asked.json == "message" ? .message : .transactions(asked.array.map { $0.integer() })
    }
  }
}

/// An authenticator with one account, which records and signs every request, unless it is set to fail.
actor FakeSigner: TransactionSigner {
  /// A request: the indices of the transactions to sign, or a message.
  enum Asked: Equatable {
    case transactions([Int])
    case message
  }

  private let key: Ed25519.PrivateKey
  private let failure: PortError?
  /// Changes the signatures before they are returned.
  private let tamper: @Sendable ([[UInt8]?]) -> [[UInt8]?]
  private(set) var asked: [Asked] = []
  private(set) var transactions: [[TransactionToSign]] = []
  private(set) var messages: [[UInt8]] = []
  private(set) var origins: Set<String> = []

  init(
    seed: [UInt8], failure: PortError? = nil,
    tamper: @escaping @Sendable ([[UInt8]?]) -> [[UInt8]?] = { $0 }
  ) throws {
    key = try Ed25519.PrivateKey(seed: seed.withUnsafeBytes { SecretBytes(copying: $0) })
    (self.failure, self.tamper) = (failure, tamper)
  }

  func sign(
    _ transactions: [TransactionToSign], origin: String
  ) async throws(PortError) -> [[UInt8]?] {
    asked.append(.transactions(transactions.indices.filter { transactions[$0].isToBeSigned }))
    self.transactions.append(transactions)
    origins.insert(origin)
    if let failure { throw failure }
    return tamper(transactions.map { $0.isToBeSigned ? (try? key.signature(for: Array("TX".utf8) + $0.bytes)) : nil })
  }

  func sign(message: [UInt8], origin: String) async throws(PortError) -> [UInt8] {
    asked.append(.message)
    messages.append(message)
    origins.insert(origin)
    if let failure { throw failure }
    return tamper([try? key.signature(for: Array("MX".utf8) + message)])[0] ?? []
  }
}

/// A node that accepts everything except in calls that are set to fail.
actor FakeAlgod: AlgodPort {
  private let failures: [Int: PortError]
  private(set) var posted: [[UInt8]] = []

  init(failures: [Int: PortError] = [:]) { self.failures = failures }

  func post(_ signedTransactions: [UInt8]) async throws(PortError) {
    posted.append(signedTransactions)
    if let failure = failures[posted.count - 1] { throw failure }
  }
}

/// A generator that counts from 0.
struct AscendingBytes: RandomNumberGenerator {
  var state: UInt64 = 0
  mutating func next() -> UInt64 {
    defer { state += 1 }
    return state
  }
}

/// A provider for the vectors' account, and its requests.
struct ProviderFixture {
  static let origin = "https://dapp.example"
  let vectors: Vector
  let account: AlgorandAddress
  let stranger: AlgorandAddress
  let signer: FakeSigner
  var provider: Provider

  init(
    form: Provider.SignedTransactionForm = .signature, failure: PortError? = nil,
    algod: (any AlgodPort)? = nil, tamper: @escaping @Sendable ([[UInt8]?]) -> [[UInt8]?] = { $0 }
  ) throws {
    vectors = try ARC27Vectors.load()
    account = try #require(AlgorandAddress(text: Array(vectors.account.text.utf8)))
    stranger = try #require(AlgorandAddress(text: Array(vectors.stranger.text.utf8)))
    signer = try FakeSigner(seed: vectors.seed.bytes, failure: failure, tamper: tamper)
    let networks = vectors.networks.array.map {
      Provider.Network(
        genesisHash: $0.genesisHash.base64, genesisID: $0.genesisId.text, algod: algod)
    }
    provider = Provider(
      Provider.Configuration(
        name: "Liquid Auth for Linux", host: "https://liquid-auth.example", account: account, accountName: "Account 0",
        networks: networks, origin: Self.origin, signedTransactionForm: form),
      signer: signer, randomness: AscendingBytes())
  }
}

extension ProviderFixture {
  /// The id of every request.
  static let requestID = "7d444840-9dc0-4bd9-a1f5-22f1b2c1b7a1"

  /// The frame of a request.
  static func frame(_ method: String, _ params: LooseCBORValue = .null) -> String {
    ARC27Frame.encode([
      "id": .text(requestID), "reference": .text("arc0027:\(method):request"), "params": params,
    ])
  }

  /// Sends a request and returns the answer.
  mutating func ask(_ method: String, _ params: LooseCBORValue = .null) async throws -> Said {
    try Said(await provider.answer(Self.frame(method, params)))
  }
}

extension Provider {
  /// Answers a text frame.
  mutating func answer(_ frame: String) async -> Answer { await answer(.text(frame)) }
}

/// A decoded answer.
struct Said {
  let reply: Provider.Reply
  let members: [LooseCBORName: LooseCBORValue]

  init(_ answer: Provider.Answer) throws {
    guard case .reply(let reply) = answer else { throw CBORError.missing("an answer") }
    self.reply = reply
    members = try ARC27Frame.decode(reply.frame)
  }

  var result: [LooseCBORName: LooseCBORValue]? { members["result"]?.map }
  var error: [LooseCBORName: LooseCBORValue]? { members["error"]?.map }
  var data: LooseCBORValue? { error?["data"] }
  var message: String? { error?["message"]?.text }
  var code: Int? {
    guard case .unsigned(let code) = error?["code"] else { return nil }
    return Int(code)
  }
}

/// A payment in canonical msgpack on the first network of the vectors.
struct TestPayment {
  let sender: AlgorandAddress
  var amount: UInt8 = 1
  var note: [UInt8] = []
  var group: [UInt8]?
  var genesisHash = Base64.decode("SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=") ?? []

  var bytes: [UInt8] {
    func key(_ name: String) -> [UInt8] { [0xA0 | UInt8(name.utf8.count)] + name.utf8 }
    func member(_ name: String, _ content: [UInt8]) -> [UInt8] { key(name) + [0xC4, UInt8(content.count)] + content }
    let amounts: [UInt8] = key("amt") + [amount] + key("fee") + [0xCD, 0x03, 0xE8] + key("fv") + [10]
    let network: [UInt8] = member("gh", genesisHash) + (group.map { member("grp", $0) } ?? []) + key("lv") + [20]
    let noted = note.isEmpty ? [] : key("note") + [0xC5, UInt8(note.count >> 8), UInt8(note.count & 0xFF)] + note
    let parties: [UInt8] = member("rcv", sender.publicKey) + member("snd", sender.publicKey)
    let count = 8 + (group == nil ? 0 : 1) + (note.isEmpty ? 0 : 1)
    return [0x80 | UInt8(count)] + amounts + network + noted + parties + key("type") + key("pay")
  }

  var text: LooseCBORValue { .text(Base64URL.encode(bytes)) }

  /// The payments as one group.
  static func grouped(_ payments: [TestPayment]) throws -> [TestPayment] {
    let id = TransactionGroup.id(of: try payments.map { try Transaction(decoding: $0.bytes) })
    return payments.map { TestPayment(sender: $0.sender, amount: $0.amount, group: id) }
  }

  /// The payment as a signed transaction with a dummy signature.
  var signed: [UInt8] {
    let signature = [0xA3] + Array("sig".utf8) + [0xC4, 64] + [UInt8](repeating: 7, count: 64)
    return [0x82] + signature + [0xA3] + Array("txn".utf8) + bytes
  }
}
