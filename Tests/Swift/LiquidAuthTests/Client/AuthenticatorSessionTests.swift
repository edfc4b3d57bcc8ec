import CBOR
import CTAP2
import Recovery
import Synchronization
import Testing

@testable import LiquidAuth

/// Faulty answers of an authenticator, which must not reach a server.
@Suite struct AuthenticatorSessionTests {
  private struct Trick: Sendable, CustomTestStringConvertible {
    let name: String
    let error: LiquidAuthError
    let change: @Sendable (inout CBORMap) -> Void

    init(_ name: String, _ error: LiquidAuthError, _ change: @escaping @Sendable (inout CBORMap) -> Void) {
      (self.name, self.error, self.change) = (name, error, change)
    }

    /// Changes the authenticator data, which is member 2 of both answers.
    init(_ name: String, _ error: LiquidAuthError, data change: @escaping @Sendable (inout AuthenticatorData) -> Void) {
      self.init(name, error) { answer in
        guard let bytes = answer[2]?.bytes, var data = try? AuthenticatorData(parsing: bytes) else { return }
        change(&data)
        answer[2] = .bytes(data.bytes)
      }
    }

    /// Changes a member of the output of `liquid`.
    init(_ name: String, _ error: LiquidAuthError, liquid member: CBORValue, _ value: CBORValue?) {
      self.init(
        name, error,
        data: { data in
          guard var output = data.extensions["liquid"]?.map else { return }
          output[member] = value
          data.extensions["liquid"] = .map(output)
        })
    }

    var testDescription: String { name }
  }

  private static let noWord = LiquidAuthError.signingFailed(
    "its answer has no output of the extension liquid for this request")
  private static let unreadable = LiquidAuthError.signingFailed("its authenticator data cannot be read")

  private static let inBoth: [Trick] = [
    Trick(
      "another site", .signingFailed("its answer is for another site"),
      data: { $0.rpIDHash = RPIDHash(rpID: "example.org") }),
    Trick("no presence", .notVerified, data: { $0.flags.remove(.userPresent) }),
    Trick("no verification", .notVerified, data: { $0.flags.remove(.userVerified) }),
    Trick("no authenticator data", unreadable) { $0[2] = nil },
    Trick("authenticator data cut off", unreadable) { $0[2] = ($0[2]?.bytes).map { .bytes($0.dropLast()) } },
    Trick(
      "no output", noWord,
      data: {
        $0.extensions["liquid"] = nil; $0.extensions["x"] = 1
      }),
    Trick("another type", noWord, liquid: "type", "bitcoin"),
    Trick("another request", noWord, liquid: "requestId", "2"),
    Trick("no request", noWord, liquid: "requestId", nil), Trick("another device", noWord, liquid: "device", "Mars"),
    Trick("no signature", noWord, liquid: "signature", nil),
    Trick(
      "another address", .signingFailed("the signature is from a different Algorand account"),
      liquid: "address", "2SPDE6XLJNXFTOO7OIGNRNKSEDOHJWVD3HBSEAPHONZQ4IQEYOGYTP6LXA"),
    Trick(
      "another signature", .signingFailed("the Algorand account's signature is not over the challenge"),
      liquid: "signature", .bytes([UInt8](repeating: 1, count: 64))),
    Trick(
      "a short signature", .signingFailed("the Algorand account's signature is not over the challenge"),
      liquid: "signature", .bytes([1])),
  ]

  private static let registrations =
    inBoth + [
      Trick("packed", .signingFailed("it used an attestation format that was not requested")) { $0[1] = "packed" },
      Trick("a statement", .signingFailed("it used an attestation format that was not requested")) { $0[3] = ["x": 1] },
      Trick(
        "no passkey", .signingFailed("its answer to a registration has no new ES256 key"),
        data: {
          $0 = AuthenticatorData(rpIDHash: $0.rpIDHash, flags: $0.flags, signCount: 0, extensions: $0.extensions)
        }),
      Trick(
        "another algorithm", .signingFailed("its answer to a registration has no new ES256 key"),
        data: { $0.attestedCredentialData?.publicKey = COSEKey(.edDSA([UInt8](repeating: 1, count: 32))) }),
    ]

  private static let signIns =
    inBoth + [
      Trick("another passkey", .signingFailed("the signature is from a different passkey")) {
        $0[1] = ["id": .bytes([1]), "type": "public-key"]
      },
      Trick("no passkey", .signingFailed("the signature is from a different passkey")) { $0[1] = nil },
      Trick("no signature", .signingFailed("its answer to a sign-in has no signature, or a new passkey")) {
        $0[3] = nil
      },
      Trick("an empty signature", .signingFailed("its answer to a sign-in has no signature, or a new passkey")) {
        $0[3] = .bytes([])
      },
    ]

  @Test(arguments: registrations) private func `a faulty registration answer is not sent on`(
    _ trick: Trick
  ) async throws {
    let server = LiquidAuthServer(rpID: "example.com", origin: "https://example.com")
    let authenticator = try TestAuthenticator { command, answer in if command == 1 { trick.change(&answer) } }
    let wallet = try TestWallet(at: server, with: authenticator)
    await #expect(throws: trick.error) { try await wallet.run(.registration) }
    #expect(server.paths == ["/attestation/request"])
  }

  @Test(arguments: signIns) private func `a faulty sign-in answer is not sent on`(_ trick: Trick) async throws {
    let server = LiquidAuthServer(rpID: "example.com", origin: "https://example.com")
    let authenticator = try TestAuthenticator { command, answer in if command == 2 { trick.change(&answer) } }
    let wallet = try TestWallet(at: server, with: authenticator)
    _ = try await wallet.run(.registration)
    await #expect(throws: trick.error) { try await wallet.run(.authentication) }
    #expect(server.paths.filter { $0.hasSuffix("/response") } == ["/attestation/response"])
  }

  // Holds: WALLET-7
  @Test func `the authenticator port gets the link's host`() async throws {
    let asked = Mutex<[String]>([])
    var parrot = Parrot(passkey: .success(WalletPasskey(credentialID: [1], isStored: false)))
    parrot.askedPasskey = { rpID, host in asked.withLock { $0.append("\(rpID) for \(host)") } }
    let session = AuthenticatorSession(port: parrot, device: "Linux")
    _ = try await session.passkey(of: "w.a.example", or: ["a.example"])
    #expect(asked.withLock { $0 } == ["w.a.example for w.a.example", "a.example for w.a.example"])
  }

  // MARK: - The messages

  /// An authenticator that returns given answers.
  private struct Parrot: AuthenticatorPort {
    var account: Result<String, PortError> = .success(TestWallet.address)
    var passkey: Result<WalletPasskey, PortError> = .success(
      WalletPasskey(credentialID: [UInt8](repeating: 7, count: 32), isStored: true))
    var answers: [UInt8: Result<[UInt8], PortError>] = [:]
    var heard: @Sendable ([UInt8]) -> Void = { _ in }
    var askedPasskey: @Sendable (String, String) -> Void = { _, _ in }

    func account() async throws(PortError) -> String { try account.get() }
    func walletPasskey(rpID: String, host: String) async throws(PortError) -> WalletPasskey {
      askedPasskey(rpID, host)
      return try passkey.get()
    }
    func respond(to message: [UInt8]) async throws(PortError) -> [UInt8] {
      heard(message)
      if let answer = answers[message[0]] { return try answer.get() }
      let information: CBORMap = [2: ["liquid"], 4: ["uv": true]]
      return [0] + CBOREncoder.encode(.map(information))
    }
  }

  private static func run(_ parrot: Parrot, _ ceremony: LiquidCeremony) async throws(LiquidAuthError) {
    let session = AuthenticatorSession(port: parrot, device: "Linux")
    let origin = try WebOrigin("https://example.com")
    guard let requestID = RequestID("1") else { throw .noRequestID }
    let request = CeremonyRequest(
      ceremony: ceremony, rpID: "example.com", challenge: try Challenge(ClientDataTests.text), requestID: requestID,
      address: try await session.account())
    let clientData = try ClientData(ceremony, challenge: request.challenge, origin: origin)
    switch ceremony {
    case .registration: _ = try await session.makeCredential(request, clientData, excluding: [[1], [2]])
    case .authentication:
      let passkey = try await session.passkey(of: "example.com", or: []).passkey
      _ = try await session.getAssertion(request, clientData, by: passkey.credentialID)
    }
  }

  @Test func `each request has the expected bytes`() async throws {
    let messages = MessageLog()
    let parrot = Parrot(answers: [1: .success([0x27]), 2: .success([0x27])]) { messages.append($0) }
    for ceremony in [LiquidCeremony.registration, .authentication] {
      await #expect(throws: LiquidAuthError.userCanceled) { try await Self.run(parrot, ceremony) }
    }
    let address = TestWallet.address
    let clientData = try [LiquidCeremony.registration, .authentication].map {
      try ClientData($0, challenge: Challenge(ClientDataTests.text), origin: WebOrigin("https://example.com"))
    }
    let liquid = clientData.map { clientData -> CBORValue in
      ["liquid": ["clientDataJSON": .bytes(clientData.json), "requestId": "1", "device": "Linux"]]
    }
    let makeCredential: CBORMap = [
      1: .bytes(clientData[0].hash), 2: ["id": "example.com", "name": "example.com"],
      3: ["id": .bytes(Array(address.utf8)), "name": .text(address), "displayName": .text(address)],
      4: [["alg": -7, "type": "public-key"]],
      5: [["id": .bytes([1]), "type": "public-key"], ["id": .bytes([2]), "type": "public-key"]], 6: liquid[0],
      7: ["rk": true, "uv": true], 11: ["none"],
    ]
    let getAssertion: CBORMap = [
      1: "example.com", 2: .bytes(clientData[1].hash),
      3: [["id": .bytes([UInt8](repeating: 7, count: 32)), "type": "public-key"]], 4: liquid[1], 5: ["uv": true],
    ]
    #expect(
      messages.all == [
        [4], [1] + CBOREncoder.encode(.map(makeCredential)), [4], [2] + CBOREncoder.encode(.map(getAssertion)),
      ])
    #expect(messages.all.allSatisfy { $0.count <= Authenticator.maxMsgSize })
  }

  private static let statuses: [(UInt8, LiquidAuthError)] = [
    (0x27, .userCanceled), (0x2D, .userCanceled), (0x2F, .timedOut), (0x3A, .timedOut), (0x36, .notVerified),
    (0x33, .notVerified), (0x32, .notVerified), (0x34, .notVerified), (0x3C, .notVerified), (0x3F, .notVerified),
    (0x2C, .noVerification), (0x2B, .noVerification),
    (0x2E, .noCredential(rpID: "example.com")), (0x19, .alreadyRegistered(rpID: "example.com")),
    (0x28, .signingFailed("there is no space for another passkey")),
    (0xE0, .signingFailed("it does not know this form of client data")),
    (0xE1, .signingFailed("it does not know this form of client data")),
    (0xE2, .signingFailed("it considers the origin to be another site's")), (0xE3, .challengeForm),
    (0xE4, .reservedChallenge), (0x7F, .signingFailed("status 7F")), (0x01, .signingFailed("status 01")),
    (0xFF, .signingFailed("status FF")),
  ]

  @Test(arguments: statuses) func `every status has its error`(_ status: UInt8, _ error: LiquidAuthError) async {
    for (command, ceremony) in [(UInt8(1), LiquidCeremony.registration), (2, .authentication)] {
      await #expect(throws: error) {
        try await Self.run(Parrot(answers: [command: .success([status])]), ceremony)
      }
    }
  }

  private static let answers: [(Result<[UInt8], PortError>, LiquidAuthError)] = [
    (.success([]), .signingFailed("its answer is empty")),
    (.success([0]), .signingFailed("its answer is not canonical CBOR")),
    (.success([0, 0x80]), .signingFailed("its answer is not canonical CBOR")),
    (.success([0, 0xA1, 0x18, 0x01, 0x00]), .signingFailed("its answer is not canonical CBOR")),
    (.success([0, 0xA0, 0x00]), .signingFailed("its answer is not canonical CBOR")),
    (.failure(.declined), .declined(.declined)), (.failure(.timedOut), .timedOut),
    (.failure(.unreachable("gone; start it")), .authenticator(.refused("gone; start it"))),
    (.failure(.refused("too old; update it")), .authenticator(.refused("too old; update it"))),
  ]

  // Holds: PEERSIGNIN-11
  @Test(arguments: answers) func `an invalid or failed answer is an error with the reason`(
    _ answer: Result<[UInt8], PortError>, _ error: LiquidAuthError
  ) async {
    for command in [UInt8(1), 4] {
      await #expect(throws: error) { try await Self.run(Parrot(answers: [command: answer]), .registration) }
    }
  }

  @Test func `a refused or invalid account or passkey is an error`() async {
    for reason in ["the user refused", "no prompt could be shown; run: liquid-auth status"] {
      await #expect(throws: LiquidAuthError(.userCanceled, "nothing was signed: \(reason)")) {
        try await Self.run(Parrot(account: .failure(PortError(.declined, reason))), .registration)
      }
    }
    await #expect(throws: LiquidAuthError.signingFailed("it returned no address")) {
      try await Self.run(Parrot(account: .success("me")), .registration)
    }
    await #expect(throws: LiquidAuthError.timedOut) {
      try await Self.run(Parrot(passkey: .failure(.timedOut)), .authentication)
    }
  }
}
