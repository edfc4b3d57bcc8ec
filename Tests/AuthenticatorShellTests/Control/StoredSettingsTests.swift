import CTAP2
import ControlDoor
import CryptoPrimitives
import Recovery
import Testing

@testable import liquid_authenticator

@Suite struct StoredSettingsTests {
  let vault: OpenVault
  private var pinUVAuth = PINUVAuthState(poweredUpAt: .zero)

  init() {
    let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))
    vault = OpenVault(
      keys: keys, ed25519Root: SecretBytes.random(count: 96), store: InMemoryCredentialStore(keys: keys))
  }

  private static func secret(_ text: String) -> SecretBytes {
    Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
  }

  private static let policyViolation = ControlFailure(ControlStatus(rawValue: 0x37), "")

  @Test mutating func `the owner sets, changes and removes the PIN`() throws {
    try vault.setPIN(Self.secret("1234"), &pinUVAuth)
    #expect(try vault.ownerSettings().isPINSet)
    let first = try vault.settings().pin
    try vault.setPIN(Self.secret("5678"), &pinUVAuth)
    #expect(try vault.settings().pin != first)
    try vault.removePIN(&pinUVAuth)
    #expect(try vault.settings() == AuthenticatorSettings())
  }

  static let refused = ["123", "żół", "1234\u{0}", String(repeating: "x", count: 64)]

  @Test(arguments: refused) mutating func `what is no PIN is refused, and changes nothing`(_ pin: String) throws {
    try vault.setPIN(Self.secret("1234"), &pinUVAuth)
    let before = try vault.settings()
    #expect(throws: Self.policyViolation) { try vault.setPIN(Self.secret(pin), &pinUVAuth) }
    #expect(try vault.settings() == before)
  }

  @Test mutating func `settings change as they are asked for, all or none`() throws {
    let told = try vault.change(
      SettingsChange(alwaysUV: true, minimumPINLength: 6, minimumPINLengthRPIDs: ["a.example"]), &pinUVAuth)
    #expect(
      told
        == OwnerSettings(
          alwaysUV: true, minimumPINLength: 6, minimumPINLengthRPIDs: ["a.example"], forcePINChange: false,
          isPINSet: false))
    #expect(throws: Self.policyViolation) {
      try vault.change(SettingsChange(alwaysUV: false, minimumPINLength: 5), &pinUVAuth)
    }
    #expect(throws: ControlFailure(ControlStatus(rawValue: 0x35), "")) {
      try vault.change(SettingsChange(alwaysUV: false, forcePINChange: true), &pinUVAuth)
    }
    #expect(try vault.ownerSettings() == told)
    #expect(try vault.change(SettingsChange(alwaysUV: false), &pinUVAuth).minimumPINLengthRPIDs == ["a.example"])
  }

  @Test mutating func `a PIN that is too short now, or that the owner says, must become another`() throws {
    try vault.setPIN(Self.secret("1234"), &pinUVAuth)
    #expect(try vault.change(SettingsChange(minimumPINLength: 5), &pinUVAuth).forcePINChange)
    try vault.setPIN(Self.secret("12345"), &pinUVAuth)
    #expect(try !vault.ownerSettings().forcePINChange)
    #expect(try vault.change(SettingsChange(forcePINChange: true), &pinUVAuth).forcePINChange)
    #expect(throws: Self.policyViolation) { try vault.setPIN(Self.secret("12345"), &pinUVAuth) }
    try vault.setPIN(Self.secret("12346"), &pinUVAuth)
    #expect(try !vault.ownerSettings().forcePINChange)
  }

  @Test func `the large-blob array is kept if it ends with its digest`() throws {
    let array: [UInt8] = [0x81, 0xA0] + SHA256.hash([0x81, 0xA0]).prefix(16)
    var authenticator = Authenticator.quiet(vault)
    try vault.setLargeBlobArray(array, changedFrom: nil, &authenticator)
    let integrityFailure = ControlFailure(ControlStatus(rawValue: 0x3D), "")
    for bad in [[], Array(array.dropLast()), array + [0], [0x80] + array.dropFirst()] {
      #expect(throws: integrityFailure) {
        try vault.setLargeBlobArray(bad, changedFrom: nil, &authenticator)
      }
    }
    let long = [UInt8](repeating: 0, count: 8177)
    #expect(throws: ControlFailure(ControlStatus(rawValue: 0x18), "")) {
      try vault.setLargeBlobArray(long + SHA256.hash(long).prefix(16), changedFrom: nil, &authenticator)
    }
    #expect(try vault.store.largeBlobArray() == array)
  }
}
