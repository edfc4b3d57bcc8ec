public import CBOR
import CryptoPrimitives
public import Recovery

/// A public key in COSE form: RFC 9053 §7, with the members that WebAuthn §6.5.1.1 asks for and no others.
public struct COSEKey: Hashable, Sendable {
  /// The key itself.
  public var publicKey: CredentialPublicKey

  /// Wraps a public key.
  public init(_ publicKey: CredentialPublicKey) { self.publicKey = publicKey }

  /// `{1: kty, 3: alg, -1: crv, -2: x, -3: y?}`.
  public var map: CBORMap {
    let algorithm = CBORValue(publicKey.algorithm.rawValue)
    return switch publicKey {
    case .es256(let point): [1: 2, 3: algorithm, -1: 1, -2: .bytes(point.x), -3: .bytes(point.y)]
    case .edDSA(let key): [1: 1, 3: algorithm, -1: 6, -2: .bytes(key)]
    }
  }

  /// The map's encoding: 77 bytes for ES256, 42 for EdDSA.
  public var bytes: [UInt8] { CBOREncoder.encode(.map(map)) }
}
