import CBOR
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

// Holds: EXT-1, EXT-6
/// hmac-secret and hmac-secret-mc in their ceremonies; `hmac-secret-prf.json` is in `HMACSecretVectorTests`.
@Suite struct HMACSecretTests {
  private static let one = [UInt8](repeating: 0xA1, count: 32)
  private static let two = [UInt8](repeating: 0xB2, count: 32)

  struct Choice: Sendable {
    fileprivate let version: PINUVAuthProtocol
    let uv: Bool
  }
  static let choices = PINUVAuthProtocol.allCases.flatMap { version in
    [false, true].map { Choice(version: version, uv: $0) }
  }

  /// The decrypted outputs of one sign-in.
  private func outputs(
    _ salts: [UInt8], allowing ids: [[UInt8]] = [], uv: Bool = false, _ platform: TestPlatform,
    in world: inout TestWorld
  ) async throws -> [UInt8] {
    let input = try await platform.saltInput(salts, in: &world)
    let answer = await world.getAssertion(
      Requests.getAssertion(
        allowing: ids, uv: uv, changes: Requests.signingIn(["hmac-secret": .map(input)])))
    return try outputs(answer, platform)
  }

  private func outputs(
    _ answer: Answer, _ platform: TestPlatform, of identifier: CBORValue = "hmac-secret"
  ) throws -> [UInt8] {
    let data = try #require(answer.data)
    #expect(data.flags & 0x81 == 0x81)  // ED, UP
    return try platform.decrypt(try #require(data.extensions?[identifier]?.bytes))
  }

  // Holds: EXT-1, EXT-4
  @Test(arguments: choices)
  func `the outputs match the vectors, in the order of their salts`(choice: Choice) async throws {
    let vectors = try KeysAndRecovery.load()
    let expected = choice.uv ? vectors.hmacSecretOutput.outputWithUV.hex : vectors.hmacSecretOutput.outputWithoutUV.hex
    let salt = vectors.hmacSecretOutput.salt1.bytes
    let platform = try TestPlatform(choice.version)
    var world = TestWorld()
    let made = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, changes: Requests.registering(["hmac-secret": true])))
    let data = try #require(made.data)
    #expect(data.extensions == ["hmac-secret": true])
    #expect(data.credentialID == vectors.credentials[0].sealed.id.bytes)

    #expect(Hex(try await outputs(salt, uv: choice.uv, platform, in: &world)) == expected)
    let both = try await outputs(salt + Self.two, uv: choice.uv, platform, in: &world)
    let reversed = try await outputs(Self.two + salt, uv: choice.uv, platform, in: &world)
    #expect(Hex(both.prefix(32)) == expected)
    #expect(both.count == 64)
    #expect(reversed == both.suffix(32) + both.prefix(32))
  }

  // Holds: EXT-3
  @Test func `protocol one is used if none is named`() async throws {
    let platform = try TestPlatform(.one)
    var world = TestWorld()
    _ = try await world.register()
    let expected = try await outputs(Self.one, platform, in: &world)
    var input = try await platform.saltInput(Self.one, in: &world)
    input[4] = nil
    let answer = await world.getAssertion(
      Requests.getAssertion(changes: Requests.signingIn(["hmac-secret": .map(input)])))
    #expect(try outputs(answer, platform) == expected)
  }

  // Holds: EXT-4
  @Test(arguments: PINUVAuthProtocol.allCases)
  func `every credential has both secrets, whatever its registration requested`(
    version: PINUVAuthProtocol
  ) async throws {
    let platform = try TestPlatform(version)
    for rk in [false, true] {
      var world = TestWorld()
      let made = try await world.register(rk: rk)
      let ids = [made.credentialID]
      let plain = try await outputs(Self.one, allowing: ids, platform, in: &world)
      let verified = try await outputs(Self.one, allowing: ids, uv: true, platform, in: &world)
      #expect(plain != verified)
      #expect(plain.count == 32)

      // Another machine with the phrase and the id returns the same.
      var other = TestWorld()
      #expect(try await outputs(Self.one, allowing: ids, platform, in: &other) == plain)
      #expect(try await outputs(Self.one, allowing: ids, uv: true, platform, in: &other) == verified)
    }
  }

  // Holds: GA-18
  @Test func `each account of a sign-in has its own outputs`() async throws {
    let platform = try TestPlatform(.two)
    var world = TestWorld()
    let names = ["alice", "bob", "carol"]
    var ids: [[UInt8]] = []
    for name in names {
      ids.append(try await world.register(userID: Array(name.utf8), name: name).credentialID)
    }
    let input = try await platform.saltInput(Self.one + Self.two, in: &world)
    var answers = [
      await world.getAssertion(
        Requests.getAssertion(uv: true, changes: Requests.signingIn(["hmac-secret": .map(input)])))
    ]
    for _ in 1..<names.count { answers.append(await world.getNextAssertion()) }
    let told = try answers.map { try outputs($0, platform) }
    #expect(Set(told).count == names.count)
    for (id, told) in zip(ids.reversed(), told) {
      #expect(try await outputs(Self.one + Self.two, allowing: [id], uv: true, platform, in: &world) == told)
    }
  }

  // Holds: EXT-6
  @Test(arguments: choices)
  func `a registration with salts returns the same outputs as a sign-in`(choice: Choice) async throws {
    let platform = try TestPlatform(choice.version)
    for salts in [Self.one, Self.one + Self.two] {
      var world = TestWorld()
      let input = try await platform.saltInput(salts, in: &world)
      let made = await world.makeCredential(
        Requests.makeCredential(
          uv: choice.uv, changes: Requests.registering(["hmac-secret": true, "hmac-secret-mc": .map(input)])))
      let told = try outputs(made, platform, of: "hmac-secret-mc")
      let data = try #require(made.data)
      #expect(data.extensions?["hmac-secret"] == true)
      #expect(
        try await outputs(salts, allowing: [data.credentialID], uv: choice.uv, platform, in: &world) == told)
      #expect(
        try await outputs(salts, allowing: [data.credentialID], uv: !choice.uv, platform, in: &world) != told)
    }
  }

  @Test func `verification by a token counts as verification`() async throws {
    let platform = try TestPlatform(.two)
    var world = TestWorld()
    let id = try await world.register().credentialID
    let verified = try await outputs(Self.one, allowing: [id], uv: true, platform, in: &world)
    let answer = try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world)
    let token = try platform.token(answer)
    let input = try await platform.saltInput(Self.one, in: &world)
    let signedIn = await world.getAssertion(
      Requests.getAssertion(
        allowing: [id], changes: Requests.signingIn(["hmac-secret": .map(input)]) + token.getAssertion()))
    #expect(try outputs(signedIn, platform) == verified)
  }

  // MARK: Refused requests

  private static let coordinate = CBORValue.bytes([UInt8](repeating: 1, count: 32))

  private static func key(algorithm: CBORValue = -25, x: CBORValue, y: CBORValue) -> CBORValue {
    [1: 2, 3: algorithm, -1: 1, -2: x, -3: y]
  }

  /// Changes to a valid input.
  static let refusedInputs: [RequestCase] = [
    RequestCase("no keyAgreement", 1, nil, .missingParameter),
    RequestCase("no saltEnc", 2, nil, .missingParameter),
    RequestCase("no saltAuth", 3, nil, .missingParameter),
    RequestCase("keyAgreement is bytes", 1, .bytes([4]), .cborUnexpectedType),
    RequestCase("saltEnc is a text", 2, "salt", .cborUnexpectedType),
    RequestCase("saltAuth is true", 3, true, .cborUnexpectedType),
    RequestCase("pinUvAuthProtocol is a text", 4, "2", .cborUnexpectedType),
    RequestCase("pinUvAuthProtocol is negative", 4, -1, .cborUnexpectedType),
    RequestCase("pinUvAuthProtocol 0", 4, 0, .invalidParameter),
    RequestCase("pinUvAuthProtocol 3", 4, 3, .invalidParameter),
    RequestCase("a key without coordinates", 1, [1: 2, 3: -25, -1: 1], .missingParameter),
    RequestCase("no point of the curve", 1, key(x: coordinate, y: coordinate), .invalidParameter),
    RequestCase("a short coordinate", 1, key(x: .bytes([1]), y: coordinate), .invalidParameter),
    RequestCase("a key for signatures", 1, key(algorithm: -7, x: coordinate, y: coordinate), .invalidParameter),
    RequestCase("an empty saltAuth", 3, .bytes([]), .pinAuthInvalid),
    RequestCase("another saltAuth", 3, .bytes([UInt8](repeating: 0, count: 32)), .pinAuthInvalid),
    RequestCase("a short saltAuth of another", 3, .bytes([UInt8](repeating: 0, count: 16)), .pinAuthInvalid),
    RequestCase("another saltEnc", 2, .bytes([UInt8](repeating: 0, count: 48)), .pinAuthInvalid),
    RequestCase("an empty saltEnc", 2, .bytes([]), .pinAuthInvalid),
  ]

  // Holds: CTAP2-11, EXT-2
  @Test(arguments: PINUVAuthProtocol.allCases, refusedInputs)
  func `an invalid input is refused before any prompt, locked or not`(
    version: PINUVAuthProtocol, request: RequestCase
  ) async throws {
    for isOpen in [false, true] {
      let platform = try TestPlatform(version)
      var world = TestWorld(isOpen: isOpen)
      var input = try await platform.saltInput(Self.one, in: &world)
      for (key, value) in request.changes { input[key] = value }
      #expect(await statuses(of: .map(input), in: &world) == [request.status, request.status])
      #expect(world.keySource.openings == 0)
      #expect(world.person.shown.isEmpty)
    }
  }

  // Holds: CTAP2-11, EXT-2
  @Test(arguments: PINUVAuthProtocol.allCases, [0, 16, 48, 80, 96])
  func `a number of salts other than one or two is refused with 03`(version: PINUVAuthProtocol, count: Int) async throws
  {
    let platform = try TestPlatform(version)
    var world = TestWorld()
    let input = try await platform.saltInput([UInt8](repeating: 1, count: count), in: &world)
    #expect(await statuses(of: .map(input), in: &world) == [.invalidLength, .invalidLength])
  }

  @Test(arguments: PINUVAuthProtocol.allCases)
  func `an authentic value that is not a ciphertext is refused with 03`(version: PINUVAuthProtocol) async throws {
    let platform = try TestPlatform(version)
    var world = TestWorld()
    var input = try await platform.saltInput(Self.one, in: &world)
    for count in [0, 1, 15, 33] {
      let bytes = [UInt8](repeating: 1, count: count)
      input[2] = .bytes(bytes)
      input[3] = .bytes(try platform.mac(bytes))
      #expect(await statuses(of: .map(input), in: &world) == [.invalidLength, .invalidLength])
    }
  }

  @Test(arguments: [true, false, 1, "salt", .bytes([1]), []] as [CBORValue])
  func `salts that are not a map are refused with 11`(input: CBORValue) async {
    var world = TestWorld(isOpen: false)
    #expect(await statuses(of: input, in: &world) == [.cborUnexpectedType, .cborUnexpectedType])
  }

  /// The statuses of a sign-in with hmac-secret, and of a registration with hmac-secret-mc.
  private func statuses(of input: CBORValue, in world: inout TestWorld) async -> [CTAPStatus?] {
    let answer = await world.getAssertion(
      Requests.getAssertion(changes: Requests.signingIn(["hmac-secret": input])))
    let made = await world.makeCredential(
      Requests.makeCredential(changes: Requests.registering(["hmac-secret": true, "hmac-secret-mc": input])))
    return [answer.status, made.status]
  }

  // Holds: CTAP2-12, EXT-5
  @Test(arguments: [false, true])
  func `salts without user presence are refused with 2B`(uv: Bool) async throws {
    let platform = try TestPlatform(.two)
    var world = TestWorld()
    let id = try await world.register().credentialID
    let input = try await platform.saltInput(Self.one, in: &world)
    let answer = await world.getAssertion(
      Requests.getAssertion(
        allowing: [id], up: false, uv: uv, changes: Requests.signingIn(["hmac-secret": .map(input)])))
    #expect(answer.bytes == [0x2B])
    #expect(world.person.shown.count == 1)
  }

  @Test func `a replug and a wrong PIN renew the key agreement key`() async throws {
    let platform = try TestPlatform(.two)
    var world = TestWorld()
    _ = try await platform.setPIN("1234", in: &world)
    let input = try await platform.saltInput(Self.one, in: &world)
    #expect(await statuses(of: .map(input), in: &world)[0] == .noCredentials)
    #expect(try await platform.askToken(pin: "4321", in: &world).status == .pinInvalid)
    #expect(await statuses(of: .map(input), in: &world) == [.pinAuthInvalid, .pinAuthInvalid])

    let fresh = try await platform.saltInput(Self.one, in: &world)
    #expect(await statuses(of: .map(fresh), in: &world)[0] == .noCredentials)
    world.replug()
    #expect(await statuses(of: .map(fresh), in: &world) == [.pinAuthInvalid, .pinAuthInvalid])
  }

  static let refusedRegistrations: [RequestCase] = [
    RequestCase("a number", 6, ["hmac-secret": 1], .cborUnexpectedType),
    RequestCase("a text", 6, ["hmac-secret": "true"], .cborUnexpectedType),
    RequestCase("salts, as in a sign-in", 6, ["hmac-secret": [1: [:]]], .cborUnexpectedType),
    RequestCase("salts alone", 6, ["hmac-secret-mc": [1: [:]]], .missingParameter),
    RequestCase("salts beside false", 6, ["hmac-secret": false, "hmac-secret-mc": [:]], .missingParameter),
  ]

  // Holds: CTAP2-12
  @Test(arguments: refusedRegistrations)
  func `an invalid hmac-secret in a registration is refused`(_ request: RequestCase) async {
    var world = TestWorld(isOpen: false)
    #expect(
      await world.makeCredential(Requests.makeCredential(changes: request.changes)).bytes == [request.status.rawValue])
    #expect(world.keySource.openings == 0)
  }

  @Test func `hmac-secret-mc is ignored in a sign-in`() async throws {
    var world = TestWorld()
    _ = try await world.register()
    let answer = await world.getAssertion(Requests.getAssertion(changes: Requests.signingIn(["hmac-secret-mc": 1])))
    #expect(answer.status == .success)
    #expect(answer.data?.extensions == nil)
  }
}

/// `hmac-secret-prf.json` of WebAuthn Level 3, byte for byte.
@Suite struct HMACSecretVectorTests {
  private static func vectors() throws -> Vector { try Vector("hmac-secret-prf") }

  private static func bytes(_ secret: SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }

  private static func secret(_ hex: Hex) -> SecretBytes { hex.bytes.withUnsafeBytes(SecretBytes.init(copying:)) }

  // Holds: EXT-4
  @Test func `the salts decrypt, and the outputs match`() throws {
    let vectors = try Self.vectors()
    let key = try P256.PrivateKey(scalar: Self.secret(vectors.authenticatorKeyAgreementPrivateKey.hex))
    let platform = try P256.PublicKey(
      x: vectors.platformKeyAgreementPublicX.bytes, y: vectors.platformKeyAgreementPublicY.bytes)
    let z = try key.sharedSecret(with: platform)
    #expect(Hex(Self.bytes(z)) == vectors.ecdhZ.hex)
    #expect(vectors.cases.array.map { $0.pinUvAuthProtocol.integer() } == [2, 2, 1])
    for vector in vectors.cases.array {
      let shared = try PINUVAuthProtocol(number: vector.pinUvAuthProtocol.integer()).sharedSecret(z)
      #expect(Self.bytes(shared.authenticationKey) == Array(vector.sharedSecret.bytes.prefix(32)))
      let salts = try HMACSecretSalts(
        saltEnc: vector.saltEnc.bytes, saltAuth: vector.saltAuth.bytes, under: shared)
      let outputs = salts.outputs(Self.secret(vectors.credRandom.hex))
      #expect(Self.bytes(outputs) == vector.outputs.array.flatMap(\.bytes))
      #expect(shared.decrypt(vector.outputEnc.bytes).map(Self.bytes) == vector.outputs.array.flatMap(\.bytes))
      // Protocol one is deterministic.
      if vector.pinUvAuthProtocol.integer() == 1 { #expect(Hex(try shared.encrypt(outputs)) == vector.outputEnc.hex) }
    }
  }

  @Test func `the salts are the WebAuthn PRF hashes of the inputs`() throws {
    let vectors = try Self.vectors()
    let salts = [vectors.prfInputs.first, vectors.prfInputs.second].map { input in
      Hex(SHA256.hash(Array("WebAuthn PRF\0".utf8) + input.bytes))
    }
    for vector in vectors.cases.array {
      let expected = vector.salts.array.map(\.hex)
      #expect(expected == Array(salts.prefix(expected.count)))
    }
  }

  // Holds: CTAP2-11
  @Test func `salts with any byte changed are refused`() throws {
    let vectors = try Self.vectors()
    let z = Self.secret(vectors.ecdhZ.hex)
    for vector in vectors.cases.array {
      let shared = try PINUVAuthProtocol(number: vector.pinUvAuthProtocol.integer()).sharedSecret(z)
      let (saltEnc, saltAuth) = (vector.saltEnc.bytes, vector.saltAuth.bytes)
      for index in saltEnc.indices {
        var changed = saltEnc
        changed[index] ^= 1
        #expect(throws: CTAPError(.pinAuthInvalid, "")) {
          try HMACSecretSalts(saltEnc: changed, saltAuth: saltAuth, under: shared)
        }
      }
      for index in saltAuth.indices {
        var changed = saltAuth
        changed[index] ^= 1
        #expect(throws: CTAPError(.pinAuthInvalid, "")) {
          try HMACSecretSalts(saltEnc: saltEnc, saltAuth: changed, under: shared)
        }
      }
    }
  }

  @Test func `hmac-secret false is ignored`() async throws {
    var world = TestWorld()
    let made = await world.makeCredential(Requests.makeCredential(changes: [(6, ["hmac-secret": false])]))
    let data = try #require(made.map?[2]?.bytes)
    #expect(ParsedAuthenticatorData(data)?.extensions == nil)
  }
}
