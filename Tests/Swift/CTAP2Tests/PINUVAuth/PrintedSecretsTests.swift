import CryptoPrimitives
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import CTAP2

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  private static let secret = Hex(PrintedForms.secret.bytes.prefix(64))

  @Test(arguments: PINUVAuthProtocol.allCases)
  func `shared secrets, tokens and salts print nothing`(_ version: PINUVAuthProtocol) throws {
    let shared: PINUVAuthSecret = version.sharedSecret(Self.secret.secret)
    let key = shared.authenticationKey
    #expect(PrintedForms.leaks(of: shared, Self.secret, key.hex) == [])
    let encrypted = try shared.encrypt(Self.secret.secret)
    let salts = try HMACSecretSalts(
      saltEnc: encrypted, saltAuth: version.authenticate(encrypted, key: key), under: shared)
    #expect(PrintedForms.leaks(of: salts, Self.secret, key.hex) == [])

    let unlocking = Unlocking()
    let token = PINUVAuthToken(
      version: version, permissions: .getAssertion, rpID: "example.com", userPresent: true, unlocking: unlocking,
      now: .zero)
    let bytes = try #require(token.secret).hex
    #expect(PrintedForms.leaks(of: token, bytes) == [])
    #expect(PrintedForms.leaks(of: unlocking, bytes) == [])
    var state = PINUVAuthState(poweredUpAt: .zero)
    state.begin(token)
    _ = try state.sharedSecret(with: state.publicKey(version), version)
    #expect(PrintedForms.leaks(of: state, bytes) == [])
  }

  @Test func `a token's bytes are dropped when the vault is locked, and by the next token`() throws {
    let unlocking = Unlocking()
    func token() -> PINUVAuthToken {
      PINUVAuthToken(
        version: .two, permissions: .getAssertion, rpID: nil, userPresent: true, unlocking: unlocking, now: .zero)
    }
    let first = token()
    #expect(first.secret?.count == 32 && first.secret == first.secret)
    var second = token()
    #expect(first.secret == nil && second.secret != nil)
    unlocking.end()
    #expect(second.secret == nil)
    let none = [UInt8](repeating: 0, count: 32)
    #expect(throws: CTAPError(.pinAuthInvalid, "")) { try second.authorize(none, over: [1], for: .getAssertion) }
    #expect(token().secret == nil, "of an unlocking that has ended")
  }
}
