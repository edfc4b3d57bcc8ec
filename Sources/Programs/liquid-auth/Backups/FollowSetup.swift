import ControlClient
import ControlProtocol
import Glibc
import ProcessIO
import Recovery
import StateDirectory

/// `liquid-auth backup --to` and `liquid-auth backup --off`.
struct FollowSetup {
  let place: PlaceOptions
  let output: OutputOptions

  /// Follows a folder: merges its files, writes the own file, and starts the service that continues this.
  ///
  /// If the own file cannot be written, or a signal that would end the process arrives before that, the store follows the
  /// folder from before again.
  func begin(_ folder: String) throws(CommandFailure) {
    let owner = try place.connect()
    let directory = try owner.ask(GetStatus()).stateDirectory
    let path = try Self.checked(folder, besides: directory)
    try owner.unlock()
    let ending = Cancellation()
    let previous = try store(of: owner, report: nil, until: ending).folder
    let hasService = BackupService.isFor(place)
    let wasActive = hasService && BackupService.isActive
    let signals = EndingSignals(ending)
    defer { signals.restore() }
    if hasService { BackupService.stop() }
    let begun: (own: String, files: [FollowReport.File])
    do throws(CommandFailure) {
      begun = try locked(directory) { () throws(CommandFailure) in
        try owner.ask(FollowBackups(path))
        do throws(CommandFailure) { return try firstPass(path, until: ending) } catch {
          throw CommandFailure("\(error.description); \(follow(previous, again: owner))", code: error.code)
        }
      }
    } catch {
      if wasActive { BackupService.start() }
      throw error
    }
    let (own, files) = begun
    let isStarted = hasService && BackupService.enable()
    let lines = ["\(own) in \(path) is up to date"] + files.map { "\($0.name): \($0.result)" }
    let left = [previous].compactMap(\.self).filter { $0 != path }.map {
      "\($0) is no longer followed; the file of this machine stays there as it is"
    }
    let next =
      isStarted ? [] : ["to keep it up to date, leave this running: liquid-auth backup follow\(place.arguments)"]
    output.write(
      (lines + left + next).map(\.printable).joined(separator: "\n"),
      json: [
        "folder": .string(path), "file": .string(own), "started": .bool(isStarted),
        "files": .array(
          files.map { ["name": .string($0.name), "merged": .bool($0.isMerged), "result": .string($0.result)] }),
      ])
  }

  /// Follows the folder from before again; returns the words about what is followed now.
  private func follow(_ previous: String?, again owner: ControlConnection) -> String {
    do throws(CommandFailure) { try owner.ask(FollowBackups(previous)) } catch {
      return "this machine may still follow the folder; to stop that, run: liquid-auth backup --off\(place.arguments)"
    }
    return previous.map { "\($0) is followed as before" } ?? "no folder is followed"
  }

  /// Asks for the store of an open vault, and waits at most a minute for it.
  ///
  /// - Parameters:
  ///   - report: what was found so far; `nil` if this connection does not follow the folder.
  ///   - ending: ends the wait.
  private func store(
    of connection: ControlConnection, report: FollowReport?, until ending: Cancellation
  ) throws(CommandFailure) -> FollowedStore {
    do throws(ControlClientError) { try connection.send(AwaitBackup(report: report)) } catch {
      throw CommandFailure(error)
    }
    switch ending.wait(for: connection.descriptor, Int32(POLLIN), until: .now + .seconds(60)) {
    case .ready: break
    case .cancelled: throw CommandFailure("cancelled")
    case .timedOut:
      throw CommandFailure(
        "the authenticator did not answer within a minute: the vault was locked, or another request is waiting for "
          + "you; run the command again")
    }
    do throws(ControlClientError) { return try connection.finish(AwaitBackup.self) } catch {
      throw CommandFailure(error)
    }
  }

  /// Runs work while no other program follows the folder.
  private func locked<Result>(
    _ directory: String, _ work: () throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    let lock = try FollowLock(in: directory)
    defer { withExtendedLifetime(lock) {} }
    return try work()
  }

  /// Stops following the folder; its files stay.
  func end() throws(CommandFailure) {
    try place.connectAsOwner().ask(FollowBackups(nil))
    if BackupService.isFor(place) { BackupService.disable() }
    output.write("the folder is no longer followed; its files stay", json: ["folder": .null])
  }

  /// Does one pass, as the follower does, over a folder that may be empty.
  private func firstPass(
    _ path: String, until ending: Cancellation
  ) throws(CommandFailure) -> (own: String, files: [FollowReport.File]) {
    var files = FollowedFiles()
    let isCancelled = { ending.wait(for: -1, 0, until: .now) == .cancelled }
    for _ in 0..<3 {
      let connection = try place.connect()
      let store = try store(of: connection, report: FollowReport(), until: ending)
      guard store.folder == path else { throw CommandFailure("another command changed the followed folder meanwhile") }
      let own = FollowedFiles.ownName(of: store, host: hostName())
      let pass = BackupPass(
        connection: connection, store: store, folder: path, own: own, isNew: true, place: place, log: { _ in },
        isCancelled: isCancelled)
      let end = pass.run(&files)
      guard !isCancelled() else { throw CommandFailure("cancelled") }
      switch end {
      case .done:
        if let problem = files.problem { throw CommandFailure(problem) }
        return (own, files.report(own: own).files)
      case .interrupted: continue
      case .disconnected: throw CommandFailure("the connection to the authenticator was lost; see its log")
      }
    }
    throw CommandFailure("the vault was locked meanwhile; run the command again")
  }

  /// Checks that this user can keep a backup in a folder; returns its absolute path.
  ///
  /// - Parameter state: the state directory.
  private static func checked(_ folder: String, besides state: String) throws(CommandFailure) -> String {
    guard let resolved = realpath(folder, nil) else {
      let advice = errno == ENOENT ? "; make the folder first" : ""
      throw CommandFailure("cannot open \(folder): \(SystemNumber())\(advice)")
    }
    defer { free(resolved) }
    guard let path = String(validatingCString: resolved), BackupTimes.isFolder(path) else {
      throw CommandFailure("the path of \(folder) is not UTF-8, or has more than 4,095 bytes; choose another folder")
    }
    var status = stat()
    guard stat(path, &status) == 0 else { throw CommandFailure("cannot open \(path): \(SystemNumber())") }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw CommandFailure("\(path) is not a folder") }
    guard status.st_uid == geteuid() else {
      throw CommandFailure("\(path) belongs to user \(status.st_uid), not to you; choose a folder of yours")
    }
    guard access(path, R_OK | W_OK | X_OK) == 0 else {
      throw CommandFailure("cannot write to \(path): \(SystemNumber())")
    }
    if let resolved = realpath(state, nil) {
      defer { free(resolved) }
      let directory = String(cString: resolved)
      guard path != directory, !path.hasPrefix(directory + "/") else {
        throw CommandFailure(
          "\(path) is in the state directory, which must not be synchronized; choose another folder")
      }
    }
    return path
  }
}
