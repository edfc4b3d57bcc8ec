package import CBOR
import Recovery

// A folder of backups that a store follows (Recovery §9). The owner names it. Then a program of the user merges its files and
// keeps the store's own file there, without the passphrase.

/// Follows a folder, or stops following it: {1: path?}; needs the vault's passphrase on the connection.
package struct FollowBackups: ControlCommand, Equatable {
  package static let code: UInt8 = 0x75
  /// An absolute path, 1 to ``BackupTimes/longestFolder`` bytes; `nil` to follow no folder.
  package var folder: String?

  package init(_ folder: String?) { self.folder = folder }

  package init(_ members: CBORMap) throws(ControlFailure) {
    folder = try decoded(members.optionalText(1))
    guard folder.map(BackupTimes.isFolder) ?? true else {
      throw ControlFailure(.invalidParameter, "the path of a folder must be absolute, and have at most 4,095 bytes")
    }
  }

  package var members: CBORMap { CBORMap(present: [1: folder.map(CBORValue.text)]) }
}

/// Waits until the vault is open and the store has changed: {1: state (16)?, 2: report?}.
///
/// If the store follows a folder, the connection can then make and merge backups without the passphrase while the vault is
/// open, and record that it wrote one.
package struct AwaitBackup: ControlCommand, Equatable {
  package static let code: UInt8 = 0x76
  package static let wait = ControlWait.work
  package static let maximumRequestSize = ControlMessage.maximumSize
  /// The state that the program knows; `nil` to wait only until the vault is open.
  package var seen: [UInt8]?
  /// The last result of the program, which the status shows.
  package var report: FollowReport?

  package init(seen: [UInt8]? = nil, report: FollowReport? = nil) { (self.seen, self.report) = (seen, report) }

  package init(_ members: CBORMap) throws(ControlFailure) {
    seen = try decoded(members.optionalBytes(1))
    report = try decoded(members.optionalMap(2)).map { (map) throws(ControlFailure) in try FollowReport(map) }
    guard seen.map({ $0.count == FollowedStore.stateSize }) ?? true else {
      throw ControlFailure(.invalidLength, "a state has 16 bytes")
    }
  }

  package var members: CBORMap {
    CBORMap(present: [1: seen.map(CBORValue.bytes), 2: report.map { .map($0.members) }])
  }

  package typealias Answer = FollowedStore
}

/// The store of an open vault, for the program that follows its folder:
/// {1: state (16), 2: unlocking (8), 3: fingerprint (4), 4: store (4), 5: folder?, 6: previous fingerprint (4)?}.
package struct FollowedStore: ControlAnswer, Equatable {
  /// The number of bytes of ``state``.
  package static let stateSize = 16

  /// Differs after each change of the content of a backup or of the folder, and after each unlocking.
  package var state: [UInt8]
  /// Differs after each unlocking.
  package var unlocking: [UInt8]
  /// Identifies the phrase.
  package var fingerprint: [UInt8]
  /// Identifies the store among those of the phrase.
  package var store: [UInt8]
  /// The path of the folder; `nil` if the store follows none.
  package var folder: String?
  /// Identifies the previous phrase, during a move to a new one (Recovery §14).
  package var previousFingerprint: [UInt8]?

  package init(
    state: [UInt8], unlocking: [UInt8], fingerprint: [UInt8], store: [UInt8], folder: String? = nil,
    previousFingerprint: [UInt8]? = nil
  ) {
    (self.state, self.unlocking, self.fingerprint) = (state, unlocking, fingerprint)
    (self.store, self.folder, self.previousFingerprint) = (store, folder, previousFingerprint)
  }

  package init(_ members: CBORMap) throws(ControlFailure) {
    (state, unlocking) = (try decoded(members.requiredBytes(1)), try decoded(members.requiredBytes(2)))
    (fingerprint, store) = (try decoded(members.requiredBytes(3)), try decoded(members.requiredBytes(4)))
    folder = try decoded(members.optionalText(5))
    previousFingerprint = try decoded(members.optionalBytes(6))
  }

  package var members: CBORMap {
    CBORMap(present: [
      1: .bytes(state), 2: .bytes(unlocking), 3: .bytes(fingerprint), 4: .bytes(store), 5: folder.map(CBORValue.text),
      6: previousFingerprint.map(CBORValue.bytes),
    ])
  }
}

/// What a program found in the folder that it follows: {1: [[name, time, merged?, result] …], 2: problem?}.
package struct FollowReport: Equatable, Sendable {
  /// The most files in a report.
  package static let maximumFiles = 100
  /// The most bytes of a name, a result or a problem.
  package static let maximumText = 8192
  /// The most bytes of all names, results and the problem together: they must also fit into the message of a status.
  package static let maximumTexts = 32_768

  /// A file of the folder, other than the store's own.
  package struct File: Equatable, Sendable {
    package var name: String
    /// When the file was read, Unix milliseconds.
    package var time: UInt64
    /// Whether it was merged, except for what a merge keeps back.
    package var isMerged: Bool
    /// The result of the merge, or why there was none.
    package var result: String

    package init(name: String, time: UInt64, isMerged: Bool, result: String) {
      (self.name, self.time, self.isMerged, self.result) = (name, time, isMerged, result)
    }
  }

  package var files: [File]
  /// Why the folder cannot be followed now, or the store's own file cannot be written.
  package var problem: String?

  /// Takes the first files that fit, and truncates longer texts.
  package init(files: [File] = [], problem: String? = nil) {
    let problem = problem?.truncated(toUTF8Count: Self.maximumText)
    var (taken, size): ([File], Int) = ([], problem?.utf8.count ?? 0)
    for file in files.prefix(Self.maximumFiles) {
      var file = file
      file.name = file.name.truncated(toUTF8Count: Self.maximumText)
      file.result = file.result.truncated(toUTF8Count: Self.maximumText)
      size += file.name.utf8.count + file.result.utf8.count
      guard size <= Self.maximumTexts else { break }
      taken.append(file)
    }
    (self.files, self.problem) = (taken, problem)
  }

  init(_ members: CBORMap) throws(ControlFailure) {
    var files: [File] = []
    for value in try decoded(members.requiredArray(1)) {
      guard let parts = value.array, parts.count == 4, let name = parts[0].text, let time = parts[1].unsigned,
        let isMerged = parts[2].bool, let result = parts[3].text
      else { throw ControlFailure(.unexpectedType, "a file must have a name, a time and a result") }
      files.append(File(name: name, time: time, isMerged: isMerged, result: result))
    }
    let problem = try decoded(members.optionalText(2))
    let texts = files.flatMap { [$0.name, $0.result] } + [problem].compactMap { $0 }
    guard files.count <= Self.maximumFiles, texts.allSatisfy({ $0.utf8.count <= Self.maximumText }),
      texts.reduce(0, { $0 + $1.utf8.count }) <= Self.maximumTexts
    else {
      throw ControlFailure(
        .invalidLength, "a report has at most 100 files, and texts of at most 8,192 bytes, together 32,768")
    }
    self.init(files: files, problem: problem)
  }

  var members: CBORMap {
    CBORMap(present: [
      1: .array(files.map { [.text($0.name), .unsigned($0.time), .bool($0.isMerged), .text($0.result)] }),
      2: problem.map(CBORValue.text),
    ])
  }
}
