/// The credProtect level of a credential: CTAP §12.1.
public enum CredProtectLevel: UInt8, CaseIterable, Comparable, Sendable {
  /// Usable without user verification.
  case userVerificationOptional = 1
  /// Without user verification only if the request names the id.
  case userVerificationOptionalWithCredentialIDList = 2
  /// Without user verification, the credential counts as absent.
  case userVerificationRequired = 3

  /// Stricter is greater.
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The properties of a credential that its registration set, in one byte: Recovery §4.
public struct CredentialPolicy: Hashable, Sendable {
  /// The credProtect level, 1–3.
  public var credProtect: CredProtectLevel
  /// Whether the largeBlobKey extension was requested.
  public var largeBlobKey: Bool
  /// Whether the thirdPartyPayment extension was requested.
  public var thirdPartyPayment: Bool

  /// Makes a policy; without arguments, that of a registration without extensions (byte 01).
  public init(
    credProtect: CredProtectLevel = .userVerificationOptional, largeBlobKey: Bool = false,
    thirdPartyPayment: Bool = false
  ) {
    self.credProtect = credProtect
    self.largeBlobKey = largeBlobKey
    self.thirdPartyPayment = thirdPartyPayment
  }

  /// Reads the policy byte; `nil` for level 0 or a reserved bit.
  public init?(byte: UInt8) {
    guard byte >> 4 == 0, let level = CredProtectLevel(rawValue: byte & 0b11) else { return nil }
    self.init(credProtect: level, largeBlobKey: byte & 0b100 != 0, thirdPartyPayment: byte & 0b1000 != 0)
  }

  /// Bits 0–1 the credProtect level, bit 2 largeBlobKey, bit 3 thirdPartyPayment.
  public var byte: UInt8 {
    credProtect.rawValue | (largeBlobKey ? 0b100 : 0) | (thirdPartyPayment ? 0b1000 : 0)
  }

  /// Whether a ceremony that names the id may use the credential: level 3 without user verification counts as absent.
  public func allows(userVerified: Bool) -> Bool { userVerified || credProtect < .userVerificationRequired }
}
