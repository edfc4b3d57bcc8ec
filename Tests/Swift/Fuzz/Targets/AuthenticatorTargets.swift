import CBOR
import CryptoPrimitives
import DeterministicKeys
import TestSupport
import TestVectors

@testable import CTAP2
@testable import Recovery

/// Messages to the authenticator.
enum AuthenticatorTargets {
  static let all: [Target] = [
    Target("ctap", of: "one message of CTAP2", atMost: 1900, words: words, seeds: { messages }, read: readMessage),
    Target(
      "ctap-hybrid", of: "one message of a browser on another computer", atMost: 1900,
      words: words + ["prf", "eval", "evalByCredential", "first", "second"], seeds: { messages + messagesWithSalts },
      read: readHybridMessage),
    SessionTarget.target,
    Target(
      "u2f", of: "a message of U2F, after a byte for presence", atMost: 400,
      seeds: {
        let vectors = try Vector("u2f-and-ctap2-messages").u2f
        let messages = [
          vectors.versionRequestApdu, vectors.register.requestApdu,
          vectors.authenticate["requestApduExample_keyHandle64x03"],
        ].map(\.bytes)
        return messages.flatMap { [[0] + $0, [1] + $0] }
      }, read: readU2F),
    Target(
      "credential-id", of: "a credential id, or the fields of one under a valid seal", atMost: 160,
      seeds: {
        try KeysAndRecovery.load().credentials.array.compactMap { $0.sealed.optional }
          .flatMap { [$0.plaintext.bytes, $0.id.bytes] } + [SLIP22Keys.version + [UInt8](repeating: 1, count: 105)]
      }, read: readCredentialID),
    Target(
      "authenticator-data", of: "authenticator data", atMost: 700,
      seeds: {
        let vectors = try Vector("u2f-and-ctap2-messages").ctap2
        return [vectors.authDataMakeCredential.bytes, vectors.authDataGetAssertion.bytes]
      }, read: readAuthenticatorData),
    Target(
      "site-names", of: "the ids of a new site and of a known one, each on a line", atMost: 520,
      words: ["xn--", ".com", ".co.uk", "rn", "vv", "\u{430}", "\u{131}", "\u{301}"],
      seeds: {
        [
          "exarnple.com\nexample.com", "xn--bcher-kva.example\nb\u{FC}cher.example", "exmaple.co.uk\nexample.co.uk",
          "www.example.org\nexample.net", "EXAMPLE.com\nexample.com", "ssh:\nexample.com",
        ].map { Array($0.utf8) }
      }, read: readSiteNames),
  ]

  // MARK: - Single messages

  private static func readMessage(_ input: [UInt8]) throws {
    var world = World()
    let isReport = Authenticator.isReport(input)
    let (status, _) = try world.send(input)
    expect(!isReport || world.person.agreements == 0, "a report asks the person")
    if input.isEmpty || input.count > Authenticator.maxMsgSize { expect(status != .success, "\(input.count) bytes") }
  }

  /// Another computer gets getInfo, and what the person agreed to and was verified for.
  private static func readHybridMessage(_ input: [UInt8]) throws {
    var world = World()
    // For a passkey with which a sign-in can succeed.
    let made = try world.send(registration)
    expect(made.status == .success, "no passkey: \(made.status)")
    let agreements = world.person.agreements
    world.context = RequestContext(channel: 1, poweredUpAt: world.clock.now, isHybrid: true)
    let (status, members) = try world.send(input)
    guard status == .success, input.first != 0x04 else { return }
    expect(input.first == 0x01 || input.first == 0x02, "another computer uses another command")
    guard let data = members[2]?.bytes, let flags = (try? AuthenticatorData(parsing: data))?.flags else {
      fatalError("a ceremony without authenticator data")
    }
    expect(world.person.agreements > agreements, "nobody agreed")
    expect(flags.isSuperset(of: [.userPresent, .userVerified]), "a ceremony without the person: \(flags)")
  }

  private static func readU2F(_ input: [UInt8]) {
    var world = World()
    let message = Array(input.dropFirst())
    let answer = world.send(u2F: message, isPresent: (input.first ?? 0) & 1 == 1)
    guard Authenticator.isVersion(u2F: message), let answer else { return }
    expect(answer == Array("U2F_V2".utf8) + [0x90, 0] || answer.count == 2, "another version: \(answer)")
  }

  private static let trezorKeys = SLIP22Keys(seed: secret([UInt8](repeating: 1, count: 64)))

  private static func readCredentialID(_ input: [UInt8]) throws {
    let (keys, site) = (TestPhrase.keys, RPIDHash(rpID: "example.com"))
    if let parameters = keys.open(sealedID: input, rpIDHash: site) {
      expect(try keys.sealedID(parameters, rpIDHash: site) == input, "another id")
    }
    // No Trezor has sealed it; the path of its key is any 16 bytes.
    expect(trezorKeys.open(input, rpIDHash: site.bytes) == nil, "an id of a Trezor opens")
    expect((try? trezorKeys.privateKey(of: input)) != nil || input.count < 16, "an id without a key")
    let nonce = [UInt8](repeating: 3, count: XChaCha20Poly1305.nonceSize)
    let sealed = try XChaCha20Poly1305.seal(
      input, key: keys[.credentialIDSeal], nonce: nonce, ad: [CredentialID.format] + site.bytes)
    guard let parameters = keys.open(sealedID: [CredentialID.format] + nonce + sealed, rpIDHash: site) else { return }
    expect(parameters.plaintext == input, "fields that are not canonical were read")
    expect(
      keys.open(sealedID: try keys.sealedID(parameters, rpIDHash: site), rpIDHash: site) == parameters, "other fields")
  }

  private static func readAuthenticatorData(_ input: [UInt8]) {
    guard let data = try? AuthenticatorData(parsing: input) else { return }
    expect(data.bytes == input, "other bytes")
  }

  /// Of two sites, each resembles the other or neither does; the case of ASCII letters does not matter; and what is
  /// decoded from a name has a letter that ASCII lacks.
  private static func readSiteNames(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let names = lines.map { String(Substring($0)) }
    let (site, known) = (names[0], names.count > 1 ? names[1] : "")
    let resemblance = SiteResemblance(of: site, to: [known])
    expect(SiteResemblance(of: known, to: [site])?.kind == resemblance?.kind, "only one resembles the other")
    expect(SiteResemblance(of: site, to: [site]) == nil, "a site resembles itself")
    let isSame = !SiteResemblance.sites([known], ofTheDomainOf: site).isEmpty
    expect(!isSame || resemblance == nil, "a known site resembles another one")
    let capital = site.unicodeScalars.map { scalar in
      ("a"..."z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) - 0x20) : scalar
    }
    let other = SiteResemblance(of: String(String.UnicodeScalarView(capital)), to: [known])
    expect(other == resemblance, "capital letters make another site")
    guard let letters = SiteResemblance.letters(of: site) else { return }
    expect(letters.unicodeScalars.contains { !$0.isASCII }, "nothing was decoded")
    expect(letters.unicodeScalars.count <= site.unicodeScalars.count, "a name that becomes longer")
    let (labels, before) = (letters.utf8.split(separator: 0x2E).count, site.utf8.split(separator: 0x2E).count)
    expect(labels == before, "\(labels) labels of \(before)")
  }

  // MARK: - Seeds

  private static let words = [
    "example.com", "public-key", "id", "name", "displayName", "type", "alg", "rk", "uv", "up", "credProtect",
    "credBlob",
    "hmac-secret", "hmac-secret-mc", "largeBlobKey", "minPinLength", "thirdPartyPayment", "liquid", "none", "packed",
  ]

  /// One message of each command.
  private static let messages: [[UInt8]] = {
    let id: CBORMap = ["id": .bytes([1, 2, 3]), "type": "public-key"]
    let hash = CBORValue.bytes([UInt8](0..<32))
    let key: CBORMap = [1: 2, 3: -25, -1: 1, -2: .bytes([UInt8](repeating: 1, count: 32)), -3: .bytes([2])]
    let commands: [(UInt8, CBORMap)] = [
      (
        0x01,
        [
          1: hash, 2: ["id": "example.com", "name": "Example"],
          3: ["id": .bytes([1]), "name": "alice", "displayName": "Alice"],
          4: [["alg": -7, "type": "public-key"], ["alg": -8, "type": "public-key"]], 5: [.map(id)],
          6: ["credProtect": 2, "hmac-secret": true], 7: ["rk": true, "uv": true],
        ]
      ),
      (0x02, [1: "example.com", 2: hash, 3: [.map(id)], 4: ["credBlob": true], 5: ["up": true]]),
      (
        0x06,
        [
          1: 2, 2: 9, 3: .map(key), 6: .bytes([UInt8](repeating: 3, count: 32)), 9: 4, 10: "example.com",
        ]
      ),
      (0x06, [1: 2, 2: 2]), (0x0A, [1: 4, 2: [1: hash], 3: 2, 4: hash]),
      (0x0C, [2: .bytes(SerializedLargeBlobs.initial), 3: 0, 4: 17]), (0x0C, [1: 17, 3: 0]),
      (0x0D, [1: 3, 2: [1: 5, 2: ["example.com"]], 3: 2, 4: hash]),
    ]
    return commands.map { [$0] + CBOREncoder.encode(.map($1)) } + [[0x04], [0x07], [0x08], [0x0B]]
  }()

  private static let registration: [UInt8] = {
    let members: CBORMap = [
      1: .bytes([UInt8](0..<32)), 2: ["id": "example.com", "name": "Example"], 3: ["id": .bytes([1]), "name": "alice"],
      4: [["alg": -7, "type": "public-key"]], 7: ["rk": true, "uv": true],
    ]
    return [0x01] + CBOREncoder.encode(.map(members))
  }()

  /// A registration and sign-ins with the inputs of prf, which only another computer sends.
  private static let messagesWithSalts: [[UInt8]] = {
    let hash = CBORValue.bytes([UInt8](0..<32))
    let salts: CBORValue = ["first": hash, "second": hash]
    let made: CBORMap = [
      1: hash, 2: ["id": "example.com"], 3: ["id": .bytes([2]), "name": "bob"],
      4: [["alg": -8, "type": "public-key"]], 6: ["prf": ["eval": salts]], 7: ["rk": true],
    ]
    let inputs: [CBORValue] = [["eval": salts], ["evalByCredential": [.bytes([1]): salts]]]
    var messages = [[0x01] + CBOREncoder.encode(.map(made))]
    for input in inputs {
      let members: CBORMap = [1: "example.com", 2: hash, 4: ["prf": input]]
      messages.append([0x02] + CBOREncoder.encode(.map(members)))
    }
    return messages
  }()
}
