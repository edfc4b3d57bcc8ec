/// One exchange with one of Keyri's servers, and the first judgement of its answer.
struct KeyriExchange: Sendable {
  let http: any HTTPPort

  /// Sends, and gives the body of an answer whose status is one of `accepted`, and which names no error.
  func body(
    of request: HTTPRequest, accepted: Set<Int>, maximumSize: Int
  ) async throws(KeyriError) -> [UInt8] {
    let response = try await send(request, maximumSize)
    let fault = try? KeyriJSON.decode(KeyriFault.self, from: response.body)
    switch response.status {
    case 300..<400: throw .redirected
    case let status where !accepted.contains(status) || fault?.isThere == true:
      throw .refused(status: status, reason: fault?.reason ?? Self.text(of: response.body))
    default: return response.body
    }
  }

  private func send(_ request: HTTPRequest, _ maximumSize: Int) async throws(KeyriError) -> HTTPResponse {
    do throws(HTTPFailure) {
      return try await http.send(request, maximumBodySize: maximumSize)
    } catch {
      throw .http(error)
    }
  }

  /// A refusal in plain words, as the companion server gives it; neither a page of HTML, nor a token, which is no text for
  /// an error whatever the status says.
  private static func text(of body: [UInt8]) -> String? {
    guard (1...200).contains(body.count), !"<{[".utf8.contains(body[0]), FirebaseToken(body) == nil else { return nil }
    return String(validating: body, as: UTF8.self)
  }
}

extension HTTPRequest {
  /// A POST of JSON.
  static func post(_ body: some Encodable, to url: String) -> HTTPRequest {
    HTTPRequest(
      method: .post, url: url, headers: [HTTPHeader("Content-Type", "application/json")], body: KeyriJSON.encode(body))
  }
}
