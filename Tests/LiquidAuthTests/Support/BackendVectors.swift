import TestVectors
import Testing

@testable import LiquidAuth

/// `liquid-auth-backend.json`: the messages between phones and the Liquid Auth service.
enum BackendVectors {
  static func load() throws -> Vector { try Vector("liquid-auth-backend") }
}

extension Vector {
  /// The value, decoded like a server's answer.
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try ServerSession.decode(type, try #require(json).json()) }
}
