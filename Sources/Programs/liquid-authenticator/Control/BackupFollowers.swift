import ControlProtocol
import Synchronization

/// The connections that follow a folder of backups: they wait for changes of the store, and send reports.
final class BackupFollowers: Sendable {
  /// The most connections that wait at a time, because each of them takes one of the connections of the socket.
  static let maximumWaiting = 4

  private struct State {
    var changes: UInt64 = 0
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var lastTicket: UInt64 = 0
    /// The last report of each connection, by its number.
    var reports: [UInt64: FollowReport] = [:]
  }

  private let state = Mutex(State())

  /// The number of changes so far.
  var changes: UInt64 { state.withLock(\.changes) }

  /// How many connections wait for a change.
  var waitingCount: Int { state.withLock(\.waiting.count) }

  /// The report of the newest connection; `nil` if none follows.
  var report: FollowReport? { state.withLock { state in state.reports.max { $0.key < $1.key }?.value } }

  /// Ends all waits, after the store was changed or opened.
  func changed() {
    let waiting = state.withLock { state in
      state.changes += 1
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    waiting.forEach { $0.resume() }
  }

  /// Waits until there are more changes than this number.
  ///
  /// - Throws: `busy` if too many connections wait; `CancellationError` if the request was cancelled.
  func change(after number: UInt64) async throws {
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    let isBusy = Mutex(false)
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.changes == number, !Task.isCancelled else { return true }
          guard state.waiting.count < Self.maximumWaiting else {
            isBusy.withLock { $0 = true }
            return true
          }
          state.waiting[ticket] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
    }
    try Task.checkCancellation()
    if isBusy.withLock({ $0 }) {
      throw ControlFailure(.busy, "too many programs wait for a change of the store; end one of them")
    }
  }

  /// Stores the report of a connection.
  func set(_ report: FollowReport, of connection: UInt64) { state.withLock { $0.reports[connection] = report } }

  /// Removes the report of a connection that has ended.
  func ended(_ connection: UInt64) { state.withLock { _ = $0.reports.removeValue(forKey: connection) } }
}
