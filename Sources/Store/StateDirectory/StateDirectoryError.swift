import CredentialDB
import Glibc
import ProcessIO
import Recovery

/// Why the state directory or a file in it cannot be used: the only error of this library.
public struct StateDirectoryError: Error, Sendable, Equatable {
  /// The errors that callers distinguish; reason and hint have the details.
  public enum Kind: Sendable, Equatable {
    /// Neither `XDG_STATE_HOME` nor `HOME` gives the directory.
    case noHome
    /// There is no vault: it is missing, or its directory.
    case noVault
    /// The store is missing.
    case missing
    /// A vault or store exists already, and is not overwritten.
    case exists
    /// A file or directory belongs to someone else, is open to others, or is of another type.
    case notPrivate
    /// Another directory has the place of the one that was opened.
    case exchanged
    /// The vault file is damaged.
    case damaged
    /// The store cannot be used.
    case unusableStore
    /// Another process works on this directory.
    case inUse(pid: Int32)
    /// A change of the vault's slots was refused; nothing was changed.
    case unchanged
    /// The passphrase opens no slot of the vault.
    case wrongPassphrase
    /// A system call failed, with this error number.
    case system(errno: Int32)
  }

  /// What happened, for programs.
  public let kind: Kind
  /// Which file, and what happened: lower case, no full stop.
  public let reason: String
  /// What to do, if anything can be done: lower case, no full stop.
  public let hint: String?
  /// The words of the command that ends the hint.
  public let command: [String]?
  /// Whether the command helps only after a person has done what the hint says before it.
  public let needsPreparation: Bool

  init(
    _ kind: Kind, _ reason: String, hint: String? = nil, command: [String]? = nil, needsPreparation: Bool = false
  ) {
    (self.kind, self.reason, self.hint) = (kind, reason, hint)
    (self.command, self.needsPreparation) = (command, needsPreparation)
  }

  /// An error with one command of plain words, which ends the hint: `make one with: liquid-auth setup`.
  init(_ kind: Kind, _ reason: String, hint: String, with command: [String]) {
    self.init(kind, reason, hint: "\(hint) with: \(command.joined(separator: " "))", command: command)
  }

  /// The error of a failed system call: "cannot write /home/…/vault.new: No space left on device".
  static func system(
    _ operation: String, _ path: String, _ number: Int32 = errno, hint: String? = nil
  ) -> StateDirectoryError {
    StateDirectoryError(
      .system(errno: number), "cannot \(operation) \(path): \(SystemNumber(number))",
      hint: hint ?? FileRemedy.text(number))
  }
}

extension StateDirectoryError: RepairableError {
  package var isOfVault: Bool { [.noVault, .damaged].contains(kind) }
}

extension StateDirectoryError: CustomStringConvertible {
  /// The reason, then the hint.
  public var description: String { hint.map { "\(reason); \($0)" } ?? reason }
}
