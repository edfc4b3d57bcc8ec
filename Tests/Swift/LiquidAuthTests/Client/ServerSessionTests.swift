import FoundationEssentials
import Testing

@testable import LiquidAuth

@Suite struct ServerSessionTests {
  private struct Answer: Decodable, Equatable {
    let a: Int
  }

  private static func session(_ server: ScriptedServer, origin: String = "https://example.com:8443") throws
    -> ServerSession
  {
    ServerSession(origin: try WebOrigin(origin), userAgent: UserAgent(version: "1"), http: server)
  }

  /// The verdict on one answer.
  private static func verdict(_ answer: ScriptedServer.Answer) async throws -> ServerVerdict<Answer> {
    var session = try session(ScriptedServer(answer))
    return try await session.post("/x", ["b": 1])
  }

  @Test func `requests have the fixed headers, a JSON body and the cookies of the session`() async throws {
    let server = ScriptedServer(
      .success(.json(#"{"a":1}"#, HTTPHeader("Set-Cookie", "s=1; Path=/"))), .success(.json(#"{"a":2}"#)))
    var session = try Self.session(server)
    #expect(try await session.post("/attestation/request", ["b": "/"], for: Answer.self).get() == Answer(a: 1))
    #expect(try await session.post("/attestation/response", ["b": 2], for: Answer.self).get() == Answer(a: 2))
    let fields = [
      HTTPHeader("User-Agent", "LiquidAuthLinux/1 (X11; Linux x86_64)"), HTTPHeader("Accept", "application/json"),
      HTTPHeader("Content-Type", "application/json"),
    ]
    #expect(
      server.requests == [
        HTTPRequest(
          method: .post, url: "https://example.com:8443/attestation/request", headers: fields,
          body: Array(#"{"b":"/"}"#.utf8)),
        HTTPRequest(
          method: .post, url: "https://example.com:8443/attestation/response",
          headers: fields + [HTTPHeader("Cookie", "s=1")], body: Array(#"{"b":2}"#.utf8)),
      ])
    #expect(server.limits == [65_536, 65_536])
    #expect(session.cookies.header(forPath: "/socket.io/") == HTTPHeader("Cookie", "s=1"))
  }

  // Holds: PEERSIGNIN-11
  @Test(arguments: [200, 201]) func `the statuses 200 and 201 are success`(_ status: Int) async throws {
    #expect(try await Self.verdict(.success(.json(#"{"a":1}"#, status: status))).get() == Answer(a: 1))
  }

  @Test(arguments: ["application/json", "Application/JSON", "application/json;charset=utf-8", "application/json ; x=y"])
  func `a JSON media type is accepted in any case and with parameters`(_ type: String) async throws {
    #expect(try await Self.verdict(.success(.json(#"{"a":1}"#, type: type))).get() == Answer(a: 1))
  }

  private static let refusals: [(HTTPResponse, LiquidAuthError)] = [
    // A status of 400 or higher with any body, and an error with any status.
    (.json(#"{"a":1}"#, status: 500), .serverError(status: 500, "it gave no reason")),
    (.json(#"{"a":1,"success":true}"#, status: 503), .serverError(status: 503, "it gave no reason")),
    (.json(#"{"reason":"unauthorized","error":"no"}"#, status: 401), .authenticationFailed("no")),
    (.json(#"{"statusCode":403,"message":"Forbidden"}"#, status: 403), .authenticationFailed("Forbidden")),
    (.json(#"{"reason":"not_implemented","error":"later"}"#, status: 501), .serverError(status: 501, "later")),
    (.json(#"{"a":1,"error":"no"}"#, status: 200), .authenticationFailed("no")),
    (.json(#"{"a":1,"error":false}"#, status: 201), .authenticationFailed("it gave no reason")),
    (.json(#"{"a":1,"statusCode":500,"message":"oops"}"#, status: 201), .serverError(status: 500, "oops")),
    (.json(#"{"a":1,"statusCode":401,"message":"no"}"#, status: 200), .authenticationFailed("no")),
    (.json("<html>", status: 502, type: "text/html"), .serverError(status: 502, "it gave no reason")),
    (.json("", status: 404, type: nil), .serverError(status: 404, "it gave no reason")),
    (.json(#"{"error":"no"}"#, status: 200, type: "text/plain"), .authenticationFailed("no")),
  ]

  @Test(arguments: refusals)
  func `an answer is refused by its status or its body`(_ response: HTTPResponse, _ error: LiquidAuthError) async throws
  {
    let verdict = try await Self.verdict(.success(response))
    #expect(throws: error) { try verdict.get() }
  }

  // Holds: PEERSIGNIN-12
  @Test(arguments: [
    (401, #"{"reason":"not_found"}"#, true, true), (404, "", true, false),
    (401, #"{"reason":"unauthorized"}"#, false, true),
    (401, "", false, true), (403, #"{"reason":"not_found"}"#, false, false),
    (500, #"{"reason":"not_found"}"#, false, false),
    (200, #"{"reason":"not_found","error":"x"}"#, false, false),
  ])
  func `a refusal is "not found" or "unauthorized" by status and reason`(
    _ status: Int, _ body: String, _ isNotFound: Bool, _ isUnauthorized: Bool
  ) async throws {
    guard case .refused(let refusal) = try await Self.verdict(.success(.json(body, status: status))) else {
      Issue.record("no refusal")
      return
    }
    #expect(refusal.isNotFound == isNotFound && refusal.isUnauthorized == isUnauthorized)
  }

  private static let nonAnswers: [(ScriptedServer.Answer, LiquidAuthError)] = [
    (
      .success(HTTPResponse(status: 302, headers: [HTTPHeader("location", "https://evil.example/")])),
      .redirected(to: "https://evil.example/")
    ),
    (.success(.json(#"{"a":1}"#, status: 307)), .redirected(to: "another place")),
    (.success(.json(#"{"a":1}"#, status: 202)), .unknownStatus(202)),
    (.success(.json("", status: 204)), .unknownStatus(204)),
    (.success(.json(#"{"a":1}"#, type: "text/html")), .contentType("text/html")),
    (.success(.json(#"{"a":1}"#, type: "text/json")), .contentType("text/json")),
    (.success(.json(#"{"a":1}"#, type: nil)), .contentType("no type")),
    (.success(.json("<html>")), .invalidJSON("it is not JSON")), (.success(.json("")), .invalidJSON("it is not JSON")),
    (.success(.json(#"{"b":1}"#)), .missingRequiredField("a")),
    (.success(.json(#"{"a":1,"a":1}"#)), .invalidJSON("it has a duplicate name")),
    (
      .success(HTTPResponse(status: 201, body: [UInt8](repeating: 0x20, count: 65_537))),
      .network(host: "example.com:8443", .tooLarge)
    ),
    (.failure(.tooLarge), .network(host: "example.com:8443", .tooLarge)),
    (.failure(.unreachable("refused")), .network(host: "example.com:8443", .unreachable("refused"))),
    (.failure(.untrusted("expired")), .network(host: "example.com:8443", .untrusted("expired"))),
    (.failure(.timedOut), .network(host: "example.com:8443", .timedOut)),
    (.failure(.broken("reset")), .network(host: "example.com:8443", .broken("reset"))),
  ]

  // Holds: PEERSIGNIN-11
  @Test(arguments: nonAnswers)
  func `an invalid or failed answer is an error with the reason`(
    _ answer: ScriptedServer.Answer, _ error: LiquidAuthError
  ) async throws {
    await #expect(throws: error) { try await Self.verdict(answer) }
  }

  // Holds: SERVER-3
  @Test func `deeply nested arrays are refused`() async throws {
    let bomb = String(repeating: "[", count: 60_000)
    await #expect(throws: LiquidAuthError.invalidJSON("it is nested more than 32 deep")) {
      try await Self.verdict(.success(.json(bomb)))
    }
  }

  private struct Unwritable: Encodable {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(Double.infinity)
    }
  }

  @Test func `a request that cannot be encoded is not sent`() async throws {
    let server = ScriptedServer()
    var session = try Self.session(server)
    await #expect(throws: LiquidAuthError.unwritable) {
      try await session.post("/x", Unwritable(), for: Answer.self).get()
    }
    #expect(server.requests.isEmpty)
  }
}
