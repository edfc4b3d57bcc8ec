/// What can go wrong with the credentials of a phrase: the one error of this library, and of every ``CredentialStore``.
///
/// Errors are equal by kind. The words never hold a secret.
public struct RecoveryError: Error, Sendable {
  /// What callers tell apart; everything else is in the words.
  public enum Kind: Sendable, Equatable {
    /// The store could not be read or written; the words name the file.
    case store
    /// There is no room for another credential: the store has as many as it takes, or the account's epoch has no
    /// counter left.
    case full
    /// user.id is not 1 to 64 bytes.
    case userIDLength
    /// The account has this or a higher counter here, as a record or as what a deletion left.
    case notReplaced
    /// This counter gives no key: no credential was ever made with it.
    case noKey
    /// The key cannot be derived or used, for another reason.
    case key
    /// The last epoch, 65 535, cannot be reset any more (Recovery §7).
    case lastEpoch
    /// A seal that is not ours, or is broken.
    case notAuthentic
    /// The seal is right, but what it holds is not what this version writes.
    case malformed
    /// The seal is right, but the row's columns are those of another row.
    case columnsExchanged
    /// The backup was made with another phrase; its fingerprint (4 bytes).
    case anotherPhrase(fingerprint: [UInt8])
  }

  /// What happened, for programs.
  public let kind: Kind
  /// What happened, for people; lower case, no full stop.
  public let reason: String
  /// What to do, where there is something to do.
  public let hint: String?

  /// Joins kind and words.
  public init(_ kind: Kind, _ reason: String, hint: String? = nil) {
    self.kind = kind
    self.reason = reason
    self.hint = hint
  }
}

extension RecoveryError: Equatable {
  /// Compares the kinds: two roads to the same refusal are the same refusal.
  public static func == (a: Self, b: Self) -> Bool { a.kind == b.kind }
}

extension RecoveryError: CustomStringConvertible {
  /// The reason, then the hint.
  public var description: String { hint.map { "\(reason); \($0)" } ?? reason }
}

// MARK: - Why a row, a state or a backup is not to be believed; whoever opened it names the file

extension RecoveryError {
  static let notAuthentic = Self(.notAuthentic, "its seal is broken, or was made with another phrase")
  static let columnsExchanged = Self(.columnsExchanged, "its columns belong to another row")

  static func malformed(_ reason: String) -> Self {
    Self(.malformed, "its content is not what this version writes: \(reason)")
  }

  static func anotherPhrase(fingerprint: [UInt8]) -> Self {
    Self(.anotherPhrase(fingerprint: fingerprint), "it was made with another phrase")
  }
}
