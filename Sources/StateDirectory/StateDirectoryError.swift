import Glibc
import ProcessIO

/// What can be wrong with the state directory or a file in it: the one error of this library.
public struct StateDirectoryError: Error, Sendable, Equatable {
  /// What callers tell apart; everything else is in the words.
  public enum Kind: Sendable, Equatable {
    /// Neither `XDG_STATE_HOME` nor `HOME` tells where the directory is.
    case noHome
    /// The directory, the vault or the store is not there.
    case missing
    /// There is a vault or store already, and nothing overwrites it.
    case exists
    /// A file or directory belongs to someone else, is open to others, or is of another type.
    case notPrivate
    /// The vault cannot be what we wrote.
    case damaged
    /// The store refused.
    case unusableStore
    /// Another process works on this directory.
    case inUse(pid: Int32)
    /// The passphrase opens no slot of the vault.
    case wrongPassphrase
    /// The system refused: its error number.
    case system(errno: Int32)
  }

  /// What happened, for programs.
  public let kind: Kind
  /// Which file, and what happened, for people; lower case, no full stop.
  public let reason: String
  /// What to do, where there is something to do.
  public let hint: String?

  init(_ kind: Kind, _ reason: String, hint: String? = nil) {
    self.kind = kind
    self.reason = reason
    self.hint = hint
  }

  /// A refusal of the system: "cannot write /home/…/vault.new: No space left on device".
  static func system(_ operation: String, _ path: String, _ number: Int32 = errno) -> StateDirectoryError {
    StateDirectoryError(.system(errno: number), "cannot \(operation) \(path): \(SystemNumber(number))")
  }
}

extension StateDirectoryError: CustomStringConvertible {
  /// The reason, then the hint.
  public var description: String { hint.map { "\(reason); \($0)" } ?? reason }
}
