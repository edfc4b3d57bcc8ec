// tutorial: begin
import CryptoPrimitives
import Keyri
import LiquidAuth
// tutorial: end
import Testing

// tutorial: begin
actor KeyriServer: HTTPPort {
  private(set) var requests: [HTTPRequest] = []

  func send(_ request: HTTPRequest, maximumBodySize: Int) async throws(PortError) -> HTTPResponse {
    requests.append(request)
    let session = """
      {"sessionId":"5f3c","WidgetOrigin":"https://app.example","__hash":"","__salt":"","browserPublicKey":\
      "ihW1I7UuUULYfkQ9xEv5PPhGHKj6BggxI09FN4ce7wkkzjBE6jWj9CNCiZpi0O1rAtHUSyYfPlbctv4PRXLR5Q=="}
      """
    return HTTPResponse(status: 200, body: Array(session.utf8))
  }
}

struct OneKey: AssociationKeys {
  let key: P256.PrivateKey

  func publicKey(publicUserID: String) async throws(PortError) -> P256.PublicKey { key.publicKey }

  func sign(_ data: [UInt8], publicUserID: String, service: String) async throws(PortError) -> [UInt8] {
    print("sign in at \(service) as \(publicUserID)?")
    do { return try key.signature(for: data) } catch { throw .refused(error.description) }
  }
}
// tutorial: end

@Test func `the tutorial of Keyri looks a login up, confirms it and denies it`() async throws {
  // tutorial: begin
  let link = try KeyriLink("https://acme.onekey.to?sessionId=5f3c", otherOrigins: [])
  // tutorial: end
  #expect(link.origin.serialized == "https://acme.onekey.to" && link.sessionID == "5f3c")

  // tutorial: begin
  do throws(LiquidAuthError) {
    _ = try KeyriLink("https://acme.example?sessionId=5f3c", otherOrigins: [])
    Issue.record("accepted")
  } catch {
    print(error)
  }
  // tutorial: end

  // tutorial: begin
  let server = KeyriServer()
  let sessions = try KeyriSessions(
    origin: WebOrigin("https://api.example"), appKey: "app-key", http: server,
    keys: OneKey(key: P256.PrivateKey.random()), now: { 1_790_000_000_000 }, randomness: .system)
  let session = try await sessions.session(of: link)
  print("a page of \(session.widgetOrigin) asks for a login")
  // tutorial: end
  #expect(session.widgetOrigin.serialized == "https://app.example" && session.publicUserID == nil)

  // tutorial: begin
  let email = try KeyriEmail("alice@example.com")
  try await sessions.confirm(session, agreedOrigin: session.widgetOrigin, as: email)
  // tutorial: end
  let sent = await server.requests
  #expect(sent.map(\.method) == [.get, .post])
  #expect(sent.map(\.url).last == "https://api.example/api/v1/session/5f3c")
  let body = String(decoding: sent.last?.body ?? [], as: UTF8.self)
  #expect(body.contains(#""errors":false"#))

  // tutorial: begin
  do throws(LiquidAuthError) {
    try await sessions.confirm(session, agreedOrigin: WebOrigin("https://shop.example"), as: email)
    Issue.record("confirmed")
  } catch {
    print(error)
  }
  try await sessions.deny(session)
  // tutorial: end
  let denial = await server.requests.last?.body ?? []
  #expect(String(decoding: denial, as: UTF8.self).contains(#""errors":true"#))
  #expect(await server.requests.count == 3)
}
