import CTAP2
import ControlProtocol
import EventLoop
import Recovery
import Synchronization

/// Adds each ceremony to the history of the store, before its answer is sent: the end of the process loses no entry.
///
/// The entry of a change is in the transaction of the change. Any other entry is written, but not synchronised, when its
/// request ends, in the turn of the request. A request that ends outside its turn, while the store is in use, gets its
/// entry in the next turn: the loop must not wait. A request that ends while the vault is locked gets its entry when the
/// store is opened, before other requests use it: wrong passphrases can lock the vault before their request ends. A failure
/// does not affect the ceremony; the entries are written at the next opening or request.
final class HistoryRecorder: Sendable {
  /// How many entries of one site that a program can cause without limit are kept in a row.
  ///
  /// These are requests that were not done, and changes with a token. They could push all others out of the history.
  static let repeatedInARow = 100
  /// How many of them are kept in a row, of all sites: a program can name any number of sites.
  static let repeatedOfAllSites = 2000
  /// How many entries are kept in memory until they can be written; later ones are dropped, because the first ones show
  /// how the series began.
  static let keptUnwritten = 100

  private let vault: CurrentVault
  private let writer: any TaskExecutor
  private let time: @Sendable () -> UInt64
  private let log: @Sendable (Problem) -> Void
  private let queue = Mutex<RequestQueue<Authenticator>?>(nil)
  /// The repeated entries since the last other one, by the bytes of their sites.
  private let repeated = Mutex<[[UInt8]: Int]>([:])
  private let unwritten = Mutex(Unwritten())
  /// The store whose next change has the entry of the present request.
  private let changing = Mutex<(any HistoryStore)?>(nil)
  private let fault = Mutex<Problem?>(nil)

  /// What the last opening of the store found wrong with the end of the history, and what to do.
  var problem: Problem? { fault.withLock(\.self) }

  /// The entries that are not written yet.
  private struct Unwritten {
    /// The store that was opened last, to which the entries belong; `nil` if they belong to the next one.
    var storeID: [UInt8]?
    /// The oldest first.
    var entries: [HistoryEntry] = []
    /// The last warning, until an entry is written.
    var warning: String?
  }

  /// - Parameters:
  ///   - vault: has the store, while it is open.
  ///   - writer: runs the writes.
  ///   - time: Unix milliseconds.
  ///   - log: gets a line for an entry that could not be written; it does not name the site.
  init(
    vault: CurrentVault, writer: any TaskExecutor, time: @escaping @Sendable () -> UInt64,
    log: @escaping @Sendable (Problem) -> Void
  ) {
    (self.vault, self.writer, self.time, self.log) = (vault, writer, time, log)
  }

  /// The queue whose requests are recorded.
  func record(_ queue: RequestQueue<Authenticator>) { self.queue.withLock { $0 = queue } }

  /// The request that is being served is about to change a store; `nil` if it is not any more.
  func expect(_ report: CommandReport?, in store: any CredentialStore) {
    guard let store = store.history else { return }
    let entry = report?.historyEntry(at: time())
    let wanted = entry.flatMap { isWanted($0) ? $0 : nil }
    store.expect(wanted)
    changing.withLock { $0 = wanted == nil ? nil : store }
  }

  /// A request has ended; a store that is open now is written, even if the vault is locked meanwhile.
  func ended(_ report: CommandReport) {
    let isWritten = report.isOfTurn && changing.withLock { $0.take() }?.takeBack() ?? false
    guard let entry = report.historyEntry(at: time()), isWanted(entry) else { return }
    count(entry)
    guard !isWritten else { return }
    unwritten.withLock { unwritten in
      guard vault.openStore != nil || unwritten.entries.count < Self.keptUnwritten else { return }
      unwritten.entries.append(entry)
    }
    write()
  }

  /// Adds the entries of requests that ended while the vault was locked, unless they belong to another store.
  func vaultChanged(_ event: CurrentVault.Event) {
    switch event {
    case .storeOpened(let store, let id): opened(store, id)
    case .opened: write()
    case .newStore:
      fault.withLock { $0 = nil }
      drop()
    case .storeAccepted: fault.withLock { $0 = nil }
    }
  }

  private func opened(_ store: any HistoryStore, _ id: [UInt8]) {
    if let last = unwritten.withLock(\.storeID), last != id { drop() }
    unwritten.withLock { $0.storeID = id }
    let problem = store.historyFault.map {
      Problem(
        "the history was modified outside liquid-auth: \($0)", hint: "check it",
        with: ["liquid-auth", "log", "verify"])
    }
    fault.withLock { $0 = problem }
    if let problem { log(problem) }
    append(to: store)
  }

  /// Forgets the entries of a store that another one has replaced.
  private func drop() {
    let count = unwritten.withLock { unwritten in
      defer { unwritten = Unwritten() }
      return unwritten.entries.count
    }
    repeated.withLock { $0 = [:] }
    if count > 0 { log("not in the history: the last \(count) requests to the store that was replaced") }
  }

  private func write() {
    guard unwritten.withLock({ !$0.entries.isEmpty }), let store = vault.openStore else { return }
    // Another thread can use the store between two entries: the loop must not wait for it.
    guard !append(to: store, waits: false) else { return }
    guard let queue = queue.withLock(\.self) else { return }
    Task(executorPreference: writer) { [self] in
      _ = try? await queue.submit { [self] _ in
        await withTaskExecutorPreference(writer) { _ = append(to: store) }
      }
    }
  }

  /// Writes the remaining entries, before the process ends or the history is copied or read; the caller has the turn.
  func finish() async {
    guard let store = vault.openStore else { return }
    await withTaskExecutorPreference(writer) { _ = append(to: store) }
  }

  /// Writes the entries that are not written yet.
  ///
  /// - Parameter waits: whether it waits for other uses of the store.
  /// - Returns: `false` if it did not wait, and entries are left.
  @discardableResult
  private func append(to store: any HistoryStore, waits: Bool = true) -> Bool {
    guard unwritten.withLock({ !$0.entries.isEmpty }) else { return true }
    do throws(RecoveryError) {
      let state = try waits ? store.state() : store.stateIfIdle()
      guard let id = state?.storeID else { return false }
      var entries = unwritten.withLock { unwritten -> [HistoryEntry] in
        guard unwritten.storeID == id else { return [] }
        defer { unwritten.entries = [] }
        return unwritten.entries
      }
      defer { requeue(entries, of: id) }
      while let entry = entries.first {
        if waits { try store.append(entry) } else if try !store.appendIfIdle(entry) { return false }
        entries.removeFirst()
        unwritten.withLock { $0.warning = nil }
      }
    } catch {
      let isNew = unwritten.withLock { unwritten in
        defer { unwritten.warning = error.description }
        return unwritten.warning != error.description
      }
      if isNew { log(Problem(error).after("the last requests are not in the history yet: ")) }
    }
    return true
  }

  /// Keeps entries that could not be written, in front of later ones.
  private func requeue(_ entries: [HistoryEntry], of id: [UInt8]) {
    unwritten.withLock { unwritten in
      guard !entries.isEmpty, unwritten.storeID == id else { return }
      unwritten.entries = Array((entries + unwritten.entries).prefix(Self.keptUnwritten))
    }
  }

  private func isWanted(_ entry: HistoryEntry) -> Bool {
    guard entry.canBeRepeated else { return true }
    return repeated.withLock { repeated in
      repeated[entry.siteBytes, default: 0] < Self.repeatedInARow
        && repeated.values.reduce(0, +) < Self.repeatedOfAllSites
    }
  }

  private func count(_ entry: HistoryEntry) {
    repeated.withLock { repeated in
      if entry.canBeRepeated { repeated[entry.siteBytes, default: 0] += 1 } else { repeated = [:] }
    }
  }
}

extension CommandReport {
  /// Whether the request can have announced a change: the others can end while another request changes the store.
  fileprivate var isOfTurn: Bool {
    switch kind {
    case nil, .u2fRegister, .u2fSignIn: false
    default: true
    }
  }
}

extension HistoryEntry {
  /// A text without bytes is no site.
  fileprivate var siteBytes: [UInt8] { Array((site ?? "").utf8) }

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
