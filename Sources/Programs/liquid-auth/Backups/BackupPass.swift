import ControlClient
import ControlProtocol
import Recovery
import StateDirectory

/// One pass over a folder of backups: merges the new files, and then writes the store's own file.
struct BackupPass {
  /// How a pass ended.
  enum End: Equatable {
    /// Everything was done, as far as possible.
    case done
    /// The vault was locked meanwhile, or the store no longer follows the folder.
    case interrupted
    /// The connection is over.
    case disconnected
  }

  let connection: ControlConnection
  let store: FollowedStore
  /// The absolute path of the folder.
  let folder: String
  /// The name of the store's own file.
  let own: String
  /// Whether the folder may have no backup of the phrase, because the owner has just chosen it.
  let isNew: Bool
  let place: PlaceOptions
  let log: (String) -> Void
  /// Whether the pass ends before the next file.
  var isCancelled = { false }

  /// Why a pass stopped early.
  private enum Stop: Error {
    case ended(End)
    case problem(String)
    /// The folder is missing, or another one is in its place.
    case absent(String)
  }

  /// Runs the pass; ``FollowedFiles/problem`` then says what could not be done.
  func run(_ files: inout FollowedFiles) -> End {
    files.begin(store)
    var (problem, isAbsent): (String?, Bool) = (nil, false)
    var end = End.done
    do throws(Stop) { try pass(&files) } catch {
      switch error {
      case .ended(let other): end = other
      case .problem(let text): problem = text
      case .absent(let text): (problem, isAbsent) = (text, true)
      }
    }
    if end == .done { files.set(problem: problem, isAbsent: isAbsent).map(log) }
    return end
  }

  private func pass(_ files: inout FollowedFiles) throws(Stop) {
    let directory: FollowedFolder
    do throws(FollowedFolder.Fault) { directory = try FollowedFolder(folder) } catch {
      throw error.kind == .absent ? .absent(error.reason) : .problem(error.reason)
    }
    let (listing, isWhole) = try attempt { () throws(FollowedFolder.Fault) in
      try directory.list(of: store.fingerprint)
    }
    guard isNew || FollowedFiles.isFolder(listing.keys, of: store) else {
      throw .absent(
        "\(folder) has no backup of this phrase, so nothing is written there; if it is the right folder, run: "
          + "liquid-auth backup --to \(CommandPlace.quoted(folder))")
    }
    for name in files.toRead(listing) {
      guard !isCancelled() else { throw .ended(.interrupted) }
      guard let stamp = listing[name] else { continue }
      try merge(name, stamp, directory, &files)
    }
    if files.needsWriting(store.state, own: own) { try write(to: directory, &files) }
    guard isWhole else {
      throw .problem(
        "\(folder) has more than \(FollowedFolder.maximumNames) files with the name of a backup, and not all of them "
          + "are merged; move the other files away")
    }
  }

  private func merge(
    _ name: String, _ stamp: FileStamp, _ directory: FollowedFolder, _ files: inout FollowedFiles
  ) throws(Stop) {
    let time = unixMilliseconds()
    let content: [UInt8]
    do throws(FollowedFolder.Fault) {
      guard let read = try directory.read(name) else { return }
      content = read
    } catch {
      files.wasSkipped(name, error.kind == .passing ? nil : stamp, digest: nil, error.reason, at: time).map(log)
      return
    }
    let digest = BackupFile.digest(of: content)
    guard files.wasRead(name, stamp, digest: digest, at: time) else { return }
    let fingerprint: [UInt8]
    do throws(RecoveryError) { fingerprint = try BackupReader.checkForm(of: content) } catch {
      files.wasSkipped(name, stamp, digest: digest, error.description, isRefused: true, at: time).map(log)
      return
    }
    guard fingerprint != store.previousFingerprint else {
      let reason = BackupText.ofPreviousPhrase(fingerprint)
      files.wasSkipped(name, stamp, digest: digest, reason, isRefused: true, at: time).map(log)
      return
    }
    do throws(ControlClientError) {
      let result = try connection.merge(content)
      files.wasMerged(name, digest: digest, result, at: time).map(log)
    } catch {
      guard let status = fault(error) else {
        files.forget(name)
        throw stop(error)
      }
      files.wasSkipped(
        name, stamp, digest: digest, error.description, isRefused: status == .invalidParameter, at: time
      ).map(log)
    }
  }

  /// Writes the own file unless its bytes are the same, and records it unless that was done.
  ///
  /// A backup is replaced only by one that has everything in it (Recovery §9). So the present own file is merged first, and
  /// set aside if it has anything that cannot be merged.
  private func write(to directory: FollowedFolder, _ files: inout FollowedFiles) throws(Stop) {
    var made = try backup()
    var stamp = directory.stamp(own)
    let present = try attempt { () throws(FollowedFolder.Fault) in
      do throws(FollowedFolder.Fault) { return try directory.read(own, orEmpty: true) } catch {
        throw FollowedFolder.Fault(reason: "cannot write \(folder)/\(own): \(error.reason); move it away")
      }
    }
    var hasComeBack = false
    if let present, !present.isEmpty, present != made {
      let result = try mergeOwn(present)
      if let result, result.changesStore { made = try backup() }
      let rest = result.map { BackupRest($0) } ?? .everything
      if !rest.isReplaceable {
        let digest = BackupFile.digest(of: present)
        let kept = FollowedFiles.keptName(of: own, digest: digest)
        hasComeBack = files.isSetAside(digest)
        let isRenamed = try attempt { () throws(FollowedFolder.Fault) in
          try directory.setAside(own, stamp, as: kept, digest: digest)
        }
        files.wasSetAside(digest: digest, result)
        if isRenamed || !hasComeBack {
          log("\(own) cannot be merged completely: its content is now in \(kept); keep that file")
        }
        // Not the present stamp, which can be that of another file that was not read.
        if isRenamed { stamp = nil }
      }
    }
    let digest = BackupFile.digest(of: made)
    if present != made {
      stamp = try attempt { () throws(FollowedFolder.Fault) in try directory.replace(own, stamp, with: made) }
    }
    guard let written = stamp else { return }
    files.wasWritten(own, written, digest: digest, state: store.state)
    if files.recorded != digest {
      // The authenticator takes the time at which it made the file.
      do throws(ControlClientError) { _ = try connection.request(RecordBackup(.written, file: digest, at: 0)) } catch {
        throw stop(error)
      }
      files.wasRecorded(digest)
    }
    guard !hasComeBack else {
      throw .problem(
        "another store also writes \(own), for example on a copy of this machine; give one of the machines a new "
          + "store or another host name")
    }
  }

  private func backup() throws(Stop) -> [UInt8] {
    do { return try connection.backup().file } catch { throw stop(error) }
  }

  /// Merges the own file; returns `nil` if it cannot be read as a backup of this phrase.
  private func mergeOwn(_ content: [UInt8]) throws(Stop) -> MergeResult? {
    do throws(ControlClientError) { return try connection.merge(content) } catch {
      guard fault(error) != nil else { throw stop(error) }
      return nil
    }
  }

  /// The status with which the authenticator refused a file for its content; `nil` for another error.
  private func fault(_ error: ControlClientError) -> ControlStatus? {
    guard case .refused(let failure) = error else { return nil }
    return [.invalidParameter, .other].contains(failure.status) ? failure.status : nil
  }

  private func stop(_ error: ControlClientError) -> Stop {
    switch error {
    case .refused(let failure):
      switch failure.status {
      case .passphraseRequired, .notAllowed, .keepaliveCancel: .ended(.interrupted)
      default:
        .problem(
          "the authenticator cannot merge or make a backup: \(error.problem.text(with: place.arguments))")
      }
    case .notRunning, .failed: .ended(.disconnected)
    }
  }

  private func attempt<Result>(_ work: () throws(FollowedFolder.Fault) -> Result) throws(Stop) -> Result {
    do { return try work() } catch { throw .problem(error.reason) }
  }
}
