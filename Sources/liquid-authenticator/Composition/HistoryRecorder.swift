import CTAP2
import CredentialDB
import Recovery
import Synchronization

/// Adds each ceremony to the history of the store, after its answer and in turn with the requests.
///
/// Its turn keeps the loop from waiting for a store that is being written. A failure costs the ceremony nothing.
final class HistoryRecorder: Sendable {
  /// The most entries in a row that were not done: a program that sends requests and withdraws them could otherwise
  /// push all others out of the history.
  static let failuresInARow = 100

  private let vault: VaultKeySource
  private let writer: any TaskExecutor
  private let time: @Sendable () -> UInt64
  private let log: @Sendable (String) -> Void
  private let queue = Mutex<RequestQueue<Authenticator>?>(nil)
  private let failures = Mutex(0)

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

  /// A request has ended; the store of its time is written, even if the vault is locked meanwhile.
  func ended(_ report: CommandReport) {
    guard let entry = report.historyEntry(at: time()), let store = vault.openStore, isWanted(entry),
      let queue = queue.withLock(\.self)
    else { return }
    Task(executorPreference: writer) { [writer, log] in
      _ = try? await queue.submit { _ in
        await withTaskExecutorPreference(writer) {
          do throws(RecoveryError) { try store.append(entry) } catch {
            log("the last ceremony is not in the history: \(error.description)")
          }
        }
      }
    }
  }

  private func isWanted(_ entry: HistoryEntry) -> Bool {
    failures.withLock { failures in
      failures = entry.outcome == .done ? 0 : min(failures + 1, Self.failuresInARow + 1)
      return failures <= Self.failuresInARow
    }
  }
}
