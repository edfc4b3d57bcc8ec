import CBOR

/// The last backup of the store, the last check of one, and the folder that the store follows; local to a machine
/// (Recovery §6).
public struct BackupTimes: Sendable, Equatable {
  /// An event whose time is stored.
  public enum Event: UInt8, Sendable, CaseIterable {
    /// The owner wrote a backup file.
    case written = 1
    /// A check found that a backup has everything.
    case checked = 2
  }

  /// Unix milliseconds; `nil` if there was none yet.
  public var written: UInt64?
  /// ``BackupFile/digest(of:)`` of the backup that the owner wrote last; a reset removes it.
  public var file: [UInt8]?
  /// Unix milliseconds; `nil` if there was none yet.
  public var checked: UInt64?
  /// The folder whose backups are merged, and in which this store keeps its own file; `nil` if there is none.
  ///
  /// An absolute path of at most ``longestFolder`` bytes. A reset removes it.
  public var folder: String?
  /// ``BackupFile/digest(of:)`` of the store's own file in the followed folder, as it was written last; a reset removes it.
  public var ownFile: [UInt8]?
  /// When the own file was written last, Unix milliseconds; a reset removes it.
  ///
  /// A program without the passphrase records it, so no dialog shows it.
  public var ownWritten: UInt64?

  /// The most bytes of the path of a folder.
  public static let longestFolder = 4095

  public init(
    written: UInt64? = nil, file: [UInt8]? = nil, checked: UInt64? = nil, folder: String? = nil,
    ownFile: [UInt8]? = nil, ownWritten: UInt64? = nil
  ) {
    (self.written, self.file, self.checked, self.folder) = (written, file, checked, folder)
    (self.ownFile, self.ownWritten) = (ownFile, ownWritten)
  }

  /// When the owner wrote a backup, or the own file was written, whichever is later.
  public var lastWritten: UInt64? { [written, ownWritten].compactMap { $0 }.max() }

  /// Whether a backup is one that this store wrote last, for the owner or in the followed folder.
  ///
  /// - Parameter digest: ``BackupFile/digest(of:)`` of the backup.
  public func isLastWritten(_ digest: [UInt8]) -> Bool { digest == file || digest == ownFile }

  /// Whether a text can be the path of a folder that is followed.
  public static func isFolder(_ path: String) -> Bool {
    path.utf8.first == UInt8(ascii: "/") && path.utf8.count <= longestFolder && !path.utf8.contains(0)
  }
}

extension CredentialStore {
  /// Stores the time of an event, Unix milliseconds, in the state row.
  ///
  /// - Parameter file: the digest of the backup that was written.
  public func record(
    _ event: BackupTimes.Event, file: [UInt8]? = nil, at time: UInt64
  ) throws(RecoveryError) {
    var state = try state()
    switch event {
    case .written: (state.backup.written, state.backup.file) = (time, file)
    case .checked: state.backup.checked = time
    }
    try setState(state)
  }

  /// Records that the own file in the followed folder was written; the time and the digest of the owner's backup stay.
  ///
  /// - Parameters:
  ///   - digest: the digest of the own file.
  ///   - time: Unix milliseconds, before the store was read.
  public func recordOwnFile(_ digest: [UInt8], at time: UInt64) throws(RecoveryError) {
    var state = try state()
    (state.backup.ownWritten, state.backup.ownFile) = (time, digest)
    try setState(state)
  }
}

// MARK: - CBOR

extension BackupTimes {
  private static func key(_ event: Event) -> CBORValue { .unsigned(UInt64(event.rawValue)) }
  private static let file: CBORValue = 3
  private static let folder: CBORValue = 4
  private static let ownFile: CBORValue = 5
  private static let ownWritten: CBORValue = 6

  /// {1: written?, 2: checked?, 3: digest of the file (16)?, 4: folder?, 5: digest of the own file (16)?, 6: own file
  /// written?}; `nil` if there is none.
  var members: CBORMap? {
    guard self != BackupTimes() else { return nil }
    var map: CBORMap = [:]
    map[Self.key(.written)] = written.map { .unsigned($0) }
    map[Self.key(.checked)] = checked.map { .unsigned($0) }
    map[Self.file] = file.map { .bytes($0) }
    map[Self.folder] = folder.map { .text($0) }
    map[Self.ownFile] = ownFile.map { .bytes($0) }
    map[Self.ownWritten] = ownWritten.map { .unsigned($0) }
    return map
  }

  init(_ map: CBORMap) throws(CBORError) {
    try map.refuseOtherKeys { key in
      [Self.file, Self.folder, Self.ownFile, Self.ownWritten].contains(key)
        || Event.allCases.contains { Self.key($0) == key }
    }
    self.init(
      written: try map.optionalInteger(Self.key(.written)), file: try map.optionalBytes(Self.file),
      checked: try map.optionalInteger(Self.key(.checked)), folder: try map.optionalText(Self.folder),
      ownFile: try map.optionalBytes(Self.ownFile), ownWritten: try map.optionalInteger(Self.ownWritten))
    takeTimeOfVersion8()
    guard self != BackupTimes(), written != nil || file == nil, (ownFile == nil) == (ownWritten == nil),
      [file, ownFile].allSatisfy({ $0 == nil || $0?.count == BackupFile.digestSize }), folder.map(Self.isFolder) ?? true
    else {
      throw .invalid(
        "times of backups without a time, a digest of a wrong length, or a folder without an absolute path")
    }
  }

  /// Version 8 of the store has one time, for the owner's backup and for the own file, and no ``ownWritten``.
  ///
  /// Without a digest of the owner's backup, the time is that of the own file alone.
  private mutating func takeTimeOfVersion8() {
    guard ownFile != nil, ownWritten == nil else { return }
    ownWritten = written
    if file == nil { written = nil }
  }
}
