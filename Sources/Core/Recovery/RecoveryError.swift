/// An error that says what is wrong, what to do, and which command does it.
package protocol RepairableError: Error {
  var reason: String { get }
  var hint: String? { get }
  /// The words of the command that ends the hint.
  var command: [String]? { get }
  /// Whether the command helps only after a person has done what the hint says before it.
  var needsPreparation: Bool { get }
  /// Whether the vault is missing or damaged.
  var isOfVault: Bool { get }
}

extension RepairableError {
  package var needsPreparation: Bool { false }
  package var isOfVault: Bool { false }
}

/// The only error of this library and of every ``CredentialStore``.
///
/// Errors of one kind are equal. Reason and hint never hold a secret.
public struct RecoveryError: Error, Sendable {
  /// The errors that callers distinguish; reason and hint give the details.
  public enum Kind: Sendable, Equatable {
    /// The store could not be read or written; the reason names the file.
    case store
    /// The system could not read or write the file of the store, with this error number; the file may be intact.
    case system(errno: Int32)
    /// The disk of the store is full.
    case diskFull
    /// No room for another credential: the store is full, or the account's epoch has no counter left.
    case full
    /// user.id is not 1 to 64 bytes.
    case userIDLength
    /// The account has this or a higher counter here, in a record or a tombstone.
    case notReplaced
    /// This counter gives no key, so no credential was ever made with it.
    case noKey
    /// The key cannot be derived or used for another reason.
    case key
    /// A reset is impossible: the epoch is already the last, 65 535 (Recovery §7).
    case lastEpoch
    /// A key of the previous phrase is left, or is not known (Recovery §14).
    case rotation
    /// A site cannot have a policy, or too many have one.
    case policy
    /// A pairing with a dApp is not within the limits.
    case pairing
    /// A seal is broken, or was made with other keys.
    case notAuthentic
    /// The seal is right, but the content has a form that this version does not write.
    case malformed
    /// The seal is right, but the row's columns, or the tag in a backup, are those of another row.
    case columnsExchanged
    /// A newer version made the backup.
    case newerVersion
    /// The backup was made with another phrase; its fingerprint (4 bytes).
    case anotherPhrase(fingerprint: [UInt8])
  }

  /// The kind of error, for programs.
  public let kind: Kind
  /// What happened: lower case, no full stop.
  public let reason: String
  /// What to do, if anything can be done: lower case, no full stop.
  public let hint: String?
  /// The words of the command that ends the hint.
  public let command: [String]?
  /// Whether the command helps only after a person has done what the hint says before it.
  public let needsPreparation: Bool

  /// - Parameter command: plain words, which end the hint.
  public init(
    _ kind: Kind, _ reason: String, hint: String? = nil, run command: [String] = [], needsPreparation: Bool = false
  ) {
    (self.kind, self.reason, self.needsPreparation) = (kind, reason, needsPreparation)
    self.hint = hint.map { ([$0] + command).joined(separator: " ") }
    self.command = command.isEmpty ? nil : command
  }

  /// An error with one command of plain words, which ends the hint: `look at it with: liquid-auth log verify`.
  public init(_ kind: Kind, _ reason: String, hint: String, with command: [String]) {
    self.init(kind, reason, hint: "\(hint) with:", run: command)
  }
}

extension RecoveryError: Equatable {
  /// Compares the kinds only.
  public static func == (a: Self, b: Self) -> Bool { a.kind == b.kind }
}

extension RecoveryError: RepairableError {}

extension RecoveryError: CustomStringConvertible {
  /// The reason, then the hint.
  public var description: String { hint.map { "\(reason); \($0)" } ?? reason }
}

// MARK: - Faults of a row, a state or a backup; the caller names the file

extension RecoveryError {
  static let notAuthentic = Self(.notAuthentic, "its seal is broken, or was made with another phrase")
  static let columnsExchanged = Self(.columnsExchanged, "its columns belong to another row")

  static func malformed(_ reason: String) -> Self {
    Self(.malformed, "its content is invalid: \(reason)")
  }

  /// - Parameters:
  ///   - fingerprint: that of the backup, 4 bytes.
  ///   - vault: that of the present phrase.
  static func anotherPhrase(_ fingerprint: [UInt8], vault: [UInt8]) -> Self {
    Self(
      .anotherPhrase(fingerprint: fingerprint),
      "it was made with another phrase: its fingerprint is \(hexadecimal(fingerprint)), and that of this vault is "
        + hexadecimal(vault), hint: "use it on a machine with that phrase; nothing was changed")
  }

  /// The same during a move to a new phrase, for a backup of the previous one.
  static func previousPhrase(_ fingerprint: [UInt8], vault: [UInt8]) -> Self {
    Self(
      .anotherPhrase(fingerprint: fingerprint),
      "it is of the old phrase \(hexadecimal(fingerprint)), and the vault has the phrase \(hexadecimal(vault)) now",
      hint: "restore it on a machine with the old phrase")
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }
}
