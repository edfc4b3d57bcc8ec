import CTAP2
import CredentialDB
import Recovery
import Synchronization

/// Adds each ceremony to the history of the store, after its answer and in turn with the requests.
///
/// Its turn keeps the loop from waiting for a store that is being written. A failure costs the ceremony nothing. A request
/// that ends while the vault is locked gets its entry when the vault is opened: wrong passphrases can lock the vault before
/// their request ends.
final class HistoryRecorder: Sendable {
  /// How many entries that a program can cause without limit are kept in a row.
  ///
  /// These are requests that were not done, and changes with a token. They could push all others out of the history.
  static let repeatedInARow = 100
  /// How many entries are kept in memory until the vault is opened; later ones are dropped, because the first ones show how
  /// the series began.
  static let keptWhileLocked = 100

  private let vault: VaultKeySource
  private let writer: any TaskExecutor
  private let time: @Sendable () -> UInt64
  private let log: @Sendable (String) -> Void
  private let queue = Mutex<RequestQueue<Authenticator>?>(nil)
  private let repeated = Mutex(0)
  /// The entries that are not written yet, the oldest first.
  private let unwritten = Mutex<[HistoryEntry]>([])

  /// - Parameters:
  ///   - vault: has the store, while it is open.
  ///   - writer: runs the writes.
  ///   - time: Unix milliseconds.
  ///   - log: gets a line for an entry that could not be written; it does not name the site.
  init(
    vault: VaultKeySource, writer: any TaskExecutor, time: @escaping @Sendable () -> UInt64,
    log: @escaping @Sendable (String) -> Void
  ) {
    (self.vault, self.writer, self.time, self.log) = (vault, writer, time, log)
  }

  /// The queue whose requests are recorded.
  func record(_ queue: RequestQueue<Authenticator>) { self.queue.withLock { $0 = queue } }

  /// A request has ended; a store that is open now is written, even if the vault is locked meanwhile.
  func ended(_ report: CommandReport) {
    guard let entry = report.historyEntry(at: time()), isWanted(entry) else { return }
    unwritten.withLock { unwritten in
      guard vault.openStore != nil || unwritten.count < Self.keptWhileLocked else { return }
      unwritten.append(entry)
    }
    write()
  }

  /// The vault was opened: adds the entries of requests that ended while it was locked.
  func vaultOpened() { write() }

  private func write() {
    guard unwritten.withLock({ !$0.isEmpty }), let store = vault.openStore, let queue = queue.withLock(\.self)
    else { return }
    Task(executorPreference: writer) { [self] in
      _ = try? await queue.submit { [self] _ in
        await withTaskExecutorPreference(writer) { append(to: store) }
      }
    }
  }

  private func append(to store: CredentialDB) {
    let entries = unwritten.withLock { unwritten in
      defer { unwritten = [] }
      return unwritten
    }
    for entry in entries {
      do throws(RecoveryError) { try store.append(entry) } catch {
        return log("the last requests are not in the history: \(error.description)")
      }
    }
  }

  private func isWanted(_ entry: HistoryEntry) -> Bool {
    repeated.withLock { repeated in
      repeated = entry.canBeRepeated ? min(repeated + 1, Self.repeatedInARow + 1) : 0
      return repeated <= Self.repeatedInARow
    }
  }
}

extension HistoryEntry {
  /// Whether a program can cause such entries without limit: requests that were not done, changes with a token, and what
  /// only the PIN allows.
  fileprivate var canBeRepeated: Bool {
    guard outcome == .done else { return true }
    return switch kind {
    case .verify, .changePIN: verification == .pin
    case .renamePasskey, .changeSettings, .replaceLargeBlobs: verification == .token
    default: false
    }
  }
}
