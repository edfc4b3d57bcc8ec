import CryptoPrimitives
import TestVectors
import Testing

// Holds: SECRET-1
/// A type that holds a secret prints nothing of it; `judges/test_secret_types.py` demands a test of each such type.
@Suite struct PrintedSecretsTests {
  private static let secret = Hex(PrintedForms.secret.bytes.prefix(32))

  @Test func `secrets print nothing, wherever they are stored`() {
    let secret = SecretBytes(Self.secret.bytes)
    let values: [Any] = [secret, Optional(secret) as Any, [secret], ["a": secret], (1, secret)]
    for value in values { #expect(PrintedForms.leaks(of: value, Self.secret) == []) }
  }

  @Test func `private keys print nothing of their secrets`() throws {
    let secret = SecretBytes(Self.secret.bytes)
    let key = try P256.PrivateKey(scalar: secret)
    #expect(PrintedForms.leaks(of: key, Self.secret) == [])
    // Now it has its public key and OpenSSL's key, too.
    let shared = try key.sharedSecret(with: key.publicKey)
    #expect(PrintedForms.leaks(of: key, Self.secret, shared.revealed) == [])
    #expect(PrintedForms.leaks(of: try Ed25519.PrivateKey(seed: secret), Self.secret) == [])
  }

  @Test func `a MAC key prints nothing of its state`() throws {
    let key = HMACSHA512.Key(SecretBytes(Self.secret.bytes))
    let state = try #require(Mirror(reflecting: key).descendant("state") as? SecretBytes)
    #expect(PrintedForms.leaks(of: key, Self.secret, state.revealed) == [])
  }

  private struct Careless { let bytes: [UInt8] }
  private final class CarelessObject: Sendable {
    let bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
  }
  private struct Silent: CustomStringConvertible {
    let bytes: [UInt8]
    var description: String { "a secret" }
  }
  private struct Encoded: Encodable { let count = 0 }

  // Otherwise the other tests would prove nothing.
  @Test func `the search finds a secret in each form`() {
    let bytes = Self.secret.bytes
    let all = ["Mirror", "debugDescription", "description", "dump", "interpolation"]
    #expect(PrintedForms.leaks(of: Careless(bytes: bytes), Self.secret) == all)
    #expect(PrintedForms.leaks(of: Self.secret, Self.secret) == all)
    #expect(PrintedForms.leaks(of: bytes, Self.secret) == all + ["Encodable"])
    let texts = [
      String(decoding: bytes, as: UTF8.self), Self.secret.description.uppercased(),
      "IUZrMld8Q2gvVHlAZSxRdj1iKU5zOl8mS3A3XCNIbTQ=",
    ]
    for text in texts { #expect(PrintedForms.leaks(of: text, Self.secret) == all + ["Encodable"], "\(text)") }
    #expect(PrintedForms.leaks(of: CarelessObject(bytes), Self.secret) == ["Mirror", "dump"])
    #expect(PrintedForms.leaks(of: Silent(bytes: bytes), Self.secret) == ["Mirror", "dump"])
    #expect(PrintedForms.leaks(of: Encoded(), Self.secret) == ["Encodable"])
    #expect(PrintedForms.leaks(of: Careless(bytes: Array(bytes.reversed())), Self.secret) == [])
  }
}
