import LiquidAuth
import TestVectors
import Testing

@testable import Keyri

@Suite struct KeyriCompanionTests {
  private static let token = "aGVhZA.Ym9keQ.c2ln"

  @Test func `a registration sends the public key and signs nothing`() async throws {
    let world = try KeyriWorld()
    world.answer(200, Self.token)
    let token = try await world.companion.register(world.email())
    #expect(token.bytes == Array(Self.token.utf8))
    #expect(world.requests.map(\.url) == ["https://app.example/api/keyriregistration"])
    #expect(world.requests[0].method == .post)
    #expect(world.requests[0].headers == [HTTPHeader("Content-Type", "application/json")])
    #expect(world.sent == world.flow.registrationText.text)
    #expect(world.limits == [8192])
    #expect(world.signed.isEmpty)
  }

  @Test func `a login signature names its server`() async throws {
    let world = try KeyriWorld()
    world.answer(200, Self.token)
    #expect(try await world.companion.login(world.email()).bytes == Array(Self.token.utf8))
    #expect(world.requests.map(\.url) == ["https://app.example/api/keyrilogin"])
    #expect(world.sent == world.flow.loginText.text)
    #expect(
      world.signed == [
        .init(data: world.flow.dataText.text, publicUserID: world.flow.emailText.text, service: "https://app.example")
      ])
  }

  // Holds: KEYRI-7
  @Test func `two logins in one millisecond differ`() async throws {
    let nonces = [[UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16)]
    let world = try KeyriWorld(bytes: nonces)
    for _ in nonces {
      world.answer(200, Self.token)
      _ = try await world.companion.login(world.email())
    }
    #expect(Set(world.signed.map(\.data)).count == 2)
    #expect(world.signed.allSatisfy { $0.data.hasPrefix("\(world.flow.milliseconds.integer(Int.self))_") })
  }

  // Holds: KEYRI-2
  @Test(arguments: [
    (401, "Unauthorized", LiquidAuthError.keyriUnauthorized),
    (401, "", .keyriUnauthorized),
    (409, #"{"error":"registered"}"#, .keyriRegistered),
    (400, "Missing data", .keyriRefused(status: 400, reason: "Missing data")),
    (500, "Could not register", .keyriRefused(status: 500, reason: "Could not register")),
    (500, token, .keyriRefused(status: 500, reason: nil)),
    (500, "<html>", .keyriRefused(status: 500, reason: nil)),
    (503, "", .keyriRefused(status: 503, reason: nil)),
    (404, #"{"statusCode":404,"message":"no such page"}"#, .keyriRefused(status: 404, reason: "no such page")),
    (201, token, .keyriRefused(status: 201, reason: nil)), (204, "", .keyriRefused(status: 204, reason: nil)),
    (100, "", .keyriRefused(status: 100, reason: nil)),
    (301, token, .keyriRedirected), (302, "", .keyriRedirected), (307, "", .keyriRedirected),
    (308, "", .keyriRedirected),
    // Success by status, refusal by body.
    (200, #"{"error":"no such user"}"#, .keyriRefused(status: 200, reason: "no such user")),
    (200, #"{"errors":true,"errorMsg":"no"}"#, .keyriRefused(status: 200, reason: "no")),
    (
      200, #"{"statusCode":500,"message":"Internal server error"}"#,
      .keyriRefused(status: 200, reason: "Internal server error")
    ),
    (200, #"{"status":401}"#, .keyriRefused(status: 200, reason: nil)),
    (200, #"{"error":{"code":1}}"#, .keyriRefused(status: 200, reason: nil)),
    // No valid token.
    (200, "", .keyriAnswer("token")), (200, "Could not register", .keyriAnswer("token")),
    (200, "{}", .keyriAnswer("token")),
    (200, "<html></html>", .keyriAnswer("token")), (200, "a.b", .keyriAnswer("token")),
    (200, "..", .keyriAnswer("token")),
    (200, token + ".", .keyriAnswer("token")), (200, token + "\n", .keyriAnswer("token")),
    (200, "\"" + token + "\"", .keyriAnswer("token")), (200, "aGVhZA==.Ym9keQ.c2ln", .keyriAnswer("token")),
    (200, "aGVhZA.Ym9keQ.c2/n", .keyriAnswer("token")), (200, "\u{0}", .keyriAnswer("token")),
  ])
  func `an answer is checked by status and body`(_ status: Int, _ body: String, _ error: LiquidAuthError) async throws {
    let world = try KeyriWorld()
    world.answer(status, body, [HTTPHeader("Location", "https://evil.example/")])
    await #expect(throws: error) { try await world.companion.login(world.email()) }
    #expect(world.requests.count == 1, "nothing is sent twice")
  }

  @Test(arguments: [
    PortError.unreachable("connection refused"), .untrusted("unknown authority"), .timedOut, .tooLarge,
    .broken("reset"),
  ])
  func `a transport failure is an error`(_ failure: PortError) async throws {
    let world = try KeyriWorld()
    world.fail(failure)
    await #expect(throws: LiquidAuthError.keyriServer(failure)) { try await world.companion.register(world.email()) }
  }

  // Holds: KEYRI-8
  @Test(arguments: [PortError.declined, .timedOut, .unreachable("not running"), .refused("no vault")])
  func `without a signature, nothing is sent`(_ failure: PortError) async throws {
    let world = try KeyriWorld { _ throws(PortError) in throw failure }
    await #expect(throws: LiquidAuthError.keyriAuthenticator(failure)) {
      try await world.companion.login(world.email())
    }
    #expect(world.requests.isEmpty)
  }

  // Holds: KEYRI-8
  @Test(arguments: [60_000, 3_600_000])
  func `a late signature is not sent`(_ delay: UInt64) async throws {
    let world = try KeyriWorld { $0.now += delay }
    await #expect(throws: LiquidAuthError.keyriTooLate) { try await world.companion.login(world.email()) }
    #expect(world.requests.isEmpty)
  }

  @Test func `a signature within 60 seconds is sent`() async throws {
    let world = try KeyriWorld { $0.now += 59_999 }
    world.answer(200, Self.token)
    _ = try await world.companion.login(world.email())
    #expect(world.sent == world.flow.loginText.text)
  }

  // Holds: KEYRI-8
  @Test(arguments: [0, 999_999_999_999, 10_000_000_000_000])
  func `a wrong clock fails before any prompt`(_ now: UInt64) async throws {
    let world = try KeyriWorld()
    world.now = now
    await #expect(throws: LiquidAuthError.wrongClock) { try await world.companion.login(world.email()) }
    #expect(world.signed.isEmpty && world.requests.isEmpty)
  }

  @Test func `without a key from the authenticator, nothing is registered`() async throws {
    let world = try KeyriWorld()
    await #expect(throws: LiquidAuthError.self) { try await world.companion.register(KeyriEmail("bob@example.com")) }
    #expect(world.requests.isEmpty)
  }
}
