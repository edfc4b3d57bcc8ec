import CBOR
import TestSupport
import TestVectors
import Testing

@testable import Recovery

@Suite struct AuthenticatorSettingsTests {
  private static var all: AuthenticatorSettings {
    var settings = AuthenticatorSettings()
    settings.pin = StoredPIN(hash: Hex([UInt8](repeating: 0xAB, count: 16)).secret, length: 6, retries: 3)
    settings.alwaysUV = true
    settings.minimumPINLength = 6
    settings.forcePINChange = true
    settings.minimumPINLengthRPIDs = ["example.com", "é.example"]
    settings.persistentToken = Hex([UInt8](repeating: 0xCD, count: 32)).secret
    settings.means = [.pam, .fingerprint]
    return settings
  }

  private static let noSecrets = StateSecrets(of: state(AuthenticatorSettings()))

  private static func state(_ settings: AuthenticatorSettings) -> StoreState {
    StoreState(storeID: [UInt8](repeating: 7, count: 16), epoch: 2, floor: 1, settings: settings)
  }

  @Test func `a state without settings has only the contract's members`() throws {
    let map = try CBORDecoder.decode(Self.state(AuthenticatorSettings()).plaintext).map
    #expect(map?.pairs.map(\.key) == [1, 2, 3])
  }

  @Test func `every setting is read back`() throws {
    let state = Self.state(Self.all)
    #expect(try StoreState(plaintext: state.plaintext) == state)
    #expect(
      try CBORDecoder.decode(state.plaintext).map?.pairs.map(\.key) == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16])
  }

  @Test func `the secrets of the state are read from locked memory, and the map has zeros`() throws {
    var state = Self.state(Self.all)
    state.counter = StoreCounter(index: 1, auth: Hex([UInt8](repeating: 0xEF, count: 32)).secret, value: 2)
    var plaintext = state.plaintext
    for (byte, count) in [(0xAB, 16), (0xCD, 32), (0xEF, 32)] as [(UInt8, Int)] {
      #expect(plaintext.filter { $0 == byte }.count == count)
    }
    let secrets = try StateSecrets(taking: &plaintext)
    #expect(secrets.pinHash == Self.all.pin?.hash && secrets.persistentToken == Self.all.persistentToken)
    #expect(secrets.counterAuth == state.counter?.auth)
    #expect(!plaintext.contains { [0xAB, 0xCD, 0xEF].contains($0) })
    var members: CBORMap = [:]
    Self.all.add(to: &members)
    #expect(members[5] == .bytes([UInt8](repeating: 0, count: 16)))
    #expect(members[12] == .bytes([UInt8](repeating: 0, count: 32)))
    secrets.fill(&plaintext)
    #expect(plaintext == state.plaintext)
  }

  static let malformed: [[(CBORValue, CBORValue?)]] = [
    [(5, .bytes([1]))], [(5, "x")], [(6, nil)], [(7, nil)], [(7, 256)], [(8, 1)], [(9, 256)], [(10, 0)],
    [(11, [1])], [(11, "x")], [(12, "x")], [(15, 1)], [(16, true)], [(15, nil)], [(17, true)],
  ]

  @Test(arguments: malformed) func `malformed settings are refused`(changes: [(CBORValue, CBORValue?)]) throws {
    var map = try #require(CBORDecoder.decode(Self.state(Self.all).plaintext).map)
    for (key, value) in changes { map[key] = value }
    #expect(throws: RecoveryError.self) { try StoreState(plaintext: CBOREncoder.encode(.map(map))) }
  }

  @Test(arguments: try Vector("verification-means").orders.array)
  func `an order of means has the bytes of the vectors`(_ vector: Vector) throws {
    var settings = AuthenticatorSettings()
    settings.means = try vector.means.array.map { try #require(VerificationMeans(rawValue: $0.integer())) }
    var members: CBORMap = [:]
    settings.add(to: &members)
    #expect(Hex(CBOREncoder.encode(.map(members))) == vector.row.hex)
    #expect(try AuthenticatorSettings(members, Self.noSecrets) == settings)
    #expect(Hex(settings.reported.encoded) == vector.told.hex)
    #expect(ReportedSettings(decoding: vector.told.bytes) == settings.reported)
  }

  @Test(arguments: try Vector("verification-means").malformed.array)
  func `a malformed order of means is refused`(_ vector: Vector) throws {
    let members = try #require(CBORDecoder.decode(vector.row.bytes).map)
    #expect(throws: CBORError.self, "\(vector)") { try AuthenticatorSettings(members, Self.noSecrets) }
    var told: CBORMap = [1: false, 2: 8, 3: false, 4: 4, 5: false]
    (told[6], told[7]) = (members[15], members[16])
    #expect(ReportedSettings(decoding: CBOREncoder.encode(.map(told))) == nil, "\(vector)")
  }

  @Test func `each means has a name of its own, and the number of the history`() {
    #expect(VerificationMeans.allCases.map(\.name) == ["fingerprint", "pam"])
    for means in VerificationMeans.allCases {
      #expect(VerificationMeans(name: means.name) == means)
      #expect(means.verification.rawValue == means.rawValue)
    }
    #expect(VerificationMeans(name: "passphrase") == nil && VerificationMeans(name: "") == nil)
  }

  // Holds: MGMT-35
  @Test func `a reset leaves the settings of a new device`() throws {
    var state = Self.state(Self.all)
    try state.reset()
    #expect(state.settings == AuthenticatorSettings())
    #expect(state.epoch == 3)
  }

  @Test func `the unsealed copy has no secret and is read back`() throws {
    let told = Self.all.reported
    #expect(ReportedSettings(decoding: told.encoded) == told)
    #expect(try CBORDecoder.decode(told.encoded) == [1: true, 2: 3, 3: true, 4: 6, 5: true, 6: true, 7: [5, 4]])
    #expect(ReportedSettings().encoded == [0xA5, 1, 0xF4, 2, 8, 3, 0xF4, 4, 4, 5, 0xF4], "as without other means")
    for count in 0..<told.encoded.count { #expect(ReportedSettings(decoding: Array(told.encoded[..<count])) == nil) }
    #expect(ReportedSettings(decoding: CBOREncoder.encode([1: true])) == nil)
  }
}
