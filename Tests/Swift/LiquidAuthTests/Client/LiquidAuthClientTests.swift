import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Recovery
import TestVectors
import Testing

@testable import LiquidAuth

/// Ceremonies between the real authenticator and a server that checks the answers.
@Suite struct LiquidAuthClientTests {
  private static let host = "example.com"
  private static func server(
    origin: String = "https://example.com", tampering: @escaping LiquidAuthServer.Tampering = { _, _ in }
  ) -> LiquidAuthServer {
    LiquidAuthServer(rpID: host, origin: origin, tampering: tampering)
  }

  // MARK: - Success

  // Holds: PEERSIGNIN-13
  @Test func `a registration proves passkey and account`() async throws {
    let server = Self.server()
    let wallet = try TestWallet(at: server)
    let passkey = try await wallet.authenticator.walletPasskey(rpID: Self.host)
    let result = try await wallet.run(.registration)

    #expect(result.ceremony == .registration && result.rpID == Self.host && result.origin == wallet.origin)
    #expect(result.address.text == TestWallet.address && result.requestID.text == TestWallet.requestID)
    #expect(result.credentialID == passkey.credentialID, "the passkey that phone wallets have")
    #expect(
      result.signalingHeaders == [
        UserAgent(version: "1").header, HTTPHeader("Cookie", "connect.sid=s%3A0.signature"),
      ])
    #expect(
      server.links == [
        .init(
          requestID: .text(TestWallet.requestID), wallet: TestWallet.address,
          credentialID: Base64URL.encode(result.credentialID))
      ])
    #expect(server.paths == ["/attestation/request", "/attestation/response"])

    let prompt = try #require(wallet.authenticator.person.prompts.first)
    #expect(wallet.authenticator.person.prompts.count == 1)
    #expect(prompt.purpose == .register && prompt.rpID == Self.host && prompt.origin == "https://example.com")
    #expect(prompt.algorandAddress == TestWallet.address && prompt.accountName == TestWallet.address)
    let record = try #require(try wallet.authenticator.store.allCredentials().first)
    #expect(record.userID == Array(TestWallet.address.utf8) && record.id == result.credentialID)
    #expect(
      wallet.progress.all == [
        .askingAuthenticator, .firstUse(host: Self.host), .requestingChallenge(.registration),
        .waitingForPerson(.registration, rpID: Self.host, address: TestWallet.address), .answering(.registration),
      ])
  }

  // Holds: PEERKEY-7, PEERSIGNIN-6
  @Test func `an authentication proves the passkey`() async throws {
    let server = Self.server()
    let wallet = try TestWallet(at: server)
    let registered = try await wallet.run(.registration)
    let result = try await wallet.run(.authentication, requestID: "0.6050027432326752")

    #expect(result.ceremony == .authentication && result.credentialID == registered.credentialID)
    #expect(server.links.last?.requestID == .number(0.6050027432326752), "as the dApp of 2024 compares it")
    #expect(
      server.paths.suffix(2) == ["/assertion/request/" + Base64URL.encode(result.credentialID), "/assertion/response"])
    #expect(wallet.authenticator.person.prompts.map(\.purpose) == [.register, .signIn])
    let body = try JSONValue(try #require(server.requests.last?.body))
    #expect(body["response"]?["userHandle"]?.text == Base64URL.encode(Array(TestWallet.address.utf8)))
    #expect(
      wallet.progress.all.suffix(4) == [
        .askingAuthenticator, .requestingChallenge(.authentication),
        .waitingForPerson(.authentication, rpID: Self.host, address: TestWallet.address), .answering(.authentication),
      ])
  }

  // Holds: SERVER-6
  @Test func `connect registers the first time, and signs in from then on`() async throws {
    let server = Self.server()
    let wallet = try TestWallet(at: server)
    #expect(try await wallet.run(.connect).ceremony == .registration)
    #expect(
      wallet.progress.all == [
        .askingAuthenticator, .firstUse(host: Self.host), .requestingChallenge(.authentication),
        .noCommonPasskey, .requestingChallenge(.registration),
        .waitingForPerson(.registration, rpID: Self.host, address: TestWallet.address), .answering(.registration),
      ])
    #expect(try await wallet.run(.connect).ceremony == .authentication)
    #expect(wallet.progress.all.count { $0 == .noCommonPasskey } == 1)
    #expect(wallet.authenticator.person.prompts.count == 2, "nobody is asked for the attempt that the server refuses")
  }

  @Test func `a dApp's link is enough to sign in`() async throws {
    let server = Self.server()
    let wallet = try TestWallet(at: server)
    let result = try await wallet.client.connect(link: "liquid://example.com/?requestId=7")
    #expect(result.origin == wallet.origin && server.links.map(\.requestID) == [7])
    await #expect(throws: LiquidAuthError.noRequestID) {
      try await wallet.client.connect(link: "liquid://example.com/")
    }
    #expect(server.links.count == 1)
  }

  // Holds: PEERKEY-1
  @Test func `a second machine with the phrase signs in with the passkey of the first`() async throws {
    let server = Self.server()
    let first = try await TestWallet(at: server).run(.registration)
    let second = try TestWallet(at: server)
    let result = try await second.run(.connect)
    #expect(result.ceremony == .authentication && result.credentialID == first.credentialID)
    #expect(second.progress.all.contains(.firstUse(host: Self.host)))
    let kept = try second.authenticator.store.allCredentials().map(\.id)
    #expect(kept == [first.credentialID], "it is known from now on")
  }

  // Holds: SERVER-5
  @Test func `a server that lost the passkey gets a new one only by registration`() async throws {
    let server = Self.server()
    let wallet = try TestWallet(at: server)
    let first = try await wallet.run(.connect)
    server.forget()
    for flow in [TestWallet.Flow.authentication, .connect] {
      await #expect(throws: LiquidAuthError.unknownCredential) { try await wallet.run(flow) }
    }
    #expect(wallet.authenticator.person.prompts.count == 1)
    #expect(try wallet.authenticator.store.allCredentials().map(\.id) == [first.credentialID])
    let second = try await wallet.run(.registration)
    #expect(second.ceremony == .registration && second.credentialID != first.credentialID)
    #expect(try await wallet.run(.connect).credentialID == second.credentialID)
  }

  // Holds: SERVER-5
  @Test func `a stored passkey is not replaced if the server names another relying party`() async throws {
    let authenticator = try TestAuthenticator()
    let first = try await TestWallet(at: Self.server(), with: authenticator).run(.registration)
    let server = LiquidAuthServer(rpID: "app.example.com", origin: "https://app.example.com") { path, response in
      guard path.hasPrefix("/assertion/request/") else { return }
      response = .json(#"{"challenge": "\#(Base64URL.encode(Self.challenge))", "rpId": "app.example.com"}"#)
    }
    let below = try TestWallet(at: server, origin: "https://app.example.com", with: authenticator)
    await #expect(throws: LiquidAuthError.noCredential(rpID: "app.example.com")) { try await below.run(.connect) }
    #expect(try authenticator.store.allCredentials().map(\.id) == [first.credentialID])
  }

  @Test func `a deleted passkey is not used, and another is registered`() async throws {
    let server = Self.server()
    let wallet = try TestWallet(at: server)
    let first = try await wallet.run(.connect)
    let store = wallet.authenticator.store
    for record in try store.allCredentials() { try store.remove(record, changed: 1_790_000_000_001) }
    await #expect(throws: LiquidAuthError.noCredential(rpID: Self.host)) { try await wallet.run(.authentication) }
    let second = try await wallet.run(.connect)
    #expect(second.ceremony == .registration && second.credentialID != first.credentialID)
  }

  @Test(arguments: [
    ("https://app.example.com:8443", "example.com"), ("https://a.b.example.co.uk", "example.co.uk"),
    ("http://localhost:3000", "localhost"), ("https://localhost", "localhost"), ("https://127.0.0.1:8443", "127.0.0.1"),
  ])
  func `a passkey belongs to the relying party that the server names`(_ origin: String, _ rpID: String) async throws {
    let server = LiquidAuthServer(rpID: rpID, origin: origin)
    let wallet = try TestWallet(at: server, origin: origin)
    let first = try await wallet.run(.connect)
    let second = try await wallet.run(.connect)
    #expect(first.ceremony == .registration && second.ceremony == .authentication)
    #expect(second.rpID == rpID && second.credentialID == first.credentialID)
    #expect(server.requests.allSatisfy { $0.url.hasPrefix(origin + "/") })
  }

  // Holds: SERVER-2
  @Test func `a passkey of a parent domain does not count as use of the host`() async throws {
    let server = Self.server()
    let wallet = try TestWallet(at: server)
    _ = try await wallet.run(.registration)
    let below = try TestWallet(at: server, origin: "https://app.example.com", with: wallet.authenticator)
    await #expect(throws: LiquidAuthError.self) { try await below.run(.authentication) }
    #expect(below.progress.all.contains(.firstUse(host: "app.example.com")))
    #expect(below.authenticator.person.prompts.last?.purpose == .signIn, "with the parent domain's passkey")

    let again = try TestWallet(at: server, with: wallet.authenticator)
    _ = try await again.run(.authentication)
    #expect(again.progress.all.first == .askingAuthenticator)
    #expect(!again.progress.all.contains(.firstUse(host: Self.host)))
  }

  // MARK: - Another origin

  // Holds: PEERSIGNIN-7
  @Test func `a second try uses the phones' origin`() async throws {
    let server = LiquidAuthServer(rpID: "example.com", origin: "https://example.com")
    let wallet = try TestWallet(at: server, origin: "https://example.com:8443")
    let registered = try await wallet.run(.registration)
    let passkey = try await wallet.authenticator.walletPasskey(rpID: "example.com")
    #expect(wallet.authenticator.person.prompts.count == 1, "one registration is one passkey, and one prompt")
    #expect(passkey == WalletPasskey(credentialID: registered.credentialID, isStored: true))
    #expect(
      wallet.progress.all.suffix(3) == [
        .answering(.registration), .retrying(try WebOrigin("https://example.com")), .answering(.registration),
      ])

    #expect(try await wallet.run(.authentication).credentialID == registered.credentialID)
    #expect(
      wallet.authenticator.person.prompts.dropFirst().map(\.origin) == [
        "https://example.com:8443", "https://example.com",
      ])
    #expect(server.paths.filter { $0.hasSuffix("/response") }.count == 4)
  }

  // Holds: PEERSIGNIN-7
  @Test(arguments: TestWallet.Flow.allCases)
  func `there is no third try`(_ flow: TestWallet.Flow) async throws {
    let server = LiquidAuthServer(rpID: "example.com", origin: "https://example.com:8443")
    let wallet = try TestWallet(at: server, origin: "https://example.com:8443")
    _ = try await wallet.run(.registration)
    server.expect(origin: "https://elsewhere.example")
    await #expect(throws: LiquidAuthError.authenticationFailed("User verification failed")) {
      try await wallet.run(flow)
    }
    #expect(server.paths.filter { $0.hasSuffix("/response") }.count == 3)
  }

  // Holds: SERVER-1, PEERSIGNIN-7
  @Test(arguments: TestWallet.Flow.allCases)
  func `a server that relays a challenge of its parent domain gets no signature for that origin`(
    _ flow: TestWallet.Flow
  ) async throws {
    let honest = Self.server()
    let authenticator = try TestAuthenticator()
    if flow != .registration { _ = try await TestWallet(at: honest, with: authenticator).run(.registration) }
    let wallet = try TestWallet(at: honest, origin: "https://evil.example.com", with: authenticator)
    await #expect(throws: LiquidAuthError.otherHost("User verification failed", rpID: Self.host)) {
      try await wallet.run(flow)
    }
    #expect(honest.links.count == (flow == .registration ? 0 : 1), "what it relayed is of no use to it")
    #expect(authenticator.person.prompts.last?.origin == "https://evil.example.com")
    #expect(authenticator.person.prompts.count == (flow == .registration ? 1 : 2))
  }

  @Test(arguments: [400, 403, 404, 500])
  func `there is no second try after an answer other than 401`(_ status: Int) async throws {
    let server = LiquidAuthServer(rpID: "example.com", origin: "https://app.example.com") { path, response in
      if path == "/attestation/response" { response = .json("{}", status: status) }
    }
    let wallet = try TestWallet(at: server, origin: "https://app.example.com")
    await #expect(throws: LiquidAuthError.self) { try await wallet.run(.registration) }
    #expect(server.paths == ["/attestation/request", "/attestation/response"])
  }

  @Test func `there is no second try if both origins are equal`() async throws {
    let server = Self.server(origin: "https://elsewhere.example")
    let wallet = try TestWallet(at: server)
    await #expect(throws: LiquidAuthError.authenticationFailed("User verification failed")) {
      try await wallet.run(.registration)
    }
    #expect(server.paths == ["/attestation/request", "/attestation/response"])
  }

  // MARK: - Refused before any prompt

  private struct Trick: Sendable, CustomTestStringConvertible {
    let name: String
    let error: LiquidAuthError
    let change: @Sendable (inout HTTPResponse) -> Void

    init(_ name: String, _ error: LiquidAuthError, _ change: @escaping @Sendable (inout HTTPResponse) -> Void) {
      (self.name, self.error, self.change) = (name, error, change)
    }

    /// Changes a member of the answer.
    init(_ name: String, _ error: LiquidAuthError, _ member: String, _ value: JSONValue?) {
      self.init(name, error) { $0.change { $0[member] = value } }
    }

    var testDescription: String { name }
  }

  private static let challenge = [UInt8](repeating: 0x9C, count: 32)

  /// Faults of any answer.
  private static let anywhere: [Trick] = [
    Trick("redirect", .redirected(to: "https://evil.example/x")) {
      $0 = HTTPResponse(status: 307, headers: [HTTPHeader("Location", "https://evil.example/x")], body: $0.body)
    },
    Trick("500 that says success", .serverError(status: 500, "it gave no reason")) {
      $0 = HTTPResponse(status: 500, headers: $0.headers, body: $0.body)
    },
    Trick("success that says error", .authenticationFailed("no"), "error", "no"),
    Trick("success that says 500", .serverError(status: 500, "it gave no reason"), "statusCode", 500),
    Trick("another success", .unknownStatus(202)) {
      $0 = HTTPResponse(status: 202, headers: $0.headers, body: $0.body)
    },
    Trick("a page", .contentType("text/html")) {
      $0 = HTTPResponse(status: 200, headers: [HTTPHeader("Content-Type", "text/html")], body: Array("<html>".utf8))
    },
    Trick("a body without end", .network(host: host, .tooLarge)) {
      $0 = HTTPResponse(status: 201, headers: $0.headers, body: $0.body + [UInt8](repeating: 0x20, count: 65_536))
    },
    Trick("no JSON", .invalidJSON("it is not JSON")) {
      $0 = HTTPResponse(status: 201, headers: $0.headers, body: $0.body.dropLast())
    },
  ]

  /// Faults of options of both kinds.
  private static let options: [Trick] =
    anywhere + [
      Trick("31 bytes", .challengeForm, "challenge", .text(Base64URL.encode(challenge.dropLast()))),
      Trick("33 bytes", .challengeForm, "challenge", .text(Base64URL.encode(challenge + [1]))),
      Trick("padding", .challengeForm, "challenge", .text(Base64URL.encode(challenge) + "=")),
      Trick("a quotation mark", .challengeForm, "challenge", .text(String(repeating: "\"", count: 43))),
      Trick("a transaction", .reservedChallenge, "challenge", reserved("TX")),
      Trick("a program", .reservedChallenge, "challenge", reserved("Program")),
      Trick("bytes for MX", .reservedChallenge, "challenge", reserved("MX")),
      Trick("no challenge", .missingRequiredField("challenge"), "challenge", nil),
      Trick("a challenge of numbers", .invalidJSON("challenge has a wrong type"), "challenge", [1, 2, 3]),
    ]

  private static func reserved(_ tag: String) -> JSONValue {
    .text(Base64URL.encode(Array((Array(tag.utf8) + challenge).prefix(32))))
  }

  private static func rpIDs(_ member: @escaping @Sendable (JSONValue?) -> (String, JSONValue?)) -> [Trick] {
    let faults: [(String, JSONValue?, LiquidAuthError)] = [
      ("another site", "example.org", .otherSite("example.org", host: host)),
      ("a site below", "app.example.com", .otherSite("app.example.com", host: host)),
      ("half a label", "ample.com", .otherSite("ample.com", host: host)),
      ("a public suffix", "com", .otherSite("com", host: host)),
      ("another spelling", "Example.com", .otherSite("Example.com", host: host)),
      ("no relying party", nil, .missingRpID), ("an empty one", "", .missingRpID),
    ]
    return faults.map { name, value, error in
      let (member, value) = member(value)
      return Trick(name, error, member, value)
    }
  }

  private static let attestationOptions =
    options + rpIDs { ("rp", ["id": $0 ?? .null]) } + [
      Trick("RS256 alone", .unsupportedAlgorithm, "pubKeyCredParams", [["type": "public-key", "alg": -257]]),
      Trick("no rp", .missingRpID, "rp", nil),
    ]

  private static let assertionOptions =
    options + rpIDs { ("rpId", $0) } + [
      Trick(
        "another passkey", .otherCredentials, "allowCredentials",
        [["type": "public-key", "id": "AAAA"]]),
      Trick(
        "another kind of credential", .otherCredentials, "allowCredentials",
        [["type": "password", "id": "AAAA"]]),
    ]

  // Holds: SERVER-4
  @Test(arguments: attestationOptions) private func `hostile registration options are refused without a prompt`(
    _ trick: Trick
  ) async throws {
    let server = Self.server { path, response in if path == "/attestation/request" { trick.change(&response) } }
    let wallet = try TestWallet(at: server)
    await #expect(throws: trick.error) { try await wallet.run(.registration) }
    #expect(wallet.authenticator.person.prompts.isEmpty && server.links.isEmpty)
    #expect(Set(server.paths) == ["/attestation/request"])
    #expect(server.paths.count == (trick.error == .reservedChallenge ? 2 : 1))
    #expect(try wallet.authenticator.store.allCredentials().isEmpty)
  }

  @Test(arguments: assertionOptions) private func `hostile sign-in options are refused without a prompt`(
    _ trick: Trick
  ) async throws {
    let isArmed = Switch()
    let server = Self.server { path, response in
      if isArmed.isOn, path.hasPrefix("/assertion/request") { trick.change(&response) }
    }
    let wallet = try TestWallet(at: server)
    _ = try await wallet.run(.registration)
    isArmed.turnOn()
    for flow in [TestWallet.Flow.authentication, .connect] {
      await #expect(throws: trick.error) { try await wallet.run(flow) }
    }
    #expect(wallet.authenticator.person.prompts.count == 1 && server.links.count == 1)
    #expect(server.paths.filter { $0.hasSuffix("/response") }.count == 1)
  }

  // Holds: SERVER-4, PEERSIGNIN-10
  @Test func `a challenge that begins with an Algorand tag is requested again once`() async throws {
    let isDrawn = Switch()
    let server = Self.server { path, response in
      guard path.contains("/request"), !isDrawn.isOn else { return }
      isDrawn.turnOn()
      Trick("a block", .reservedChallenge, "challenge", Self.reserved("BH")).change(&response)
    }
    let wallet = try TestWallet(at: server)
    _ = try await wallet.run(.registration)
    #expect(server.paths == ["/attestation/request", "/attestation/request", "/attestation/response"])
    #expect(wallet.authenticator.person.prompts.count == 1, "nobody was asked for the first")
    isDrawn.turnOff()
    _ = try await wallet.run(.authentication)
    #expect(server.paths.dropFirst(3).map { $0.hasSuffix("/response") } == [false, false, true])
    #expect(wallet.authenticator.person.prompts.count == 2)
  }

  @Test func `a public suffix is refused as a relying party`() async throws {
    let server = LiquidAuthServer(rpID: "github.io", origin: "https://alice.github.io")
    let wallet = try TestWallet(at: server, origin: "https://alice.github.io")
    await #expect(throws: LiquidAuthError.publicSuffix("github.io")) { try await wallet.run(.connect) }
    #expect(wallet.authenticator.person.prompts.isEmpty)
  }

  // MARK: - Refused at the end

  private static let responses: [Trick] =
    anywhere + [
      Trick("another wallet", .wrongUser(named: "EVIL", ours: TestWallet.address), "wallet", "EVIL"),
      Trick("no wallet", .missingRequiredField("wallet"), "wallet", nil),
      Trick("no passkeys", .missingRequiredField("credentials"), "credentials", nil),
    ]

  // Holds: PEERSIGNIN-11
  @Test(arguments: responses) private func `a faulty answer about the outcome is refused`(
    _ trick: Trick
  ) async throws {
    let server = Self.server { path, response in if path == "/attestation/response" { trick.change(&response) } }
    await #expect(throws: trick.error) { try await TestWallet(at: server).run(.registration) }

    let isArmed = Switch()
    let second = Self.server { path, response in
      if isArmed.isOn, path == "/assertion/response" { trick.change(&response) }
    }
    let wallet = try TestWallet(at: second)
    _ = try await wallet.run(.registration)
    isArmed.turnOn()
    await #expect(throws: trick.error) { try await wallet.run(.authentication) }
  }

  // Holds: PEERSIGNIN-11
  @Test func `an answer that names another passkey is refused`() async throws {
    let server = Self.server { path, response in
      if path == "/attestation/response" { response.change { $0["credentials"] = [["credId": "AAAA"]] } }
    }
    let wallet = try TestWallet(at: server)
    let id = try await wallet.authenticator.walletPasskey(rpID: Self.host).credentialID
    await #expect(throws: LiquidAuthError.wrongUser(named: "other passkeys", ours: Base64URL.encode(id))) {
      try await wallet.run(.registration)
    }
  }

  @Test func `a cookie for another domain is not kept, and the session is lost`() async throws {
    let server = Self.server { _, response in
      let headers = response.headers.map {
        $0.isNamed("set-cookie") ? HTTPHeader($0.name, $0.value + "; Domain=evil.example") : $0
      }
      response = HTTPResponse(status: response.status, headers: headers, body: response.body)
    }
    await #expect(throws: LiquidAuthError.authenticationFailed("Challenge not found")) {
      try await TestWallet(at: server).run(.registration)
    }
  }

  @Test func `a server that already has the passkey gets no second one`() async throws {
    let wallet = try TestWallet(at: Self.server())
    let first = try await wallet.run(.registration)
    let server = Self.server { path, response in
      guard path == "/attestation/request" else { return }
      let known: [JSONValue] = [
        ["type": "public-key", "id": "AAAA"],
        ["type": "public-key", "id": .text(Base64URL.encode(first.credentialID))],
      ]
      response.change { $0["excludeCredentials"] = .array(known) }
    }
    let again = try TestWallet(at: server, with: wallet.authenticator)
    await #expect(throws: LiquidAuthError.alreadyRegistered(rpID: Self.host)) { try await again.run(.registration) }
    #expect(try wallet.authenticator.store.allCredentials().map(\.id) == [first.credentialID])
  }

  // MARK: - Refused by this machine

  @Test(arguments: [
    (UserInteractionError.declined, LiquidAuthError.userCanceled), (.cancelled, .userCanceled), (.timedOut, .timedOut),
    (.verificationBlocked, .notVerified),
  ])
  func `after a refusal, no answer is sent`(_ refusal: UserInteractionError, _ error: LiquidAuthError) async throws {
    let server = Self.server()
    let authenticator = try TestAuthenticator(person: TestPerson(refusing: refusal))
    await #expect(throws: error) { try await TestWallet(at: server, with: authenticator).run(.connect) }
    #expect(!server.paths.contains { $0.hasSuffix("/response") })
  }

  @Test func `an unsuitable authenticator is reported before any request`() async throws {
    let server = Self.server()
    let blind = try TestAuthenticator(person: TestPerson(canVerify: false))
    await #expect(throws: LiquidAuthError.noVerification) {
      try await TestWallet(at: server, with: blind).run(.connect)
    }
    let old = try TestAuthenticator(extensions: [CredProtect.self])
    await #expect(throws: LiquidAuthError.noLiquid) {
      try await TestWallet(at: server, with: old).run(.connect)
    }
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: ["http://127.0.0.1:3000", "http://[::1]:3000", "https://[::1]:8443"])
  func `an origin for which authenticators sign nothing is refused at once`(_ origin: String) async throws {
    let server = LiquidAuthServer(rpID: "localhost", origin: origin)
    let wallet = try TestWallet(at: server, origin: origin)
    for flow in TestWallet.Flow.allCases {
      await #expect(throws: LiquidAuthError.unsignedOrigin(origin)) { try await wallet.run(flow) }
    }
    #expect(server.requests.isEmpty && wallet.progress.all.isEmpty)
  }

  @Test func `an unreachable server is an error with its host`() async throws {
    let wallet = try TestWallet(at: ScriptedServer(), origin: "https://example.com:8443")
    await #expect(throws: LiquidAuthError.network(host: "example.com:8443", .unreachable("nobody listens"))) {
      try await wallet.run(.connect)
    }
  }

  @Test func `a long device name is cut between characters`() async throws {
    let server = Self.server()
    let client = LiquidAuthClient(
      http: server, authenticator: try TestAuthenticator(), publicSuffixes: TestSuffixes(),
      userAgent: UserAgent(version: "1"), device: String(repeating: "é", count: 40), report: { _ in })
    _ = try await client.registration(
      origin: WebOrigin("https://example.com"), requestID: try #require(RequestID("1")))
    let body = try JSONValue(try #require(server.requests.last?.body))
    #expect(body["device"]?.text == String(repeating: "é", count: 32))
    #expect(body["clientExtensionResults"]?["liquid"]?["device"] == body["device"])
  }
}
