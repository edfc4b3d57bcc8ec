import Glibc

/// What can be wrong with the state directory or a file in it: which file, what happened, and what to do.
public struct StateDirectoryError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What a program can tell apart; the words are in `description`.
  public enum Reason: Sendable, Equatable {
    /// Neither `XDG_STATE_HOME` nor `HOME` tells where the directory is.
    case noHome
    /// The directory, the vault or the store is not there.
    case missing
    /// There is a vault or store already, and nothing overwrites it.
    case exists
    /// A file or directory belongs to someone else, is open to others, or is of another type.
    case notPrivate
    /// The vault or the store cannot be what we wrote.
    case damaged
    /// The store is not the one of this vault.
    case foreignStore
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
  public let reason: Reason
  /// Lower case, no full stop: what happened, then what to do.
  public let description: String

  init(_ reason: Reason, _ description: String) {
    self.reason = reason
    self.description = description
  }

  /// A refusal of the system: "cannot write /home/…/vault.new: No space left on device".
  static func system(_ operation: String, _ path: String, _ number: Int32 = errno) -> StateDirectoryError {
    StateDirectoryError(.system(errno: number), "cannot \(operation) \(path): \(String(cString: strerror(number)))")
  }
}
