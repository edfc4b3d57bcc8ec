import CBOR
import CTAP2
import CryptoPrimitives
import LiquidAuth
import Recovery

@testable import liquid_auth

/// A key and a browser in one, whose answers a test can make wrong in each member.
struct BrowserKey {
  static let origin = "http://localhost:8080"

  var id: [UInt8] = randomBytes(32)
  var type: String?
  var origin = Self.origin
  /// The member `crossOrigin` as JSON; `nil` leaves it out.
  var crossOrigin: String? = "false"
  var rpID = "localhost"
  var flags: AuthenticatorData.Flags = [.userPresent, .userVerified, .backupEligible, .backupState]
  var signCount: UInt32 = 0
  var userHandle: [UInt8]?
  var prfHashes: [[UInt8]] = []
  /// Whether the results of a sign-in have the member `prf`; `nil` as a browser without PRF.
  var isPRFSupported: Bool?
  /// Changes the authenticator data after they were signed.
  var afterSigning: ([UInt8]) -> [UInt8] = { $0 }
  /// Changes the attestation object.
  var attestation: (CBORMap) -> [UInt8] = { CBOREncoder.encode(.map($0)) }
  let key: P256.PrivateKey

  init() throws { key = try P256.PrivateKey.random() }

  var publicKey: CredentialPublicKey { .es256(key.publicKey) }

  func clientData(_ type: String, _ challenge: [UInt8]) -> [UInt8] {
    let cross = crossOrigin.map { ",\"crossOrigin\":\($0)" } ?? ""
    let challenge = Base64URL.encode(challenge)
    return Array(
      "{\"type\":\"\(self.type ?? type)\",\"challenge\":\"\(challenge)\",\"origin\":\"\(origin)\"\(cross),\"x\":{}}"
        .utf8)
  }

  /// The answer to `create()`, with packed self attestation or none.
  func register(_ challenge: [UInt8], packed: Bool = true) throws -> PageCredential {
    let clientData = clientData("webauthn.create", challenge)
    let data = AuthenticatorData(
      rpIDHash: RPIDHash(rpID: rpID), flags: flags, signCount: signCount,
      attestedCredentialData: AttestedCredentialData(
        aaguid: .liquidAuth, credentialID: id, publicKey: COSEKey(publicKey))
    ).bytes
    let signature = try key.signature(for: data + SHA256.hash(clientData))
    let statement: CBORMap = packed ? ["alg": -7, "sig": .bytes(signature)] : [:]
    let object = attestation([
      "fmt": packed ? "packed" : "none", "attStmt": .map(statement), "authData": .bytes(afterSigning(data)),
    ])
    return PageCredential(
      id: Base64URLBytes(id), clientDataJSON: Base64URLBytes(clientData), attestationObject: Base64URLBytes(object),
      transports: ["usb"])
  }

  /// The answer to `get()`.
  func signIn(_ challenge: [UInt8]) throws -> PageCredential {
    let clientData = clientData("webauthn.get", challenge)
    let data = AuthenticatorData(rpIDHash: RPIDHash(rpID: rpID), flags: flags, signCount: signCount).bytes
    let signature = try key.signature(for: data + SHA256.hash(clientData))
    var hashes: PageCredential.PRFHashes?
    if let first = prfHashes.first {
      hashes = .init(first: Base64URLBytes(first), second: prfHashes.dropFirst().first.map(Base64URLBytes.init))
    }
    return PageCredential(
      id: Base64URLBytes(id), clientDataJSON: Base64URLBytes(clientData),
      authenticatorData: Base64URLBytes(afterSigning(data)), signature: Base64URLBytes(signature),
      userHandle: userHandle.map(Base64URLBytes.init), prf: isPRFSupported, prfHashes: hashes)
  }
}

extension DemoVerdict {
  /// The names of the checks that failed.
  var failed: [String] { checks.filter { !$0.holds }.map(\.name) }
}
