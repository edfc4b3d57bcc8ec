import CryptoPrimitives
import TestVectors
import Testing

@testable import Keyri

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `a token of Firebase prints its length`() throws {
    let part = Base64URL.encode(PrintedForms.secret.bytes)
    let token = try #require(FirebaseToken(Array("\(part).\(part).\(part)".utf8)))
    #expect(PrintedForms.leaks(of: token, PrintedForms.secret, Hex(token.bytes)) == [])
  }
}
