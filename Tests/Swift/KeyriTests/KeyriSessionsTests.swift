import CryptoPrimitives
import Foundation
import LiquidAuth
import TestVectors
import Testing

@testable import Keyri

@Suite struct KeyriSessionsTests {
  private static func lookedUp(
    _ changes: [String: Any] = [:],
    prompt: @escaping @Sendable (KeyriWorld) throws(PortError) -> Void = { _ in }
  ) async throws -> (world: KeyriWorld, session: KeyriSession) {
    let world = try KeyriWorld(prompt: prompt)
    world.answer(200, try KeyriWorld.session(changes))
    return (world, try await world.sessions.session(of: world.link()))
  }

  // MARK: Looking up

  @Test func `a session describes the browser and its location`() async throws {
    let (world, session) = try await Self.lookedUp()
    #expect(session.id == "5f3c-Za.9_~")
    #expect(session.widgetOrigin.description == "https://app.example:8443")
    #expect(
      session.browser
        == KeyriSession.Browser(
          name: "Firefox 140", os: "Linux", address: "192.0.2.7", place: "Oakland, US", issue: "new browser"))
    #expect(session.risk == KeyriSession.Risk(status: "warn", flags: "distance"))
    #expect(session.risk?.isDenied == false)
    #expect(session.publicUserID == nil)
    #expect(world.requests.map(\.url) == ["https://api.example:8443/api/v1/session/5f3c-Za.9_~?appKey=app-Key_1"])
    #expect(world.requests[0].method == .get)
    #expect(world.requests[0].body == nil)
    #expect(
      world.requests[0].headers == [
        HTTPHeader("x-mobile-id", world.flow.mobileIDText.text), HTTPHeader("x-mobile-os", "Linux"),
      ])
    #expect(world.limits == [16_384])
    #expect(world.signed.isEmpty)
  }

  @Test func `optional members may be missing, null or unknown`() async throws {
    for member in ["WidgetUserAgent", "IPAddressMobile", "IPAddressWidget", "riskAnalytics", "mobileTemplateResponse"] {
      #expect(try await Self.lookedUp([member: NSNull()]).session.id == "5f3c-Za.9_~", "\(member)")
    }
    let bare = try await Self.lookedUp(["WidgetUserAgent": [String: String](), "riskAnalytics": ["x": 1]]).session
    #expect(bare.browser == .init(name: nil, os: nil, address: "192.0.2.7", place: nil, issue: nil))
    #expect(bare.risk == .init(status: nil, flags: nil))
    let cityless = ["geoData": ["browser": ["city": "", "country_code": "US"]]]
    #expect(try await Self.lookedUp(["riskAnalytics": cityless]).session.browser.place == "US")
    #expect(try await Self.lookedUp(["unknown": ["a": [1, 2]]]).session.id == "5f3c-Za.9_~")
  }

  @Test(arguments: [
    ("https://app.example", "https://app.example"), ("app.example", "https://app.example"),
    ("app.example:8443", "https://app.example:8443"), ("HTTPS://App.Example:443", "https://app.example"),
    ("http://localhost:3000", "http://localhost:3000"),
  ])
  func `an origin is read with and without a scheme`(_ text: String, _ origin: String) async throws {
    #expect(try await Self.lookedUp(["WidgetOrigin": text]).session.widgetOrigin.description == origin)
  }

  @Test(arguments: [
    "", "https://", "null", "http://app.example", "https://app.example/path", "https://me@app.example", "file:///etc",
    "https://app.example\n", "https://аpp.example", "192.0.2.1", "javascript:alert(1)",
  ])
  func `an insecure origin is refused`(_ text: String) async throws {
    await #expect(throws: LiquidAuthError.keyriAnswer("WidgetOrigin")) {
      try await Self.lookedUp(["WidgetOrigin": text])
    }
  }

  @Test(arguments: ["sessionId", "WidgetOrigin", "browserPublicKey", "__hash", "__salt"])
  func `a required member that is not a text is refused`(_ member: String) async throws {
    for value: Any in [NSNull(), 1, true, ["a"], ["a": "b"]] {
      await #expect(throws: LiquidAuthError.keyriAnswer(member)) { try await Self.lookedUp([member: value]) }
    }
  }

  @Test(arguments: ["WidgetUserAgent", "riskAnalytics"])
  func `an optional member of a wrong type is refused`(_ member: String) async throws {
    await #expect(throws: LiquidAuthError.keyriAnswer(member)) { try await Self.lookedUp([member: "text"]) }
  }

  // Holds: KEYRI-3
  @Test(arguments: ["5f3c-za.9_~", "5f3c-Za.9_~ ", "5f3c-Za.9_", "", "other"])
  func `an answer about another session is refused`(_ id: String) async throws {
    await #expect(throws: LiquidAuthError.otherKeyriSession) { try await Self.lookedUp(["sessionId": id]) }
  }

  // Holds: KEYRI-4
  @Test func `a browser key that is not a point of the curve is refused`() async throws {
    for vector in try KeyriVectors.load().badBrowserKeys.array {
      await #expect(throws: LiquidAuthError.browserKey, "\(vector)") {
        try await Self.lookedUp(["browserPublicKey": vector.browserPublicKey.text])
      }
    }
  }

  // Holds: KEYRI-2
  @Test(arguments: [
    (404, #"{"message":"no such session"}"#, LiquidAuthError.keyriRefused(status: 404, reason: "no such session")),
    (410, "", .keyriRefused(status: 410, reason: nil)), (401, "", .keyriRefused(status: 401, reason: nil)),
    (200, #"{"error":"session expired"}"#, .keyriRefused(status: 200, reason: "session expired")),
    (
      200, #"{"statusCode":500,"message":"Internal server error"}"#,
      .keyriRefused(status: 200, reason: "Internal server error")
    ),
    (302, "", .keyriRedirected), (200, "", .keyriAnswer("it is not JSON")), (200, "ok", .keyriAnswer("it is not JSON")),
    (200, "[]", .keyriAnswer("the answer")), (200, "null", .keyriAnswer("the answer")),
    (200, "{}", .keyriAnswer("sessionId")),
    (200, "{\"sessionId\":", .keyriAnswer("it is not JSON")), (200, "<html>", .keyriAnswer("it is not JSON")),
    (200, String(repeating: "[", count: 16_000), .keyriAnswer("it is nested more than 32 deep")),
  ])
  func `an answer without a session is refused`(_ status: Int, _ body: String, _ error: LiquidAuthError)
    async throws
  {
    let world = try KeyriWorld()
    world.answer(status, body)
    await #expect(throws: error) { try await world.sessions.session(of: world.link()) }
    #expect(world.requests.count == 1)
  }

  @Test func `an error member makes an otherwise valid session an error`() async throws {
    await #expect(throws: LiquidAuthError.keyriRefused(status: 200, reason: "expired")) {
      try await Self.lookedUp(["error": "expired"])
    }
    #expect(try await Self.lookedUp(["error": "", "errors": false, "status": 200]).session.id == "5f3c-Za.9_~")
  }

  // Holds: KEYRI-3
  @Test func `a truncated answer is refused`() async throws {
    let whole = try KeyriWorld.session()
    for length in 0..<whole.utf8.count {
      let world = try KeyriWorld()
      world.answer(200, String(decoding: whole.utf8.prefix(length), as: UTF8.self))
      await #expect(throws: LiquidAuthError.self) { try await world.sessions.session(of: world.link()) }
    }
  }

  // Holds: KEYRI-3
  @Test func `an answer with a changed byte is refused or describes this session`() async throws {
    let whole = Array(try KeyriWorld.session().utf8)
    for index in whole.indices {
      var changed = whole
      changed[index] ^= 1
      let world = try KeyriWorld()
      world.answer(200, String(decoding: changed, as: UTF8.self))
      let session = try? await world.sessions.session(of: world.link())
      #expect(session.map { $0.id == "5f3c-Za.9_~" } ?? true)
    }
  }

  @Test func `an answer that is too long is an error`() async throws {
    let world = try KeyriWorld()
    world.fail(.tooLarge)
    await #expect(throws: LiquidAuthError.keyriServer(.tooLarge)) { try await world.sessions.session(of: world.link()) }
  }

  // MARK: Confirming

  @Test func `a confirmation is signed for the shown page and sealed for its browser`() async throws {
    let (world, session) = try await Self.lookedUp()
    world.answer(200, "{}")
    try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    #expect(world.requests.count == 2)
    #expect(world.requests[1].url == "https://api.example:8443/api/v1/session/5f3c-Za.9_~")
    #expect(world.requests[1].method == .post)
    #expect(world.requests[1].headers == [HTTPHeader("Content-Type", "application/json")])
    #expect(world.sent == world.flow.confirmationText.text)
    #expect(
      world.signed == [
        .init(
          data: world.flow.dataText.text, publicUserID: world.flow.emailText.text, service: "https://app.example:8443")
      ])
  }

  @Test func `only the browser can read the login in a confirmation`() async throws {
    let (world, session) = try await Self.lookedUp()
    world.answer(200)
    try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    let sent = try #require(world.sent)
    #expect(!sent.contains(world.flow.dataText.text))
    #expect(!sent.contains(Base64.encode(world.flow.signature.bytes)))
  }

  // Holds: KEYRI-5
  @Test(arguments: [
    "https://app.example", "https://app.example:8444", "https://evil.example:8443", "http://localhost:8443",
    "https://app.example.evil.example:8443",
  ])
  func `a confirmation for another origin than that of the session is refused`(_ shown: String) async throws {
    let (world, session) = try await Self.lookedUp()
    await #expect(throws: LiquidAuthError.anotherOrigin) {
      try await world.sessions.confirm(session, agreedOrigin: WebOrigin(shown), as: world.email())
    }
    #expect(world.signed.isEmpty && world.requests.count == 1)
  }

  // Holds: KEYRI-5
  @Test(arguments: ["deny", "Deny"])
  func `a login that the server marks as denied is not confirmed`(_ status: String) async throws {
    let (world, session) = try await Self.lookedUp(["riskAnalytics": ["riskStatus": status]])
    await #expect(throws: LiquidAuthError.deniedByRisk) {
      try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    }
    #expect(world.signed.isEmpty && world.requests.count == 1)
  }

  // Holds: KEYRI-5
  @Test(arguments: ["bob@example.com", "Alice@example.com", "alice@example.com ", "alice@ex\u{200D}ample.com"])
  func `a browser that names another user is not signed in`(_ publicUserID: String) async throws {
    let (world, session) = try await Self.lookedUp(["publicUserId": publicUserID])
    await #expect(throws: LiquidAuthError.anotherUser) {
      try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    }
    #expect(world.signed.isEmpty && world.requests.count == 1)
  }

  @Test(arguments: ["alice@example.com", ""])
  func `a browser that names this user, or none, is signed in`(_ publicUserID: String) async throws {
    let (world, session) = try await Self.lookedUp(["publicUserId": publicUserID])
    world.answer(201, #"{"message":"ok"}"#)
    try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    #expect(world.sent == world.flow.confirmationText.text)
  }

  @Test func `a refused prompt sends nothing`() async throws {
    let (world, session) = try await Self.lookedUp { _ throws(PortError) in throw .declined }
    await #expect(throws: LiquidAuthError.keyriAuthenticator(.declined)) {
      try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    }
    #expect(world.requests.count == 1)
  }

  @Test func `a late answer to the prompt sends nothing`() async throws {
    let (world, session) = try await Self.lookedUp { $0.now += 60_000 }
    await #expect(throws: LiquidAuthError.keyriTooLate) {
      try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    }
    #expect(world.requests.count == 1)
  }

  @Test(arguments: [
    (200, ""), (200, "{}"), (201, ""), (204, ""), (200, #"{"errors":false,"error":null,"message":"done"}"#),
  ])
  func `an accepted confirmation is not sent again`(_ status: Int, _ body: String) async throws {
    let (world, session) = try await Self.lookedUp()
    world.answer(status, body)
    try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    #expect(world.requests.count == 2)
  }

  // Holds: PEERSERVER-2
  @Test(arguments: [
    (401, "", LiquidAuthError.keyriRefused(status: 401, reason: nil)),
    (409, #"{"error":"answered already"}"#, .keyriRefused(status: 409, reason: "answered already")),
    (200, #"{"errors":true}"#, .keyriRefused(status: 200, reason: nil)),
    (200, #"{"error":"session expired"}"#, .keyriRefused(status: 200, reason: "session expired")),
    (200, "<html>", .keyriAnswer("it is not JSON")), (200, "[]", .keyriAnswer("the answer")),
    (307, "", .keyriRedirected),
  ])
  func `a refused confirmation is not sent again`(_ status: Int, _ body: String, _ error: LiquidAuthError)
    async throws
  {
    let (world, session) = try await Self.lookedUp()
    world.answer(status, body, [HTTPHeader("Location", "https://evil.example/")])
    await #expect(throws: error) {
      try await world.sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: world.email())
    }
    #expect(world.requests.count == 2)
  }

  // MARK: Denying

  // Holds: KEYRI-6, PEERSERVER-2
  @Test func `a denial sends only the refusal`() async throws {
    let (world, session) = try await Self.lookedUp()
    world.answer(200)
    try await world.sessions.deny(session)
    #expect(world.sent == world.flow.denialText.text)
    #expect(world.signed.isEmpty)
    let sent = try #require(world.sent)
    for secret in [world.flow.emailText.text, "browserData", "apiData", "ciphertext"] {
      #expect(!sent.contains(secret))
    }
  }

  @Test func `a login that cannot be confirmed can be denied`() async throws {
    let (world, session) = try await Self.lookedUp(
      ["riskAnalytics": ["riskStatus": "deny"], "publicUserId": "bob@example.com"])
    world.answer(204)
    try await world.sessions.deny(session)
    #expect(world.sent == world.flow.denialText.text)
  }

  @Test func `a denial that the server does not accept is an error`() async throws {
    let (world, session) = try await Self.lookedUp()
    world.answer(500)
    await #expect(throws: LiquidAuthError.keyriRefused(status: 500, reason: nil)) {
      try await world.sessions.deny(session)
    }
  }
}
