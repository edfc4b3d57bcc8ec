import TestVectors
import Testing

/// The member `liquid` of `keys-and-recovery.json`.
struct LiquidVectors: Decodable, Sendable {
  let liquid: Content

  struct Content: Decodable, Sendable {
    let address: String
    let publicKey: Hex
    let reservedTags: [String]
    let accepted: [Accepted]
    let refused: [Refused]
  }

  private static let loaded = Result { try VectorFile("keys-and-recovery").decode(LiquidVectors.self).liquid }

  static func load() throws -> Content { try loaded.get() }

  struct Accepted: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let command: String
    let rpId: String
    let clientDataJSON: String?
    let clientDataHash: Hex
    let credentialId: Hex?
    let input: Hex
    let signingInput: Hex
    let signature: Hex
    let output: Hex
    let authDataExtensions: Hex

    var testDescription: String { name }
  }

  struct Refused: Decodable, Sendable, CustomTestStringConvertible {
    let why: String
    let status: Hex
    let command: String
    let rpId: String
    let clientDataHash: Hex
    let input: Hex
    let up: Bool?
    let uv: Bool?

    var testDescription: String { why }
  }
}
