import ControlClient
import ControlProtocol
import Glibc
import ProcessIO
import StateDirectory

/// `liquid-auth backup follow`: keeps the store and the folder of backups that it follows in sync.
///
/// It waits with poll(2) for the authenticator, which answers when the store changes, and for changes of the folder. It does
/// not wake while neither changes.
struct BackupFollower {
  private let place: PlaceOptions
  private let watch: FolderWatch
  private let start = ContinuousClock.now
  private var schedule = FollowSchedule()
  private var files = FollowedFiles()
  private var connection: ControlConnection?
  /// The connection before, until the authenticator has answered on the present one, and so has its report.
  private var earlier: ControlConnection?
  private var lock: FollowLock?
  /// The store in the last answer of the authenticator.
  private var store: FollowedStore?
  /// The last line about the connection, so that it is logged only once.
  private var said: String?

  init(at place: PlaceOptions) throws(CommandFailure) {
    self.place = place
    watch = try FolderWatch()
  }

  private var now: Duration { start.duration(to: .now) }

  private mutating func say(_ line: String) {
    guard line != said else { return }
    said = line
    Self.log(line)
  }

  static func log(_ line: String) { StandardStream.error.write("liquid-auth: \(line.printable)") }

  /// Runs until the store follows no folder.
  ///
  /// - Throws: a failure that does not end by itself: another program follows the folder, the authenticator has another
  ///   version, or the folder cannot be watched.
  mutating func run() throws(CommandFailure) {
    while true {
      switch schedule.action(at: now) {
      case .connect: try connect()
      case .pass: guard try pass() else { return }
      case .wait(let time): guard try wait(until: time) else { return }
      }
    }
  }

  // MARK: The connection

  /// Connects, and asks for the store.
  ///
  /// The earlier connection ends after the answer, so that the status always has a report.
  private mutating func connect() throws(CommandFailure) {
    try watch.watch(socket: place.controlPath())
    let new: ControlConnection
    do throws(CommandFailure) { new = try place.connect() } catch {
      guard error.code == .notRunning else {
        // At the next start of the authenticator, the service starts the program that is installed then.
        if error.isVersionMismatch { throw error }
        return failed(error)
      }
      (connection, earlier) = (nil, nil)
      say("waiting for the authenticator: \(error.completed(by: place).description)")
      schedule.handle(.notRunning, at: now)
      return
    }
    if lock == nil {
      let directory: String
      do throws(CommandFailure) { directory = try new.ask(GetStatus()).stateDirectory } catch { return failed(error) }
      lock = try FollowLock(in: directory)
    }
    do throws(CommandFailure) {
      try send(AwaitBackup(report: files.report(own: own)), on: new)
    } catch {
      return failed(error)
    }
    (earlier, connection) = (connection, new)
    watch.endWatchOfSocket()
    schedule.handle(.asked, at: now)
  }

  private mutating func failed(_ error: CommandFailure) {
    connection = nil
    say(error.completed(by: place).description)
    schedule.handle(.failed, at: now)
  }

  private func send(_ command: AwaitBackup, on connection: ControlConnection) throws(CommandFailure) {
    do { try connection.send(command) } catch { throw CommandFailure(error) }
  }

  private mutating func disconnect() {
    connection = nil
    schedule.handle(.disconnected, at: now)
  }

  private var own: String? { store.map { FollowedFiles.ownName(of: $0, host: hostName()) } }

  // MARK: A pass

  /// Returns `false` if the store follows no folder.
  private mutating func pass() throws(CommandFailure) -> Bool {
    guard let connection, let store, let own, let folder = store.folder else { return false }
    let wasAbsent = files.isAbsent
    try watch.watch(folder: folder, isAbsent: wasAbsent)
    let pass = BackupPass(
      connection: connection, store: store, folder: folder, own: own, isNew: false, place: place, log: Self.log)
    switch pass.run(&files) {
    case .done:
      try watch.watch(folder: folder, isAbsent: files.isAbsent)
      guard awaitStore(AwaitBackup(seen: store.state, report: files.report(own: own))) else { return true }
      let isIncomplete = files.problem != nil && !files.isAbsent || !files.isComplete
      schedule.handle(.read(hasChanged: files.hasChangedStore), at: now)
      schedule.handle(isIncomplete ? .incomplete : .passed, at: now)
      // The folder may have come back before the watch began.
      if files.isAbsent, !wasAbsent { schedule.handle(.folderChanged, at: now) }
    case .interrupted:
      guard awaitStore(AwaitBackup(report: files.report(own: own))) else { return true }
      schedule.handle(.interrupted, at: now)
    case .disconnected: disconnect()
    }
    return true
  }

  /// Begins to wait for a change of the store; returns `false` if the connection is over.
  private mutating func awaitStore(_ command: AwaitBackup) -> Bool {
    guard let connection, (try? send(command, on: connection)) != nil else {
      disconnect()
      return false
    }
    return true
  }

  // MARK: Waiting

  /// Waits for an event; returns `false` if the store no longer follows a folder.
  private mutating func wait(until time: Duration?) throws(CommandFailure) -> Bool {
    var ready = watch.descriptors
    if let connection { ready.append(pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)) }
    let limit = time.map { max($0 - now, .zero) }
    let milliseconds = limit.map {
      Int32(clamping: $0.components.seconds * 1000 + $0.components.attoseconds / 1_000_000_000_000_000 + 1)
    }
    guard poll(&ready, nfds_t(ready.count), milliseconds ?? -1) > 0 else { return true }
    let changed = watch.readEvents(ready) { isOwnWrite($0) }
    if changed.folder { schedule.handle(.folderChanged, at: now) }
    if changed.socket { schedule.handle(.socketChanged, at: now) }
    guard let connection, ready.last?.fd == connection.descriptor, ready.last?.revents != 0 else { return true }
    return try answer(on: connection)
  }

  /// Whether a file in the folder is the own file, as this program wrote it.
  private func isOwnWrite(_ name: String) -> Bool {
    guard let folder = store?.folder, name == own else { return false }
    return files.isWritten(name, FileStamp("\(folder)/\(name)"))
  }

  /// Takes the answer of the authenticator; returns `false` if the store follows no folder.
  private mutating func answer(on connection: ControlConnection) throws(CommandFailure) -> Bool {
    let answer: FollowedStore
    do throws(ControlClientError) { answer = try connection.finish(AwaitBackup.self) } catch {
      switch error {
      // The authenticator withdraws every request when the machine sleeps.
      case .refused(let failure) where failure.status == .keepaliveCancel: break
      case .refused(let failure): say("the authenticator refused to wait for a change: \(failure.description)")
      case .notRunning, .failed: break
      }
      disconnect()
      return true
    }
    (said, earlier) = (nil, nil)
    guard let folder = answer.folder else {
      Self.log("no folder is followed; to follow one, run: liquid-auth backup --to FOLDER\(place.arguments)")
      return false
    }
    if store == nil { Self.log("keeping the backups in \(folder) up to date") }
    let isAsked = schedule.isAsking
    schedule.handle(.answered, at: now)
    store = answer
    // Further changes delay the pass, which has all of them.
    if !isAsked, !awaitStore(AwaitBackup(seen: answer.state, report: files.report(own: own))) { return true }
    return true
  }
}

/// The name of this machine; empty if it has none.
func hostName() -> String {
  var name = [CChar](repeating: 0, count: 256)
  guard gethostname(&name, name.count - 1) == 0 else { return "" }
  return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
