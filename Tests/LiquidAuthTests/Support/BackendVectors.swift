import TestVectors

@testable import LiquidAuth

/// `liquid-auth-backend.json`: what phones and the Liquid Auth service told each other.
struct BackendVectors: Decodable {
  struct Attestation: Decodable {
    let requestBody: JSONValue
    let requestResponse: AttestationOptions
    let responseBody: JSONValue
    let responseResponse: User
  }

  struct Assertion: Decodable {
    let requestResponse: AssertionOptions
    let responseBody: JSONValue
    let responseResponse: User
  }

  let attestation: [Attestation]
  let assertion: [Assertion]

  private static let loaded = Result { try VectorFile("liquid-auth-backend").decode(BackendVectors.self) }

  static func load() throws -> BackendVectors { try loaded.get() }
}
