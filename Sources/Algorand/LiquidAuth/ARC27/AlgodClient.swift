public import AlgorandTransaction
import CryptoPrimitives
public import DeterministicKeys

/// The port to a node of one Algorand network.
public protocol AlgodPort: Sendable {
  /// Sends signed transactions to the network: one whole group, or one transaction without a group.
  ///
  /// A refusal of the node is ``PortError/refused(_:)``, with the node's message.
  ///
  /// - Parameter signedTransactions: their canonical msgpack, concatenated.
  func post(_ signedTransactions: [UInt8]) async throws(PortError)
}

/// A node over HTTP: algod's REST API, `POST /v2/transactions`.
public struct AlgodClient: AlgodPort {
  /// The most bytes of an answer: an id, or a sentence.
  private static let maximumAnswerSize = 65_536

  private let url: String
  private let token: String?
  private let http: any HTTPPort

  /// Takes a node's address.
  ///
  /// - Parameters:
  ///   - url: `https:`, or, on loopback only, `http:`; without `/v2`.
  ///   - token: the value of `X-Algo-API-Token`; public nodes need none.
  public init(url: String, token: String? = nil, http: any HTTPPort) {
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.token = token
    self.http = http
  }

  /// Posts one whole group, or one transaction; status 200 means accepted, 400 refused.
  public func post(_ signedTransactions: [UInt8]) async throws(PortError) {
    let request = HTTPRequest(
      method: .post, url: url + "/v2/transactions",
      headers: [HTTPHeader("Content-Type", "application/x-binary")] + authorization, body: signedTransactions)
    let response = try await http.send(request, maximumBodySize: Self.maximumAnswerSize)
    switch response.status {
    case 200: return
    case 400: throw .refused(Refusal.message(in: response.body) ?? "no reason given")
    default: throw .broken("it answered HTTP \(response.status)")
    }
  }

  private var authorization: [HTTPHeader] { token.map { [HTTPHeader("X-Algo-API-Token", $0)] } ?? [] }

  /// How many rounds a new transaction is valid: the most that the network allows.
  private static let validRounds: UInt64 = 1000

  /// `GET /v2/transactions/params`: what a new transaction needs, with the least fee.
  public func transactionParameters() async throws(PortError) -> TransactionParameters {
    let answer: Parameters = try await get("/v2/transactions/params")
    guard let hash = Base64.decode(answer.genesisHash), hash.count == 32,
      answer.lastRound <= UInt64.max - Self.validRounds
    else { throw .broken("its answer is not that of a node") }
    return TransactionParameters(
      fee: answer.minFee, firstValid: answer.lastRound, lastValid: answer.lastRound + Self.validRounds,
      genesisID: answer.genesisID, genesisHash: hash)
  }

  /// `GET /v2/accounts/ADDRESS`: the address of the key that controls the account.
  public func signer(of account: AlgorandAddress) async throws(PortError) -> AlgorandAddress {
    try await answer(about: account).signer(of: account)
  }

  /// `GET /v2/accounts/ADDRESS`: the microalgos of the account, and the address of the key that controls it.
  public func state(of account: AlgorandAddress) async throws(PortError) -> (
    microalgos: UInt64, signer: AlgorandAddress
  ) {
    let answer = try await answer(about: account)
    guard let microalgos = answer.amount else { throw .broken("its answer is not that of a node") }
    return (microalgos, try answer.signer(of: account))
  }

  private func answer(about account: AlgorandAddress) async throws(PortError) -> Account {
    try await get("/v2/accounts/\(account.text)?exclude=all")
  }

  private func get<Answer: Decodable>(_ path: String) async throws(PortError) -> Answer {
    let response = try await http.send(
      HTTPRequest(method: .get, url: url + path, headers: authorization), maximumBodySize: Self.maximumAnswerSize)
    guard response.status == 200 else {
      let reason = Refusal.message(in: response.body)
      throw .broken("it answered HTTP \(response.status)\(reason.map { ": \($0)" } ?? "")")
    }
    do { return try JSONCoding.decode(Answer.self, from: response.body) } catch {
      throw .broken("its answer is not that of a node")
    }
  }

  /// algod's TransactionParams.
  private struct Parameters: Decodable {
    let genesisHash: String
    let genesisID: String
    let lastRound: UInt64
    let minFee: UInt64

    enum CodingKeys: String, CodingKey {
      case genesisHash = "genesis-hash"
      case genesisID = "genesis-id"
      case lastRound = "last-round"
      case minFee = "min-fee"
    }
  }

  /// algod's Account.
  private struct Account: Decodable {
    let authAddr: String?
    let amount: UInt64?

    enum CodingKeys: String, CodingKey {
      case authAddr = "auth-addr"
      case amount
    }

    func signer(of account: AlgorandAddress) throws(PortError) -> AlgorandAddress {
      guard let authAddr, !authAddr.isEmpty else { return account }
      guard let signer = AlgorandAddress(text: Array(authAddr.utf8)) else {
        throw .broken("its answer is not that of a node")
      }
      return signer
    }
  }

  /// algod's ErrorResponse.
  private struct Refusal: Decodable {
    let message: String

    static func message(in body: [UInt8]) -> String? {
      try? JSONCoding.decode(Refusal.self, from: body).message
    }
  }
}

extension AlgodClient: CustomStringConvertible, CustomReflectable {
  /// The address only, so that a token in a log stays secret.
  public var description: String { "AlgodClient(\(url))" }

  /// No children: a dump shows no more than ``description``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
