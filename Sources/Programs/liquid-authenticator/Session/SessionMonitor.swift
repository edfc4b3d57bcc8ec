import CTAP2
import CTAPHID
import EventLoop
import Glibc
import Logind
import Synchronization

/// Follows logind: signals on the bus, and whether the user's session is in the foreground.
///
/// An idle session causes no wake-up.
final class SessionMonitor: Polled {
  /// What has changed.
  enum Change: Sendable, Equatable {
    case signal(LoginSignals.Signal)
    /// The connection to logind has ended: no more signals come.
    case disconnected
    /// Whether the user has sessions at this machine, and all of them are in the background.
    case isInBackground(Bool)
  }

  /// All changes, in order, for one task: a suspend and its end must not overtake each other.
  let changes: AsyncStream<Change>

  private let user: uid_t
  private let sessions: Int32
  private let continuation: AsyncStream<Change>.Continuation
  private let signals: Mutex<LoginSignals?>
  private let watch = Mutex<EventLoop.Watch?>(nil)

  /// Follows logind until `stop`; `nil` if the connection has ended.
  init?(_ signals: consuming sending LoginSignals, of user: uid_t = getuid(), on loop: EventLoop) {
    signals.delaySleep()
    guard signals.process() != nil else { return nil }
    self.user = user
    (changes, continuation) = AsyncStream.makeStream(of: Change.self)
    self.signals = Mutex(signals)
    sessions = LoginSession.changes()
    watch.withLock { $0 = loop.watch(self) }
  }

  /// Ends `changes`.
  func stop() {
    watch.withLock { $0.take() }?.stop()
    signals.withLock { $0 = nil }
    continuation.finish()
  }

  /// Whether the user has sessions at this machine, and all of them are in the background.
  static func isInBackground(_ user: uid_t = getuid()) -> Bool {
    LoginSession.isAtSeat(user, isActive: false) && !LoginSession.isAtSeat(user, isActive: true)
  }

  /// Whether logind's signals still come.
  var isConnected: Bool { signals.withLock { $0 != nil } }

  /// Lets the machine be suspended, after the vault is locked.
  func allowSleep() { signals.withLock { $0?.allowSleep() } }

  /// Makes the next suspend wait, after ``allowSleep()``.
  func delaySleep() { receive { $0.delaySleep() } }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    descriptors.append(.readable(sessions))
    signals.withLock { signals in
      guard let (descriptor, events) = signals?.interest else { return }
      descriptors.append(pollfd(fd: descriptor, events: events, revents: 0))
    }
    return -1
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    if descriptors.first?.revents != 0 { sessionsChanged() }
    if descriptors.dropFirst().contains(where: { $0.revents != 0 }) { receive() }
  }

  /// Passes on what the bus has sent, and what came during `call`.
  private func receive(after call: (LoginSignals) -> Void = { _ in }) {
    signals.withLock { signals in
      guard let connection = signals else { return }
      call(connection)
      if let received = connection.process() {
        for signal in received { continuation.yield(.signal(signal)) }
      } else {
        // The descriptor of a connection that has ended stays readable.
        signals = nil
        continuation.yield(.disconnected)
      }
    }
  }

  private func sessionsChanged() {
    var events = [UInt8](repeating: 0, count: 4096)
    while read(sessions, &events, events.count) > 0 {}
    continuation.yield(.isInBackground(Self.isInBackground(user)))
  }
}

/// Locks the vault after a time without use.
final class IdleLock: Sendable {
  private struct State {
    var lastUse: Instant
    var timer: Task<Void, Never>?
  }

  private let limit: Duration
  private let clock: any MonotonicClock
  private let executor: any TaskExecutor
  private let state: Mutex<State>
  private let lock = Mutex<(@Sendable () -> Void)?>(nil)

  /// - Parameter executor: calls what ``observe(_:)`` sets.
  init(limit: Duration, clock: any MonotonicClock, executor: any TaskExecutor) {
    (self.limit, self.clock, self.executor) = (limit, clock, executor)
    state = Mutex(State(lastUse: clock.now))
  }

  /// Calls `lock`, which locks the vault, after each time without use.
  func observe(_ lock: @escaping @Sendable () -> Void) { self.lock.withLock { $0 = lock } }

  /// Counts a request as use if the person agreed to it, or was verified for it.
  func ended(_ report: CommandReport) {
    if report.isUse { wasUsed() }
  }

  private func wasUsed() {
    let now = clock.now
    state.withLock { $0.lastUse = now }
  }

  /// The vault was opened, or its passphrase was given again, as for an owner's commands; replaces the timer of an
  /// earlier opening.
  func wasOpened() {
    wasUsed()
    let timer = Task(executorPreference: executor) { await self.run() }
    let previous = state.withLock { state in
      defer { state.timer = timer }
      return state.timer
    }
    previous?.cancel()
  }

  /// One wake-up for each time limit, however many requests there are.
  private func run() async {
    while true {
      let due = state.withLock { $0.lastUse.advanced(by: limit) }
      guard due > clock.now else {
        // Called outside the mutex: it waits for a change that is being written.
        let lock = lock.withLock { $0 }
        lock?()
        return
      }
      do throws(CancellationError) { try await clock.sleep(until: due) } catch { return }
    }
  }
}
