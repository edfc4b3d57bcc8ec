import CBOR
import CryptoPrimitives
import TestSupport
import TestVectors
import Testing

@testable import Hybrid

// Holds: SECRET-1
@Suite struct PrintedSecretsTests {
  @Test func `a code and its exchange print nothing of their secrets`() throws {
    let (secret, key) = (Array(PrintedForms.secret.bytes.prefix(16)), Array(PrintedForms.secret.bytes.prefix(32)))
    let client = try P256.PrivateKey.random()
    let link = try FIDOURI(code(of: [0: .bytes(client.publicKey.compressed), 1: .bytes(secret)]))
    let session = try HybridSession(link, service: #require(TunnelService(0)), getInfo: [])
    let initiator = try NoiseHandshake.Initiator(
      key: client, preSharedKey: Hex(key).secret, ephemeral: P256.PrivateKey.random())
    let values: [Any] = [
      link, session, initiator, FrameCipher(Hex(key).secret),
      NoiseHandshake.Keys(toAuthenticator: Hex(key).secret, toClient: Hex(key).secret),
      NoiseState(clientKey: client.publicKey, preSharedKey: Hex(key).secret),
    ]
    for value in values {
      #expect(PrintedForms.leaks(of: value, Hex(secret), Hex(key)) == [], "\(type(of: value))")
    }
  }
}
