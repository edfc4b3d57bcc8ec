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
      headers: [HTTPHeader("Content-Type", "application/x-binary")]
        + (token.map { [HTTPHeader("X-Algo-API-Token", $0)] } ?? []), body: signedTransactions)
    let response = try await http.send(request, maximumBodySize: Self.maximumAnswerSize)
    switch response.status {
    case 200: return
    case 400: throw .refused(Refusal.message(in: response.body) ?? "no reason given")
    default: throw .broken("it answered HTTP \(response.status)")
    }
  }

  /// algod's ErrorResponse.
  private struct Refusal: Decodable {
    let message: String

    static func message(in body: [UInt8]) -> String? {
      try? JSON.decode(Refusal.self, from: body).message
    }
  }
}

extension AlgodClient: CustomStringConvertible, CustomReflectable {
  /// The address only, so that a token in a log stays secret.
  public var description: String { "AlgodClient(\(url))" }

  /// No children: a dump shows no more than ``description``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
