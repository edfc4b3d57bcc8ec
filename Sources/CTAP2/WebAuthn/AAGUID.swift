/// The model of an authenticator, 16 bytes: WebAuthn §6.5.1.
public struct AAGUID: Hashable, Sendable {
  /// The 16 bytes of the UUID, in the order in which it is written.
  public let bytes: [UInt8]

  /// Liquid Auth for Linux, on every machine and in every version: 83e27e5d-962b-474d-be2c-9c194dd147a9.
  ///
  /// Drawn at random once. It tells the model, never the person: all who use this program have the same.
  public static let liquidAuth = AAGUID(bytes: [
    0x83, 0xe2, 0x7e, 0x5d, 0x96, 0x2b, 0x47, 0x4d, 0xbe, 0x2c, 0x9c, 0x19, 0x4d, 0xd1, 0x47, 0xa9,
  ])
}
