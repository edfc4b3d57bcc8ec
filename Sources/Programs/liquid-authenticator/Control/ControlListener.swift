import ControlProtocol
import EventLoop
import Glibc
import HelperProcess
import Prompts
import Synchronization

/// Serves the control socket: the loop reads requests, and a task answers each.
///
/// A connection is read again only after its request was answered. One turn of the loop reads at most ``bytesAtOnce``
/// from all connections together, and the next turn starts after the connection that was read last: clients that flood
/// the socket delay neither the device nor other connections. Nothing here waits for a client: an answer for which the
/// socket has no room ends the connection. A client that disconnects cancels its request.
///
/// While a prompt is open, each client whose request waits for its turn, or has it, hears of it once, if its hello asks for
/// that: a user who types in a terminal may not see the prompt.
///
/// If all places are taken, a new connection replaces an idle one of the process that has the most: the longest idle, or,
/// if more than ``maximumSilent`` never had an answered hello, the longest idle of these. Connections with a verified
/// passphrase are never replaced.
///
/// At most ``maximumWaiting`` requests of others may wait for a person, ``maximumUnlocking`` may try a passphrase,
/// ``maximumFollowing`` may wait for a change of the store, and ``maximumWorking`` may do other work. These are fewer
/// than the places, so there is always one for `lock` and `status`.
///
/// A process has one of each at a time, two that wait for a change of the store, and ``maximumWaitingOfOne`` that wait
/// for a person, so that others have a turn whatever it repeats. The last place for a try of the passphrase is only for a
/// process whose previous try was neither wrong nor given up.
final class ControlListener: Polled {
  /// The most connections at a time.
  static let maximumConnections = 32
  /// The most requests without the passphrase at a time that may wait for a person.
  static let maximumWaiting = 20
  /// The most of them of one process: a refused one waits for minutes without a dialog, and must not take every place.
  static let maximumWaitingOfOne = 16
  /// The most tries of the passphrase at a time on connections without it: each takes a processor and memory.
  static let maximumUnlocking = 4
  /// The most waits for a change of the store at a time on connections without the passphrase.
  static let maximumFollowing = BackupFollowers.maximumWaiting
  /// The most other requests without the passphrase at a time that take a moment.
  static let maximumWorking = 2
  /// How many processes are remembered whose last try of the passphrase was wrong or given up.
  static let maximumFailed = 256
  /// How many connections without an answered hello are kept when a new one needs a place: a new client needs a moment
  /// to say hello.
  static let maximumSilent = 8
  /// The bytes after which no other connection is read in the same turn of the loop.
  static let bytesAtOnce = 32 * 1024
  /// How many connections are accepted before the existing ones are read again.
  private static let arrivalsAtOnce = 16

  private struct Connection {
    let number: UInt64
    let session: ControlSession
    /// The process that made the connection, which the dialogs of its requests name.
    let process: ControlServerSocket.Peer
    var request: Task<Void, Never>?
    /// Who has withdrawn that request.
    var withdrawal = Withdrawal()
    /// Whether that request waits for its turn, or has it.
    var isInQueue = false
    /// Whether its client has heard of a prompt since it sent that request.
    var hasHeard = false
    /// The limit that the request counts towards; `nil` with the passphrase, or if the answer comes at once.
    var load: Load?
    /// Whether its hello was answered.
    var isGreeted = false
    /// Whether its hello asks to hear of prompts.
    var hearsOfPrompts = false
    /// The number of its last event: it was made, or its last request was answered.
    var lastEvent: UInt64
    /// Whether the vault's passphrase was given on it.
    var isVerified = false

    /// The door of its requests.
    var door: Door { .controlSocket(process: process.number, instance: process.instance) }
  }

  /// What a request without the passphrase can take away from others.
  private enum Load {
    case waiting, unlocking, following, working

    init?(_ request: ControlRequest) {
      switch (request.wait, request) {
      case (.none, _): return nil
      case (_, .command(is Unlock)), (_, .command(is NewStore)), (_, .command(is AcceptStore)): self = .unlocking
      case (.work, .command(is AwaitBackup)): self = .following
      case (.work, _): self = .working
      case (.queue, _): self = .waiting
      }
    }

    /// The most at a time, and what they do.
    var limit: (count: Int, words: String) {
      switch self {
      case .waiting: (ControlListener.maximumWaiting, "are waiting for an answer")
      case .unlocking: (ControlListener.maximumUnlocking, "try a passphrase")
      case .following: (ControlListener.maximumFollowing, "wait for a change of the store")
      case .working: (ControlListener.maximumWorking, "are being served")
      }
    }

    /// The most of one process at a time: a program that follows changes its connection while the earlier one waits.
    var limitOfOne: Int {
      switch self {
      case .waiting: ControlListener.maximumWaitingOfOne
      case .following: 2
      case .unlocking, .working: 1
      }
    }
  }

  private struct State {
    var connections: [Int32: Connection] = [:]
    var lastNumber: UInt64 = 0
    var lastEvent: UInt64 = 0
    /// The connection that was read last.
    var lastRead: Int32 = -1
    var watch: EventLoop.Watch?
    /// The processes whose last try of the passphrase was wrong or given up; the newest last.
    var failed: [ControlServerSocket.Peer] = []

    /// Throws if a request without the passphrase would take too much away from others.
    func admit(_ load: Load, of process: ControlServerSocket.Peer) throws(ControlFailure) {
      let others = connections.values.filter { $0.load == load }
      let isLast = load == .unlocking && others.count == load.limit.count - 1
      let isOver = others.count >= load.limit.count || isLast && failed.contains(process)
      guard !isOver, others.count(where: { $0.process == process }) < load.limitOfOne else {
        throw ControlFailure(.busy, "too many requests \(load.limit.words); try again later")
      }
    }

    /// Notes how a try of the passphrase ended.
    mutating func tried(_ process: ControlServerSocket.Peer, isRight: Bool) {
      failed.removeAll { $0 == process }
      guard !isRight else { return }
      if failed.count >= ControlListener.maximumFailed { failed.removeFirst() }
      failed.append(process)
    }
  }

  private let state = Mutex(State())
  private let arrivals = ArrivalPause()
  private let socket: ControlServerSocket
  private let peer: @Sendable (Int32) -> ControlServerSocket.Peer
  private let makeSession: @Sendable (UInt64, TerminalSession?) -> ControlSession
  private let isPromptOpen: @Sendable () -> Bool
  private let loop: EventLoop
  private let log: @Sendable (String) -> Void

  /// Begins to serve a socket, until `stop`.
  ///
  /// - Parameters:
  ///   - peer: returns the process that made a connection.
  ///   - makeSession: makes the session of the connection with this number, from this terminal; numbers are unique.
  ///   - isPromptOpen: whether a prompt is open now; ``promptOpened()`` is called when one opens.
  init(
    _ socket: consuming ControlServerSocket, on loop: EventLoop,
    peer: @escaping @Sendable (Int32) -> ControlServerSocket.Peer = { ControlServerSocket.peer(of: $0) },
    makeSession: @escaping @Sendable (UInt64, TerminalSession?) -> ControlSession,
    isPromptOpen: @escaping @Sendable () -> Bool, log: @escaping @Sendable (String) -> Void
  ) {
    self.socket = socket
    self.loop = loop
    self.peer = peer
    self.makeSession = makeSession
    self.isPromptOpen = isPromptOpen
    self.log = log
    // Under the lock, so that no connection is served before the watch is set.
    state.withLock { $0.watch = loop.watch(self) }
  }

  /// Ends the service: removes the socket's file, cancels every request and closes every connection.
  func stop() {
    guard let watch = state.withLock({ $0.watch.take() }) else { return }
    socket.removeFile()
    watch.stop()
    state.withLock { state in
      for descriptor in state.connections.keys { Self.end(descriptor, in: &state) }
    }
  }

  /// The connections whose requests wait for their turn, or have it: these have dialogs and the vault's keys.
  private var inQueue: [Connection] { state.withLock { $0.connections.values.filter(\.isInQueue) } }

  /// Notes that every request in the queue is withdrawn, before a lock of the vault ends what it waits for.
  ///
  /// A process that locks the vault withdraws its own requests: they count as refused.
  ///
  /// - Parameter own: the door of that process; `nil` if no request locks the vault.
  func noteWithdrawals(by own: Door?) {
    for connection in inQueue where connection.door != own { connection.withdrawal.note() }
  }

  /// Cancels every request in the queue, after a lock of the vault; the connections stay.
  ///
  /// - Parameter own: as in ``noteWithdrawals(by:)``; those that came since are noted, too.
  func withdrawRequests(by own: Door?) {
    for connection in inQueue {
      if connection.door != own { connection.withdrawal.note() }
      connection.request?.cancel()
    }
  }

  // MARK: The loop's thread

  func interests(_ descriptors: inout [pollfd]) -> Int32 {
    let (arriving, timeout) = arrivals.interest(in: socket.descriptor)
    descriptors.append(arriving)
    // With no events set, poll still reports that the other side has gone.
    descriptors += state.withLock { state in
      state.connections.map { pollfd(fd: $0, events: $1.request == nil ? Int16(POLLIN) : 0, revents: 0) }
    }
    return timeout
  }

  func ready(_ descriptors: ArraySlice<pollfd>) {
    receiveInTurn(descriptors.dropFirst().filter { $0.revents != 0 }.map(\.fd).sorted())
    arrivals.end()
    if descriptors.first?.revents != 0 { accept() }
  }

  /// Reads connections until it is enough for one turn; poll(2) reports the others again.
  private func receiveInTurn(_ descriptors: [Int32]) {
    let lastRead = state.withLock(\.lastRead)
    let next = descriptors.firstIndex { $0 > lastRead } ?? 0
    var count = 0
    for descriptor in descriptors[next...] + descriptors[..<next] where count < Self.bytesAtOnce {
      count += receive(on: descriptor)
    }
  }

  private func accept() {
    for _ in 0..<Self.arrivalsAtOnce {
      switch socket.accept() {
      case .none: return
      case .noRoom: return arrivals.begin()
      case .connection(let descriptor): serve(descriptor)
      }
    }
  }

  /// Adds a connection of our own user.
  private func serve(_ descriptor: Int32) {
    let user = ControlServerSocket.user(of: descriptor)
    guard user == geteuid() else {
      log("the control socket refused \(user.map { "user \($0)" } ?? "a program of an unknown user")")
      close(descriptor)
      return
    }
    state.withLock { state in
      guard state.connections.count < Self.maximumConnections || Self.makeRoom(in: &state) else {
        Self.send(ControlFailure(.busy, "too many programs are connected; try again").encoded, on: descriptor)
        close(descriptor)
        return
      }
      state.lastNumber += 1
      state.lastEvent += 1
      state.connections[descriptor] = Connection(
        number: state.lastNumber, session: makeSession(state.lastNumber, ControlServerSocket.terminal(of: descriptor)),
        process: peer(descriptor), lastEvent: state.lastEvent)
    }
  }

  /// Ends an idle connection without the passphrase; returns `false` if there is none.
  private static func makeRoom(in state: inout State) -> Bool {
    let counts = Dictionary(grouping: state.connections.values, by: \.process).mapValues(\.count)
    var idle = state.connections.filter { $1.request == nil && !$1.isVerified }
    // A program that connects again and again closes its own connections, and not that of the owner.
    let most = idle.values.compactMap { counts[$0.process] }.max()
    idle = idle.filter { counts[$1.process] == most }
    let silent = idle.filter { !$1.isGreeted }
    let oldest = (silent.count > Self.maximumSilent ? silent : idle).min { $0.value.lastEvent < $1.value.lastEvent }
    guard let oldest else { return false }
    end(oldest.key, in: &state)
    return true
  }

  /// Reads a packet; returns its size in bytes.
  private func receive(on descriptor: Int32) -> Int {
    withUnsafeTemporaryAllocation(byteCount: ControlMessage.maximumSize + 1, alignment: 1) { buffer in
      let (count, refusal) = state.withLock { receive(on: descriptor, into: buffer, &$0) }
      // Logging may block, so it happens outside the lock.
      if let refusal { log("the control socket refused a request: \(refusal.reason)") }
      return count
    }
  }

  /// Reads a packet; returns its size in bytes, and what is wrong with it.
  private func receive(
    on descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, _ state: inout State
  ) -> (count: Int, refusal: ControlFailure?) {
    guard let connection = state.connections[descriptor] else { return (0, nil) }
    state.lastRead = descriptor
    // While a request is being answered, poll can only report that the other side has gone.
    let count = connection.request == nil ? recv(descriptor, buffer.baseAddress, buffer.count, 0) : 0
    if count < 0, errno == EINTR || errno == EAGAIN { return (0, nil) }
    guard count > 0 else {
      Self.end(descriptor, in: &state)
      return (0, nil)
    }
    // A passphrase may be in it.
    defer { UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)).wipe() }
    do throws(ControlFailure) {
      let packet = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
      let request = try ControlRequest(decoding: packet, isGreeted: connection.isGreeted)
      let load = connection.isVerified ? nil : Load(request)
      if let load { try state.admit(load, of: connection.process) }
      state.connections[descriptor]?.load = load
      state.connections[descriptor]?.isInQueue = request.wait == .queue
      state.connections[descriptor]?.hasHeard = false
      let withdrawal = Withdrawal()
      state.connections[descriptor]?.withdrawal = withdrawal
      state.connections[descriptor]?.request = Task(executorPreference: loop) {
        let origin = RequestOrigin(door: connection.door, withdrawal: withdrawal)
        var answer = await connection.session.answer(to: request, from: origin)
        let standing = await connection.session.standing
        self.finish(&answer, standing, on: descriptor, connection.number)
      }
      if isPromptOpen() { Self.tellOfPrompt(descriptor, in: &state) }
      return (count, nil)
    } catch {
      let isSent = Self.send(error.encoded, on: descriptor)
      if !isSent || count > ControlMessage.maximumSize { Self.end(descriptor, in: &state) }
      return (count, error)
    }
  }

  // MARK: Any thread

  /// Tells the clients whose requests wait for their turn, or have it, that a prompt is open.
  func promptOpened() {
    state.withLock { state in
      for descriptor in state.connections.keys { Self.tellOfPrompt(descriptor, in: &state) }
    }
  }

  /// Tells the client of a request that a prompt is open, if it wants to hear of it and has not heard yet.
  private static func tellOfPrompt(_ descriptor: Int32, in state: inout State) {
    guard let connection = state.connections[descriptor], connection.request != nil, connection.isInQueue,
      connection.hearsOfPrompts, !connection.hasHeard
    else { return }
    state.connections[descriptor]?.hasHeard = true
    send(ControlMessage.promptIsOpen, on: descriptor)
  }

  /// Sends an answer, if the connection of the request is still open; then wipes it, because private keys may be in it.
  private func finish(
    _ answer: inout [UInt8], _ standing: ControlSession.Standing, on descriptor: Int32, _ number: UInt64
  ) {
    defer { answer.withUnsafeMutableBytes { $0.wipe() } }
    let watch = state.withLock { state -> EventLoop.Watch? in
      guard let connection = state.connections[descriptor], connection.number == number else { return nil }
      if connection.load == .unlocking {
        state.tried(connection.process, isRight: answer.first == ControlStatus.ok.rawValue)
      }
      state.lastEvent += 1
      state.connections[descriptor]?.request = nil
      state.connections[descriptor]?.load = nil
      state.connections[descriptor]?.isGreeted = standing.isGreeted
      state.connections[descriptor]?.hearsOfPrompts = standing.hearsOfPrompts
      state.connections[descriptor]?.lastEvent = state.lastEvent
      state.connections[descriptor]?.isVerified = standing.isVerified
      if !Self.send(answer, on: descriptor) { Self.end(descriptor, in: &state) }
      return state.watch
    }
    watch?.wake()
  }

  private static func end(_ descriptor: Int32, in state: inout State) {
    if let connection = state.connections.removeValue(forKey: descriptor) {
      connection.request?.cancel()
      if connection.load == .unlocking { state.tried(connection.process, isRight: false) }
    }
    close(descriptor)
  }

  @discardableResult
  private static func send(_ message: [UInt8], on descriptor: Int32) -> Bool {
    message.withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
    } == message.count
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Overwrites all bytes, in a way that the compiler does not remove.
  fileprivate func wipe() {
    if let baseAddress { explicit_bzero(baseAddress, count) }
  }
}
