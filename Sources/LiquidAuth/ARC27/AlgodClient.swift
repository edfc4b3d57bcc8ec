/// A node that is asked over HTTP: algod's REST API, `POST /v2/transactions`.
public struct AlgodClient: AlgodPort {
  /// The most bytes of an answer: an id, or a sentence.
  private static let maximumAnswerSize = 65_536

  private let url: String
  private let token: String?
  private let http: any HTTPPort

  /// Takes a node's address.
  ///
  /// - Parameters:
  ///   - url: `https:`, or, on loopback alone, `http:`; without `/v2`.
  ///   - token: what the node wants in `X-Algo-API-Token`; public nodes want none.
  public init(url: String, token: String? = nil, http: any HTTPPort) {
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.token = token
    self.http = http
  }

  /// Posts one whole group, or one transaction; 200 is taken, 400 refused.
  public func post(_ signedTransactions: [UInt8]) async throws(AlgodFailure) {
    let request = HTTPRequest(
      method: .post, url: url + "/v2/transactions",
      headers: [HTTPHeader("Content-Type", "application/x-binary")]
        + (token.map { [HTTPHeader("X-Algo-API-Token", $0)] } ?? []), body: signedTransactions)
    let response: HTTPResponse
    do throws(HTTPFailure) {
      response = try await http.send(request, maximumBodySize: Self.maximumAnswerSize)
    } catch {
      throw AlgodFailure(error)
    }
    switch response.status {
    case 200: return
    case 400: throw .rejected(Refusal.message(in: response.body) ?? "no reason given")
    default: throw .unavailable("it answered HTTP \(response.status)")
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

extension AlgodFailure {
  fileprivate init(_ failure: HTTPFailure) {
    switch failure {
    case .timedOut: self = .timedOut
    case .unreachable(let reason), .untrusted(let reason), .broken(let reason): self = .unavailable(reason)
    case .bodyTooLarge: self = .unavailable("its answer is too long")
    }
  }
}
