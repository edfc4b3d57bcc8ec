import TestVectors
import Testing

@testable import LiquidAuth

/// `liquid-auth-backend.json`: what phones and the Liquid Auth service told each other.
enum BackendVectors {
  static func load() throws -> Vector { try Vector("liquid-auth-backend") }
}

extension Vector {
  /// What stands here, as it is read when it comes from a server.
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try ServerSession.decode(type, try #require(json).json()) }
}
