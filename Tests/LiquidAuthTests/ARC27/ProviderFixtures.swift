import AlgorandTransaction
import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestVectors
import Testing

@testable import LiquidAuth

/// `arc27.json`: frames as cbor-x writes them, and the answers, made by `judges/arc27.py`.
struct ARC27Vectors: Decodable {
  struct Network: Decodable {
    let genesisHash: String
    let genesisId: String
  }
  struct Answered: Decodable, Sendable, CustomStringConvertible {
    let name: String
    let frame: String
    let reply: String
    let asks: [Asked]
    let form: String?
    var description: String { name }
  }
  /// The transactions of one question to the authenticator, or the word `message`.
  enum Asked: Decodable, Equatable {
    case transactions([Int])
    case message

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let indexes = try? container.decode([Int].self) {
        self = .transactions(indexes)
      } else {
        _ = try container.decode(String.self)
        self = .message
      }
    }
  }

  let seed: Hex
  let account: String
  let stranger: String
  let networks: [Network]
  let answered: [Answered]

  static func load() throws -> ARC27Vectors { try VectorFile("arc27").decode(ARC27Vectors.self) }
}

/// An authenticator with one account: it signs what it is asked to, unless it is told to fail, and remembers everything.
actor FakeSigner: TransactionSigner {
  private let key: Ed25519.PrivateKey
  private let failure: TransactionSignerFailure?
  /// What is done to the signatures before they are given back.
  private let tamper: @Sendable ([[UInt8]?]) -> [[UInt8]?]
  private(set) var asked: [ARC27Vectors.Asked] = []
  private(set) var transactions: [[TransactionToSign]] = []
  private(set) var messages: [[UInt8]] = []
  private(set) var origins: Set<String> = []

  init(
    seed: [UInt8], failure: TransactionSignerFailure? = nil,
    tamper: @escaping @Sendable ([[UInt8]?]) -> [[UInt8]?] = { $0 }
  ) throws {
    key = try Ed25519.PrivateKey(seed: seed.withUnsafeBytes { SecretBytes(copying: $0) })
    (self.failure, self.tamper) = (failure, tamper)
  }

  func sign(
    _ transactions: [TransactionToSign], origin: String
  ) async throws(TransactionSignerFailure) -> [[UInt8]?] {
    asked.append(.transactions(transactions.indices.filter { transactions[$0].isToBeSigned }))
    self.transactions.append(transactions)
    origins.insert(origin)
    if let failure { throw failure }
    return tamper(transactions.map { $0.isToBeSigned ? key.signature(for: Array("TX".utf8) + $0.bytes) : nil })
  }

  func sign(message: [UInt8], origin: String) async throws(TransactionSignerFailure) -> [UInt8] {
    asked.append(.message)
    messages.append(message)
    origins.insert(origin)
    if let failure { throw failure }
    return tamper([key.signature(for: Array("MX".utf8) + message)])[0] ?? []
  }
}

/// A node that takes what it is given, but for those calls that it is told to fail.
actor FakeAlgod: AlgodPort {
  private let failures: [Int: AlgodFailure]
  private(set) var posted: [[UInt8]] = []

  init(failures: [Int: AlgodFailure] = [:]) { self.failures = failures }

  func post(_ signedTransactions: [UInt8]) async throws(AlgodFailure) {
    posted.append(signedTransactions)
    if let failure = failures[posted.count - 1] { throw failure }
  }
}

/// Bytes that count from 0.
struct AscendingBytes: RandomNumberGenerator {
  var state: UInt64 = 0
  mutating func next() -> UInt64 {
    defer { state += 1 }
    return state
  }
}

/// One channel of the vectors' account, and a dApp that writes requests.
struct ProviderFixture {
  static let origin = "https://dapp.example"
  let vectors: ARC27Vectors
  let account: AlgorandAddress
  let stranger: AlgorandAddress
  let signer: FakeSigner
  var provider: Provider

  init(
    form: Provider.SignedTransactionForm = .signature, failure: TransactionSignerFailure? = nil,
    algod: (any AlgodPort)? = nil, tamper: @escaping @Sendable ([[UInt8]?]) -> [[UInt8]?] = { $0 }
  ) throws {
    vectors = try ARC27Vectors.load()
    account = try #require(AlgorandAddress(text: Array(vectors.account.utf8)))
    stranger = try #require(AlgorandAddress(text: Array(vectors.stranger.utf8)))
    signer = try FakeSigner(seed: vectors.seed.bytes, failure: failure, tamper: tamper)
    let networks = try vectors.networks.map {
      Provider.Network(
        genesisHash: try #require(Base64.decode($0.genesisHash)), genesisID: $0.genesisId, algod: algod)
    }
    provider = Provider(
      Provider.Configuration(
        name: "Liquid Auth for Linux", host: "https://liquid-auth.example", account: account, accountName: "Account 0",
        networks: networks, origin: Self.origin, signedTransactionForm: form),
      signer: signer, randomness: AscendingBytes())
  }
}
