import ControlProtocol
import CryptoPrimitives
import Recovery
import StateDirectory

/// What is known about the files in a folder of backups: which of them to read, and the results of the last merges.
///
/// It does no input or output.
struct FollowedFiles {
  /// The most files that one pass reads.
  static let maximumFiles = 1000
  private static let suffix = ".liquid"

  /// A file that was read.
  private struct Known {
    let stamp: FileStamp
    let digest: [UInt8]?
  }

  private var unlocking: [UInt8] = []
  private var folder = ""
  private var fingerprint: [UInt8] = []
  private var known: [String: Known] = [:]
  private var results: [String: FollowReport.File] = [:]
  /// For each content that was merged since the last unlocking, by its digest: the line about what only it has.
  private var merged: [[UInt8]: String] = [:]
  /// Why each content was refused since the last unlocking, by its digest.
  private var refused: [[UInt8]: String] = [:]
  /// The digests of the own files that were set aside since the last unlocking.
  private var setAside: Set<[UInt8]> = []
  /// The last line about each file, so that it is logged only once.
  private var said: [String: String] = [:]
  private var saidProblem: String?
  /// Why the folder cannot be read, or the store's file cannot be written.
  private(set) var problem: String?
  /// Whether the folder is missing, or another one is in its place.
  private(set) var isAbsent = false
  /// Whether the pass has read every file that it had to read; if not, the next pass begins without a change.
  private(set) var isComplete = true
  /// Whether a merge of the pass has changed the store.
  private(set) var hasChangedStore = false
  /// The digest of the own file, and the state of the store when it was written.
  private var written: (state: [UInt8], digest: [UInt8])?
  /// The digest of the own file that was recorded in the store since the last unlocking.
  private(set) var recorded: [UInt8]?

  // MARK: Names

  /// Whether a name is that of a backup, or of a copy of one that a sync service made, and not that of a temporary file.
  ///
  /// Syncthing writes `.syncthing.NAME.tmp` and `~syncthing~NAME.tmp`, Nextcloud `.NAME.~hex` and browsers `NAME.part`.
  static func isBackup(_ name: String) -> Bool {
    name.utf8.count > suffix.utf8.count && name.lowercased().hasSuffix(suffix) && !name.hasPrefix(".")
      && !name.hasPrefix("~")
  }

  /// `<fingerprint>-<host>-<store>.liquid`: other machines, and other stores of this one, have other names.
  ///
  /// - Parameter host: the name of the machine up to its first dot. At most 32 characters are used; those other than ASCII
  ///   letters, digits and "-" become "-".
  static func ownName(of store: FollowedStore, host: String) -> String {
    let letters = host.lowercased().utf8.prefix { $0 != UInt8(ascii: ".") }.map { byte in
      Character(UnicodeScalar(byte)).isASCIIWord ? Character(UnicodeScalar(byte)) : "-"
    }
    let machine = String(letters.prefix(32))
    return
      "\(store.fingerprint.hexadecimal)-\(machine.isEmpty ? "machine" : machine)-\(store.store.hexadecimal)\(suffix)"
  }

  /// The new name of an own file that is set aside; its content stays in the folder.
  static func keptName(of own: String, digest: [UInt8]) -> String {
    "\(own.dropLast(suffix.count)).kept-\(Array(digest.prefix(8)).hexadecimal)\(suffix)"
  }

  /// Whether a name is that of a backup of the phrase; other files come after these, so that they cannot keep them out.
  static func isBackup(_ name: String, of fingerprint: [UInt8]) -> Bool {
    isBackup(name) && name.hasPrefix("\(fingerprint.hexadecimal)-")
  }

  /// Whether one of the names is that of a backup of the phrase.
  ///
  /// A folder without one is not the followed one, but for example the empty mount point of a USB stick. During a move to a
  /// new phrase, a backup of the previous phrase is enough: until the first write, the folder has no other one.
  static func isFolder(_ names: some Sequence<String>, of store: FollowedStore) -> Bool {
    let fingerprints = [store.fingerprint, store.previousFingerprint].compactMap(\.self)
    return names.contains { name in fingerprints.contains { isBackup(name, of: $0) } }
  }

  // MARK: A pass

  /// Begins a pass over the folder of a store.
  ///
  /// After each unlocking, everything is merged again: an old copy of the store may have been put back while the vault was
  /// locked.
  mutating func begin(_ store: FollowedStore) {
    if store.folder != folder { self = FollowedFiles() }
    if store.unlocking != unlocking {
      (known, merged, refused, setAside, written, recorded) = ([:], [:], [:], [], nil, nil)
    }
    (folder, unlocking, fingerprint) = (store.folder ?? "", store.unlocking, store.fingerprint)
    (isComplete, hasChangedStore) = (true, false)
  }

  /// The files to read, at most ``maximumFiles``: those that are new, or have changed since they were read.
  mutating func toRead(_ listing: [String: FileStamp]) -> [String] {
    for name in Set(known.keys).union(results.keys) where listing[name] == nil {
      (known[name], results[name], said[name]) = (nil, nil, nil)
    }
    let names = sorted(listing.filter { known[$0.key]?.stamp != $0.value }.map(\.key)) { $0 }
    if names.count > Self.maximumFiles { isComplete = false }
    return Array(names.prefix(Self.maximumFiles))
  }

  /// Sorts by names: first those of backups of the phrase.
  private func sorted<Element>(_ elements: [Element], _ name: (Element) -> String) -> [Element] {
    let sorted = elements.sorted { name($0) < name($1) }
    return sorted.filter { Self.isBackup(name($0), of: fingerprint) }
      + sorted.filter { !Self.isBackup(name($0), of: fingerprint) }
  }

  /// Records that a file was read; returns whether it must be merged, which is not so if the same content was merged or
  /// refused before.
  mutating func wasRead(_ name: String, _ stamp: FileStamp, digest: [UInt8], at time: UInt64) -> Bool {
    let isKnown = known[name]?.digest == digest && results[name]?.isMerged == true
    known[name] = Known(stamp: stamp, digest: digest)
    if let reason = refused[digest] {
      set(name, Self.notMerged(reason), isMerged: false, at: time)
      return false
    }
    guard let rest = merged[digest] else { return true }
    if !isKnown { set(name, rest, isMerged: true, at: time) }
    return false
  }

  /// Records that a file was merged; returns the line to log, if any.
  mutating func wasMerged(_ name: String, digest: [UInt8], _ result: MergeResult, at time: UInt64) -> String? {
    merged[digest] = BackupText.left(by: result)
    if result.changesStore { hasChangedStore = true }
    let text = BackupText.followed(result)
    set(name, text, isMerged: true, at: time)
    guard BackupRest(result) == .nothing else { return say(name, text) }
    said[name] = nil
    return result.changesStore ? "\(name): \(text)" : nil
  }

  /// Records that a file cannot be read, or is not a backup of this phrase; returns the line to log, unless it was logged
  /// before.
  ///
  /// - Parameters:
  ///   - stamp: `nil` if the next pass must read the file again, even without a change.
  ///   - digest: the digest of its content; `nil` if it was not read.
  ///   - isRefused: whether the same content is refused each time.
  mutating func wasSkipped(
    _ name: String, _ stamp: FileStamp?, digest: [UInt8]?, _ reason: String, isRefused: Bool = false, at time: UInt64
  ) -> String? {
    known[name] = stamp.map { Known(stamp: $0, digest: digest) }
    if stamp == nil { isComplete = false }
    if isRefused, let digest { refused[digest] = reason }
    set(name, Self.notMerged(reason), isMerged: false, at: time)
    return say(name, reason)
  }

  private static func notMerged(_ reason: String) -> String { "not merged: \(reason)" }

  /// Forgets a file that was read but could not be merged: the next pass reads it again.
  mutating func forget(_ name: String) { known[name] = nil }

  private mutating func set(_ name: String, _ result: String, isMerged: Bool, at time: UInt64) {
    results[name] = FollowReport.File(name: name, time: time, isMerged: isMerged, result: result)
  }

  private mutating func say(_ name: String, _ text: String) -> String? {
    guard said[name] != text else { return nil }
    said[name] = text
    return "\(name): \(text)"
  }

  /// Sets or clears the problem of the folder; returns the line to log, unless it was logged before.
  mutating func set(problem: String?, isAbsent: Bool = false) -> String? {
    (self.problem, self.isAbsent) = (problem, isAbsent)
    guard problem != saidProblem else { return nil }
    saidProblem = problem
    return problem ?? "\(folder) is up to date again"
  }

  // MARK: The own file

  /// Whether the own file must be written or recorded: the store or the file has changed since it was written, or it is not
  /// recorded yet.
  func needsWriting(_ state: [UInt8], own: String) -> Bool {
    written?.state != state || known[own]?.digest != written?.digest || recorded != written?.digest
  }

  /// Whether the own file is as it was written.
  func isWritten(_ own: String, _ stamp: FileStamp?) -> Bool {
    guard let file = known[own], let written else { return false }
    return file.stamp == stamp && file.digest == written.digest
  }

  /// Records that the own file has everything that the store had in this state.
  mutating func wasWritten(_ name: String, _ stamp: FileStamp, digest: [UInt8], state: [UInt8]) {
    known[name] = Known(stamp: stamp, digest: digest)
    merged[digest] = BackupText.left(by: nil)
    written = (state, digest)
    results[name] = nil
  }

  /// Records that the own file is recorded in the store.
  mutating func wasRecorded(_ digest: [UInt8]) { recorded = digest }

  /// Whether an own file with this content was set aside since the last unlocking: if it comes back, another store may
  /// write it.
  func isSetAside(_ digest: [UInt8]) -> Bool { setAside.contains(digest) }

  /// Records that the own file was set aside, because it cannot be merged completely.
  ///
  /// - Parameter result: the result of its merge; `nil` if it could not be merged at all.
  mutating func wasSetAside(digest: [UInt8], _ result: MergeResult?) {
    setAside.insert(digest)
    merged[digest] = result.map { BackupText.left(by: $0) }
    guard let rest = merged[digest] else { return }
    for (name, file) in known where file.digest == digest { results[name]?.result = rest }
  }

  /// The report that the status shows.
  func report(own: String?) -> FollowReport {
    FollowReport(files: sorted(results.values.filter { $0.name != own || !$0.isMerged }, \.name), problem: problem)
  }
}

/// What is only in a file after its merge, because it cannot be merged.
enum BackupRest: Equatable {
  case nothing
  /// Large blobs; `replaced` if the file is one that this store wrote last, so that they were replaced here since.
  case largeBlobs(replaced: Bool)
  /// Imported passkeys whose id has another key here.
  case importedPasskeys
  /// The file cannot be read as a backup of this phrase.
  case everything

  init(_ result: MergeResult) {
    if result.keptImported.count + result.leftImported.count > 0 {
      self = .importedPasskeys
      return
    }
    switch result.largeBlobs {
    case .keptBack, .invalid: self = .largeBlobs(replaced: result.isLastWritten)
    case .none, .taken, .same: self = .nothing
    }
  }

  /// Whether the file may be replaced, because nothing is lost that only it has.
  var isReplaceable: Bool { self == .nothing || self == .largeBlobs(replaced: true) }
}

extension Character {
  fileprivate var isASCIIWord: Bool { isASCII && (isLetter || isNumber) || self == "-" }
}
