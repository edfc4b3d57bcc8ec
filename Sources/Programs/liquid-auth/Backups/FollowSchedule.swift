/// Decides when the follower connects, asks for the store, and does a pass.
///
/// It reads no clock: times are durations since one fixed moment. While nothing changes and nothing failed, it waits without
/// a time limit.
struct FollowSchedule {
  /// How long the store must be unchanged before the own file is written.
  static let storeDelay = Duration.seconds(2)
  /// How long the folder must be unchanged before its files are read.
  static let folderDelay = Duration.milliseconds(500)
  /// The longest delay after the first of several changes.
  static let longestDelay = Duration.seconds(30)
  /// How many passes for changes of the folder can bring nothing before the next ones wait longer.
  static let freePasses = 4
  /// The longest delay after a change of the folder, if the changes before brought nothing.
  static let longestFolderDelay = Duration.seconds(300)
  /// The shortest time without a change of the folder after which the next one counts as the first.
  static let quietTime = Duration.seconds(30)
  /// The shortest pause after the end of a connection.
  ///
  /// If the authenticator ends, systemd stops this program too, which takes seconds on a busy machine; a connection before
  /// that would start the authenticator again.
  static let shortestPause = Duration.seconds(5)
  /// The pause between two tries to connect to a socket that has just appeared: the authenticator listens a moment later.
  static let socketPause = Duration.seconds(1)
  /// The longest pause between two tries to connect to an authenticator that listens but does not answer.
  static let longestPause = Duration.seconds(60)
  /// How long after a pass that failed the next one begins, if nothing changes before.
  static let retryDelay = Duration.seconds(300)

  enum Event: Equatable {
    /// A connection was made, and the store was asked for.
    case asked
    /// The authenticator answered that the store has changed, or that it is open.
    case answered
    /// The files were read; whether that has changed the store.
    case read(hasChanged: Bool)
    /// The files were read and written, as far as possible; the program now waits for the next change.
    case passed
    /// Something failed in the pass that may succeed later without a noticed change.
    case incomplete
    /// The vault was locked meanwhile, or the folder is another one now: the store was asked for again.
    case interrupted
    /// Something in the folder changed, or the folder itself.
    case folderChanged
    /// The connection is over.
    case disconnected
    /// No authenticator listens.
    case notRunning
    /// An authenticator listens, and the connection failed.
    case failed
    /// Something changed in the directory of the control socket.
    case socketChanged
  }

  enum Action: Equatable {
    /// Connect, and ask for the store; a connection that waits for a change is closed.
    case connect
    /// Read the folder, and write the store's file.
    case pass
    /// Wait for an event, until this time at the latest.
    case wait(until: Duration?)
  }

  private enum State: Equatable {
    /// There is no connection; the next try is at this time, or after an event.
    case offline(retry: Duration?)
    /// The store was asked for; the answer comes when the vault is open.
    case asking
    /// The store is open, and the connection can be used.
    case passing
    /// The authenticator answers when the store changes.
    case resting
  }

  private var state = State.offline(retry: .zero)
  /// The time of the first change since the last pass, and the time of the next pass.
  private typealias Pending = (first: Duration, due: Duration)
  /// For changes of the store.
  private var pendingStore: Pending?
  /// For changes of the folder.
  private var pendingFolder: Pending?
  /// The time of the last change of the folder.
  private var lastFolderChange: Duration?
  /// Whether a change of the folder began the pass.
  private var isOfFolder = false
  /// How many passes, one after another, followed a change of the folder and left the store as it was.
  private var passesInVain = 0
  /// The time of the next pass after one that failed.
  private var retry: Duration?
  /// The last pause before a try to connect; zero after a connection that was used.
  private var pause = Duration.zero

  /// Whether the control socket has appeared since the last try to connect: it is there before the authenticator listens.
  private var isSocketNew = false

  /// Whether the store was asked for: the next answer begins a pass.
  var isAsking: Bool { state == .asking }

  mutating func handle(_ event: Event, at now: Duration) {
    switch (event, state) {
    case (.asked, _): (state, isSocketNew) = (.asking, false)
    case (.answered, .asking):
      // The pass that begins now has every change so far.
      isOfFolder = pendingFolder != nil
      (state, pendingStore, pendingFolder, retry, pause) = (.passing, nil, nil, nil, .zero)
    case (.answered, _): pendingStore = Self.delayed(pendingStore, by: Self.storeDelay, from: now)
    case (.read(hasChanged: true), _): passesInVain = 0
    case (.read(hasChanged: false), _): passesInVain += isOfFolder ? 1 : 0
    case (.passed, _): state = .resting
    case (.incomplete, _): (state, retry) = (.resting, now + Self.retryDelay)
    case (.interrupted, _): state = .asking
    case (.folderChanged, .asking): break
    case (.folderChanged, _):
      if let last = lastFolderChange, now - last > max(folderDelay, Self.quietTime) { passesInVain = 0 }
      lastFolderChange = now
      pendingFolder = Self.delayed(pendingFolder, by: folderDelay, from: now)
    case (.disconnected, _), (.failed, _):
      pause = min(max(pause * 2, Self.shortestPause), Self.longestPause)
      state = .offline(retry: now + pause)
    case (.notRunning, _):
      state = .offline(retry: isSocketNew ? now + Self.socketPause : nil)
      isSocketNew = false
    case (.socketChanged, .offline): (state, isSocketNew) = (.offline(retry: now), true)
    case (.socketChanged, _): break
    }
  }

  private static func delayed(_ pending: Pending?, by delay: Duration, from now: Duration) -> Pending {
    let first = pending?.first ?? now
    return (first, min(max(pending?.due ?? .zero, now + delay), first + max(longestDelay, delay)))
  }

  /// Doubled by each further pass in vain: another program may change a file without end.
  private var folderDelay: Duration {
    let doublings = min(max(passesInVain - Self.freePasses, 0), 16)
    return min(Self.folderDelay * (1 << doublings), Self.longestFolderDelay)
  }

  /// When the next pass is due; a change of the folder moves that for the store by half a second at most.
  private var due: Duration? {
    guard let store = pendingStore?.due else { return pendingFolder?.due }
    return max(store, min(pendingFolder?.due ?? .zero, store + Self.folderDelay))
  }

  func action(at now: Duration) -> Action {
    switch state {
    case .offline(let retry): return retry.map { $0 <= now } ?? false ? .connect : .wait(until: retry)
    case .asking: return .wait(until: nil)
    case .passing: return .pass
    case .resting:
      let next = [due, retry].compactMap { $0 }.min()
      guard let due = next, due <= now else { return .wait(until: next) }
      return .connect
    }
  }
}
