import CryptoPrimitives
import Foundation
import TestVectors

@testable import LiquidAuth

/// `Tests/Vectors/keyri.json`, which Python computed.
struct KeyriVectors: Decodable {
  struct Key: Decodable {
    let name: String
    let publicKey: Hex
    let spki: Hex
    let spkiBase64: String
  }

  struct Sealed: Decodable {
    struct BrowserData: Decodable {
      let publicKey: String
      let ciphertext: String
      let salt: String
      let iv: String
    }
    let name: String
    let payload: Hex
    let browserPublicKey: Hex
    let ephemeralPrivateKey: Hex
    let salt: Hex
    let iv: Hex
    let browserData: BrowserData
  }

  struct Flow: Decodable {
    let milliseconds: UInt64
    let nonce: Hex
    let emailText: String
    let publicKey: Hex
    let signature: Hex
    let dataText: String
    let registrationText: String
    let loginText: String
    let mobilePrivateKey: Hex
    let mobileIDText: String
    let ephemeralPrivateKey: Hex
    let salt: Hex
    let iv: Hex
    let linkText: String
    let confirmationText: String
    let denialText: String
  }

  struct BrowserKey: Decodable, CustomStringConvertible {
    let name: String
    let browserPublicKey: String

    var description: String { name }
  }

  let keys: [Key]
  let sealed: [Sealed]
  let flow: Flow
  let badBrowserKeys: [BrowserKey]

  static let file = Result { try VectorFile("keyri") }
  static let all = Result { try file.get().decode(KeyriVectors.self) }

  static func flow() throws -> Flow { try all.get().flow }
}

extension P256.PublicKey {
  /// X ‖ Y of a vector.
  init(_ raw: Hex) throws { try self.init(x: Array(raw.bytes.prefix(32)), y: Array(raw.bytes.suffix(32))) }
}

extension P256.PrivateKey {
  /// The scalar of a vector.
  init(_ scalar: Hex) throws {
    var bytes = scalar.bytes
    try self.init(scalar: SecretBytes(consuming: &bytes))
  }
}
