import LiquidAuth

/// One exchange with one of Keyri's servers, and the general checks of the answer.
struct KeyriExchange: Sendable {
  let http: any HTTPPort

  /// Sends the request, and returns the body of an answer whose status is in `accepted` and whose body names no error.
  ///
  /// - Parameter refusals: the errors of certain statuses.
  func body(
    of request: HTTPRequest, accepted: Set<Int>, maximumSize: Int, refusals: [Int: LiquidAuthError] = [:]
  ) async throws(LiquidAuthError) -> [UInt8] {
    let response = try await send(request, maximumSize)
    let fault = try? KeyriJSON.decode(KeyriFault.self, from: response.body)
    switch response.status {
    case 300..<400: throw .keyriRedirected
    case let status where !accepted.contains(status) || fault?.isThere == true:
      throw refusals[status] ?? .keyriRefused(status: status, reason: fault?.reason ?? Self.text(of: response.body))
    default: return response.body
    }
  }

  private func send(_ request: HTTPRequest, _ maximumSize: Int) async throws(LiquidAuthError) -> HTTPResponse {
    do throws(PortError) {
      return try await http.send(request, maximumBodySize: maximumSize)
    } catch {
      throw .keyriServer(error)
    }
  }

  /// A plain-text refusal, as the companion server sends it; neither HTML nor a token, which must not appear in an
  /// error.
  private static func text(of body: [UInt8]) -> String? {
    guard (1...200).contains(body.count), !"<{[".utf8.contains(body[0]), FirebaseToken(body) == nil else { return nil }
    return String(validating: body, as: UTF8.self)
  }
}

extension HTTPRequest {
  /// A POST of JSON.
  static func post(_ body: some Encodable, to url: String) throws(LiquidAuthError) -> HTTPRequest {
    HTTPRequest(
      method: .post, url: url, headers: [HTTPHeader("Content-Type", "application/json")],
      body: try KeyriJSON.encode(body))
  }
}

/// The JSON of Keyri's servers.
enum KeyriJSON {
  /// Writes a body.
  static func encode(_ body: some Encodable) throws(LiquidAuthError) -> [UInt8] {
    do { return try JSONCoding.encode(body) } catch { throw .unwritable }
  }

  /// Reads an answer; `keyriAnswer` names a member that is missing or of a wrong type.
  static func decode<T: Decodable>(_ type: T.Type, from body: [UInt8]) throws(LiquidAuthError) -> T {
    do throws(JSONError) {
      return try JSONCoding.decode(type, from: body)
    } catch {
      switch error {
      case .missing(let member), .otherKind(let member), .invalid(let member): throw .keyriAnswer(member)
      case .noJSON, .tooDeep, .repeatedName, .longName, .ambiguousName, .unwritable:
        throw .keyriAnswer(error.description)
      }
    }
  }
}

/// The marks of a refusal in an answer, whatever its status.
///
/// Servers use several forms: `error` (anything but null, false and the empty text), `errors: true`, and `statusCode`
/// or `status` from 400 on.
struct KeyriFault: Decodable {
  /// Whether one of the marks is present.
  let isThere: Bool
  /// The server's explanation.
  let reason: String?

  private enum CodingKeys: String, CodingKey {
    case error, errors, errorMsg, message, status, statusCode
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func text(_ key: CodingKeys) -> String? {
      (try? members.decode(String.self, forKey: key)).flatMap { $0.isEmpty ? nil : $0 }
    }
    func says(_ key: CodingKeys) -> Bool {
      guard members.contains(key), (try? members.decodeNil(forKey: key)) == false else { return false }
      return (try? members.decode(Bool.self, forKey: key))
        ?? ((try? members.decode(String.self, forKey: key))?.isEmpty != true)
    }
    let codes = [CodingKeys.status, .statusCode].compactMap { try? members.decode(Int.self, forKey: $0) }
    isThere = says(.error) || says(.errors) || codes.contains { $0 >= 400 }
    reason = text(.message) ?? text(.errorMsg) ?? text(.error)
  }
}
