import TestVectors
import Testing

@testable import LiquidAuth

/// The vectors in `liquid-auth-backend.json`: messages between phones and the Liquid Auth service.
enum BackendVectors {
  static func load() throws -> Vector { try Vector("liquid-auth-backend") }
}

extension Vector {
  /// Decodes the value as an answer of a server.
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try ServerSession.decode(type, try #require(json).json()) }
}
