import CSQLite
import CryptoPrimitives
import Glibc
import Recovery

/// What can go wrong with the file; ``error(store:vault:)`` adds the file's name.
indirect enum StoreFault: Error, Equatable {
  /// There is no file.
  case missing
  /// The file to make exists already.
  case exists
  /// The file is not what we wrote; the text says why.
  case damaged(String)
  /// Every row is valid, but the hash over all rows differs from the stored one.
  case rowsChanged
  /// The rows are to be accepted as they are, and they are those that were left.
  case rowsUnchanged
  /// The row that says where the history begins and ends is missing, or does not open.
  case noHistoryHead
  /// A newer version wrote the file.
  case newer
  /// The file is an intact store of another vault.
  case foreign
  /// The store was closed, because its file gets another name.
  case closed
  /// Another file, or none, has the name of the open one.
  case exchanged
  /// A system call failed.
  case system(operation: String, errno: Int32)
  /// A commit failed, for this reason; only the next opening shows whether its transaction is in the log.
  case uncommitted(StoreFault)
  /// A record has no key that can be derived, and so no row.
  case unsealable(CryptoError)
  /// SQLite failed, with an extended result code.
  case sqlite(code: Int32, message: String)

  /// The fault of a system call that has just failed.
  static func system(_ operation: String) -> StoreFault { .system(operation: operation, errno: errno) }

  /// Whether the file was read, and is not a whole store of the vault.
  var saysOtherStore: Bool {
    switch self {
    case .damaged, .foreign, .rowsChanged, .newer: true
    case .sqlite(let code, _): [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
    default: false
    }
  }

  /// What happened and what to do, with the names of the store and of the vault that it belongs to.
  func error(store: String, vault: String) -> RecoveryError {
    switch self {
    case .missing:
      RecoveryError(
        .store, "the store \(store) of the vault \(vault) is missing",
        hint: "put it back, or make an empty one", with: Self.newStore)
    case .exists:
      RecoveryError(.store, "there is a store already, \(store)", hint: "it is not overwritten: move it away first")
    case .damaged(let what):
      RecoveryError(
        .store, "the store \(store) is damaged: \(what)",
        hint: "put a good copy in its place, or move it away and run:", run: Self.newStore, needsPreparation: true)
    case .rowsChanged:
      RecoveryError(
        .store,
        "the store \(store) was modified outside liquid-auth: an old row was put back, or a row was removed",
        hint: "restore the right copy, or accept the store as it is",
        with: ["liquid-auth", "recover", "--accept-store"])
    case .rowsUnchanged:
      RecoveryError(.store, "the store \(store) and its history are unmodified: there is nothing to accept")
    case .noHistoryHead:
      RecoveryError(
        .store, "the history in the store \(store) was modified outside liquid-auth: its end is unknown",
        hint: "check it", with: ["liquid-auth", "log", "verify"])
    case .newer:
      RecoveryError(.store, "the store \(store) was written by a newer version", hint: "use a newer liquid-auth")
    case .foreign:
      RecoveryError(
        .store, "the store \(store) does not belong to the vault \(vault)",
        hint: "put the right one back, or move it away and run:", run: Self.newStore, needsPreparation: true)
    case .uncommitted(let reason): Self.undecided(reason.error(store: store, vault: vault))
    case .closed:
      RecoveryError(.store, "the store \(store) was closed meanwhile", hint: "try again")
    case .exchanged:
      RecoveryError(
        .store, "\(store) is not the store that was opened: the file or its directory was moved or replaced",
        hint: "put it back, or restart liquid-authenticator, which then uses what is there")
    case .system(let operation, let errno):
      RecoveryError(
        [ENOSPC, EDQUOT].contains(errno) ? .diskFull : .system(errno: errno),
        "cannot \(operation) the store \(store): \(String(cString: strerror(errno)))",
        hint: FileRemedy.text(errno))
    case .unsealable(let reason): RecoveryError(.store, "cannot write to the store \(store): \(reason)")
    case .sqlite(let code, let message): Self.error(store: store, vault: vault, code: code, message: message)
    }
  }

  private static let newStore = ["liquid-auth", "recover", "--new-store"]

  private static func undecided(_ error: RecoveryError) -> RecoveryError {
    RecoveryError(
      error.kind, "\(error.reason); the change may or may not be stored",
      hint: "check the disk, then whether it was stored")
  }

  private static func error(store: String, vault: String, code: Int32, message: String) -> RecoveryError {
    switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB: StoreFault.damaged(message).error(store: store, vault: vault)
    case SQLITE_BUSY, SQLITE_LOCKED:
      RecoveryError(.store, "another process uses the store \(store)", hint: "stop it first")
    case SQLITE_FULL:
      RecoveryError(
        .diskFull, "cannot write the store \(store): no space left", hint: FileRemedy.text(ENOSPC))
    default:
      RecoveryError(
        .store, "cannot use the store \(store): \(message) (SQLite error \(code))",
        hint: "check the disk and the permissions of the file")
    }
  }
}
