import CBOR
import CryptoPrimitives

@testable import CTAP2
@testable import Recovery

/// A series of requests to one authenticator; the input chooses them, and what the person does.
enum SessionTarget {
  static let target = Target(
    "ctap-session", of: "a series of requests of CTAP2 and U2F, with a person, time, tokens and locks", atMost: 512,
    seeds: { sessions }, read: readSession)

  /// The platform, and what it knows of the authenticator.
  private struct Session {
    var world: World
    /// The public keys of all credentials, by their ids.
    var keys: [[UInt8]: CredentialPublicKey] = [:]
    var ids: [[UInt8]] = []
    var version = PINUVAuthProtocol.two
    var agreed: (key: CBORMap, secret: PINUVAuthSecret)?
    var token: SecretBytes?

    private static let platformKey = constant {
      try P256.PrivateKey(scalar: secret([UInt8](repeating: 0x33, count: 32)))
    }
    static let sites = ["example.com", "other.example", "xn--bcher-kva.example"]
    static let clientDataHash = [UInt8](0..<32)

    init(_ world: World) { self.world = world }

    /// pinUvAuthParam and the protocol, at these keys; nothing without a token.
    func authorized(_ message: [UInt8], _ param: CBORValue, _ number: CBORValue, in members: inout CBORMap) {
      guard let token else { return }
      members[param] = .bytes(version.authenticate(message, key: token))
      members[number] = .unsigned(version.rawValue)
    }

    /// Agrees on a secret.
    mutating func agree() throws {
      let answer = try world.send(0x06, [1: .unsigned(version.rawValue), 2: 2])
      guard let map = answer.members[1]?.map else { return }
      let key = try P256.PublicKey(keyAgreement: map)
      agreed = (
        Self.platformKey.publicKey.keyAgreement, version.sharedSecret(try Self.platformKey.sharedSecret(with: key))
      )
    }

    mutating func takeToken(_ answer: (status: CTAPStatus, members: CBORMap)) {
      guard let encrypted = answer.members[2]?.bytes, let secret = agreed?.secret else { return }
      token = secret.decrypt(encrypted)
      expect(token != nil, "a token that does not open")
    }

    /// Checks a signature with the key of the credential that is said to have made it.
    func expectSignature(_ signature: [UInt8]?, by id: [UInt8]?, over message: [UInt8]) {
      guard let id, let signature, let key = keys[id] else { fatalError("a signature of an unknown credential") }
      let isValid =
        switch key {
        case .es256(let key): key.isValidSignature(signature, for: message)
        case .edDSA(let key): Ed25519.isValidSignature(signature, for: message, publicKey: key)
        }
      expect(isValid, "an invalid signature")
    }

    mutating func add(_ id: [UInt8], _ key: CredentialPublicKey) {
      expect(keys[id] == nil || keys[id] == key, "two keys with one id")
      keys[id] = key
      ids.append(id)
    }
  }

  private static func readSession(_ input: [UInt8]) throws {
    var choices = Choices(input)
    var session = Session(World(canVerify: choices.bool()))
    if choices.bool() { session.version = .one }
    var steps = 0
    while !choices.isEmpty, steps < 24 {
      steps += 1
      let before = try session.world.store.revision()
      let (isLocked, openings) = (session.world.vault.current == nil, session.world.vault.openings)
      try step(&choices, &session)
      if session.world.person.agreements == 0 {
        expect(try session.world.store.revision() == before, "passkeys changed before anybody agreed")
      }
      if isLocked, session.world.vault.openings == openings {
        expect(try session.world.store.revision() == before, "passkeys changed in a locked vault")
      }
    }
  }

  private static func step(_ choices: inout Choices, _ session: inout Session) throws {
    switch choices.number(below: 19) {
    case 0, 1: try register(&choices, &session)
    case 2, 3: try signIn(&choices, &session)
    case 4:
      let answer = try session.world.send([0x08])
      if answer.status == .success { expectAssertion(answer.members, allowed: [], session) }
    case 5: _ = try session.world.send([0x04])
    case 6:
      try session.agree()
      guard let agreed = session.agreed else { return }
      session.takeToken(
        try session.world.send(
          0x06,
          [
            1: .unsigned(session.version.rawValue), 2: 6, 3: .map(agreed.key), 9: .unsigned(UInt64(choices.byte())),
            10: .text(choices.one(of: Session.sites)),
          ]))
    case 7: try setPIN(&session)
    case 8:
      try session.agree()
      guard let agreed = session.agreed else { return }
      let hash = SHA256.hash(Array((choices.bool() ? "1234" : "9999").utf8)).prefix(16)
      session.takeToken(
        try session.world.send(
          0x06,
          [
            1: .unsigned(session.version.rawValue), 2: 9, 3: .map(agreed.key),
            6: .bytes(try agreed.secret.encrypt(secret(Array(hash)))), 9: .unsigned(UInt64(choices.byte())),
          ]))
    case 9: try manage(&choices, &session)
    case 10: try useLargeBlobs(&choices, &session)
    case 11: try configure(&choices, &session)
    case 12: _ = try session.world.send([choices.bool() ? 0x0B : 0x07])
    case 13:
      session.world.person.refuses(
        with: choices.one(of: [
          .declined, .unavailable, .timedOut, .cancelled, .wrongPassphrase, .verificationFailed, .verificationBlocked,
        ]))
    case 14:
      session.world.clock.advance(
        by: choices.one(of: [.milliseconds(1), .milliseconds(500), .seconds(11), .seconds(31), .seconds(700)]))
    case 15:
      let (clock, old) = (session.world.clock, session.world.context)
      clock.advance(by: .milliseconds(1))
      session.world.context =
        switch choices.number(below: 3) {
        case 0: RequestContext(channel: old.channel ^ 3, poweredUpAt: old.poweredUpAt, pluggedInAt: old.pluggedInAt)
        case 1: RequestContext(channel: old.channel, poweredUpAt: old.poweredUpAt, pluggedInAt: clock.now)
        default: RequestContext(channel: old.channel, poweredUpAt: clock.now)
        }
    case 16: _ = try session.world.send([choices.byte()] + choices.counted())
    case 17: try useU2F(&choices, &session)
    default:
      let vault = session.world.vault
      // If no prompt follows, the person keeps the event, and the vault keeps the person: they would never be freed.
      if choices.bool() { vault.lock() } else { session.world.person.finds { [weak vault] in vault?.lock() } }
    }
  }

  private static func options(_ choices: inout Choices, _ names: [String]) -> CBORValue? {
    var (options, bits) = (CBORMap(), choices.byte())
    for name in names {
      if bits & 1 == 1 { options[.text(name)] = .bool(bits & 2 == 2) }
      bits >>= 2
    }
    return options.isEmpty ? nil : .map(options)
  }

  /// Some of the known ids.
  private static func someIDs(_ choices: inout Choices, _ session: Session) -> [[UInt8]] {
    let bits = choices.byte()
    return session.ids.suffix(8).enumerated().filter { bits >> $0.offset & 1 == 1 }.map(\.element)
  }

  private static func list(_ ids: [[UInt8]]) -> CBORValue? {
    ids.isEmpty ? nil : .array(ids.map { .map(["id": .bytes($0), "type": "public-key"]) })
  }

  private static func register(_ choices: inout Choices, _ session: inout Session) throws {
    let user = [choices.byte() & 3]
    var members: CBORMap = [
      1: .bytes(Session.clientDataHash), 2: ["id": .text(choices.one(of: Session.sites)), "name": "Example"],
      3: ["id": .bytes(user), "name": "alice", "displayName": "Alice"],
      4: .array(
        choices.one(of: [[-7], [-8], [-8, -7], [-999]] as [[Int]]).map {
          .map(["alg": CBORValue($0), "type": "public-key"])
        }),
    ]
    members[5] = list(someIDs(&choices, session))
    var extensions = CBORMap()
    let bits = choices.byte()
    if bits & 1 != 0 { extensions["credProtect"] = .unsigned(UInt64(bits >> 6) + 1) }
    if bits & 2 != 0 { extensions["credBlob"] = .bytes(choices.counted()) }
    if bits & 4 != 0 { extensions["hmac-secret"] = true }
    if bits & 8 != 0 { extensions["largeBlobKey"] = true }
    if bits & 16 != 0 { extensions["minPinLength"] = true }
    if bits & 32 != 0 { extensions["thirdPartyPayment"] = true }
    members[6] = extensions.isEmpty ? nil : .map(extensions)
    members[7] = options(&choices, ["rk", "uv", "up"])
    if choices.bool() { session.authorized(Session.clientDataHash, 8, 9, in: &members) }

    let answer = try session.world.send(0x01, members)
    guard answer.status == .success else { return }
    guard let bytes = answer.members[2]?.bytes, let made = try AuthenticatorData(parsing: bytes).attestedCredentialData
    else { fatalError("a registration without a credential") }
    session.add(made.credentialID, made.publicKey.publicKey)
    guard let signature = answer.members[3]?.map?["sig"]?.bytes else { return }
    session.expectSignature(signature, by: made.credentialID, over: bytes + Session.clientDataHash)
  }

  private static func signIn(_ choices: inout Choices, _ session: inout Session) throws {
    var members: CBORMap = [1: .text(choices.one(of: Session.sites)), 2: .bytes(Session.clientDataHash)]
    let allowed = someIDs(&choices, session)
    members[3] = list(allowed)
    var extensions = CBORMap()
    let bits = choices.byte()
    if bits & 1 != 0 { extensions["credBlob"] = true }
    if bits & 2 != 0 { extensions["largeBlobKey"] = true }
    if bits & 4 != 0 { extensions["thirdPartyPayment"] = true }
    if bits & 8 != 0, let agreed = session.agreed {
      let salts = try agreed.secret.encrypt(secret([UInt8](repeating: 5, count: bits & 16 != 0 ? 64 : 32)))
      let mac = session.version.authenticate(salts, key: agreed.secret.authenticationKey)
      extensions["hmac-secret"] = [
        1: .map(agreed.key), 2: .bytes(salts), 3: .bytes(mac), 4: .unsigned(session.version.rawValue),
      ]
    }
    members[4] = extensions.isEmpty ? nil : .map(extensions)
    members[5] = options(&choices, ["up", "uv"])
    if choices.bool() { session.authorized(Session.clientDataHash, 6, 7, in: &members) }

    let answer = try session.world.send(0x02, members)
    if answer.status == .success { expectAssertion(answer.members, allowed: allowed, session) }
  }

  private static func expectAssertion(_ members: CBORMap, allowed: [[UInt8]], _ session: Session) {
    guard let data = members[2]?.bytes, (try? AuthenticatorData(parsing: data)) != nil else {
      fatalError("a sign-in without authenticator data")
    }
    let id = members[1]?.map?["id"]?.bytes ?? allowed.first
    expect(allowed.isEmpty || id.map { allowed.contains($0) } ?? false, "another credential than the site allows")
    session.expectSignature(members[3]?.bytes, by: id, over: data + Session.clientDataHash)
  }

  private static func setPIN(_ session: inout Session) throws {
    try session.agree()
    guard let agreed = session.agreed else { return }
    let padded = try agreed.secret.encrypt(secret(Array("1234".utf8) + [UInt8](repeating: 0, count: 60)))
    _ = try session.world.send(
      0x06,
      [
        1: .unsigned(session.version.rawValue), 2: 3, 3: .map(agreed.key),
        4: .bytes(session.version.authenticate(padded, key: agreed.secret.authenticationKey)), 5: .bytes(padded),
      ])
  }

  private static func manage(_ choices: inout Choices, _ session: inout Session) throws {
    let subcommand = choices.byte() & 7
    var parameters = CBORMap()
    switch subcommand {
    case 4, 5: parameters[1] = .bytes(RPIDHash(rpID: choices.one(of: Session.sites)).bytes)
    case 6, 7:
      let id = session.ids.isEmpty ? [] : choices.one(of: Array(session.ids.suffix(16)))
      parameters[2] = ["id": .bytes(id), "type": "public-key"]
      if subcommand == 7 { parameters[3] = ["id": .bytes([choices.byte() & 3]), "name": "bob"] }
    default: break
    }
    let encoded = parameters.isEmpty ? [] : CBOREncoder.encode(.map(parameters))
    var members: CBORMap = [1: .unsigned(UInt64(subcommand))]
    members[2] = parameters.isEmpty ? nil : .map(parameters)
    session.authorized([subcommand] + encoded, 4, 3, in: &members)
    _ = try session.world.send(0x0A, members)
  }

  private static func configure(_ choices: inout Choices, _ session: inout Session) throws {
    let subcommand = choices.byte() & 3
    var parameters = CBORMap()
    if subcommand == 3 {
      let bits = choices.byte()
      if bits & 1 != 0 { parameters[1] = .unsigned(UInt64(choices.byte() & 63)) }
      if bits & 2 != 0 { parameters[2] = .array(Session.sites.map { .text($0) }) }
      if bits & 4 != 0 { parameters[3] = .bool(bits & 8 != 0) }
    }
    let encoded = parameters.isEmpty ? [] : CBOREncoder.encode(.map(parameters))
    var members: CBORMap = [1: .unsigned(UInt64(subcommand))]
    members[2] = parameters.isEmpty ? nil : .map(parameters)
    session.authorized([UInt8](repeating: 0xFF, count: 32) + [0x0D, subcommand] + encoded, 4, 3, in: &members)
    _ = try session.world.send(0x0D, members)
  }

  private static func useLargeBlobs(_ choices: inout Choices, _ session: inout Session) throws {
    guard choices.bool() else {
      _ = try session.world.send(
        0x0C, [1: .unsigned(UInt64(choices.byte()) * 5), 3: .unsigned(UInt64(choices.byte()))])
      return
    }
    // A whole array with its digest; or a fragment of any bytes.
    var fragment = choices.counted()
    if choices.bool() { fragment += SHA256.hash(fragment).prefix(SerializedLargeBlobs.digestSize) }
    let offset = UInt32(choices.bool() ? choices.byte() : 0)
    var members: CBORMap = [2: .bytes(fragment), 3: .unsigned(UInt64(offset))]
    if offset == 0 { members[4] = .unsigned(UInt64(fragment.count + (choices.bool() ? Int(choices.byte()) : 0))) }
    let place = withUnsafeBytes(of: offset.littleEndian) { Array($0) }
    session.authorized(
      [UInt8](repeating: 0xFF, count: 32) + [0x0C, 0x00] + place + SHA256.hash(fragment), 5, 6, in: &members)
    _ = try session.world.send(0x0C, members)
  }

  private static func useU2F(_ choices: inout Choices, _ session: inout Session) throws {
    let application = RPIDHash(rpID: choices.one(of: Session.sites)).bytes
    let isPresent = choices.bool()
    guard choices.bool() else {
      let message = [0, 1, 0, 0, 0, 0, 64] + Session.clientDataHash + application
      guard let answer = session.world.send(u2F: message, isPresent: isPresent), answer.first == 5 else { return }
      expect(isPresent, "a registration without presence")
      let end = 67 + Int(answer[66])
      session.add(
        Array(answer[67..<end]), .es256(try P256.PublicKey(x: Array(answer[2..<34]), y: Array(answer[34..<66]))))
      return
    }
    guard !session.ids.isEmpty else { return }
    let id = choices.one(of: Array(session.ids.suffix(16)))
    let data = Session.clientDataHash + application + [UInt8(id.count)] + id
    let message = [0, 2, choices.one(of: [3, 7, 8]), 0, 0] + UInt16(data.count).bigEndianBytes + data
    guard let answer = session.world.send(u2F: message, isPresent: isPresent), answer.count > 7 else { return }
    session.expectSignature(
      Array(answer[5..<answer.count - 2]), by: id, over: application + answer.prefix(5) + Session.clientDataHash)
  }

  // MARK: - Seeds

  /// Registrations and sign-ins with and without a token, with U2F, and with locks between and in them.
  private static let sessions: [[UInt8]] = [
    [1, 0] + [0, 1, 0, 0, 0, 0, 0x03, 0] + [2, 0, 1, 0, 0, 0],
    [1, 0] + [6, 0x1F, 0] + [0, 1, 0, 2, 0, 0x0F, 3, 1, 2, 3, 0x03, 1] + [3, 0, 1, 9, 0, 1] + [9, 2] + [9, 6, 0, 1],
    [0, 1] + [7] + [8, 1, 0x3F] + [10, 1, 1, 0x80, 1, 0, 0] + [10, 0, 9, 0] + [11, 2] + [15, 2] + [12, 0],
    [1, 0] + [0, 1, 0, 0, 0, 0, 0x03, 0] + [18, 1] + [5] + [2, 0, 1, 0, 0, 0] + [18, 0] + [3, 0, 1, 0, 0, 0] + [4],
    [1, 0] + [6, 0x1F, 0] + [18, 1] + [13, 0] + [2, 0, 0, 0, 0, 0] + [9, 4, 0] + [18, 0] + [0, 1, 0, 0, 0, 0, 3, 0] + [
      12, 0,
    ],
    [1, 0] + [17, 0, 1, 0] + [17, 0, 1, 1, 0, 0] + [2, 0, 1, 0, 0, 0] + [13, 0] + [0, 1, 0, 0, 0, 0, 3, 0] + [
      14, 2, 4,
    ],
  ]
}
