import ControlProtocol
import CryptoPrimitives
import Glibc
import Recovery
import StateDirectory
import TestSupport
import Testing

@testable import liquid_auth

@Suite struct FollowedFilesTests {
  private static let store = FollowedStore(
    state: [UInt8](repeating: 1, count: 16), unlocking: [UInt8](repeating: 2, count: 8),
    fingerprint: [0xC0, 0xFF, 0xEE, 0],
    store: [0xAA, 0xBB, 0xCC, 0xDD], folder: "/f")
  private static let own = "c0ffee00-host-aabbccdd.liquid"
  private let temporary: TemporaryDirectory
  private var files = FollowedFiles()

  init() throws { temporary = try TemporaryDirectory() }

  /// A stamp that no other file has.
  private func stamp(_ name: String, _ content: [UInt8] = [1]) throws -> FileStamp {
    let path = "\(temporary.path)/\(name)"
    unlink(path)
    try NamedFile(path).create(content)
    return try #require(FileStamp(path))
  }

  private static func result(_ changes: (inout MergeResult) -> Void = { _ in }) -> MergeResult {
    // The numbers are 0, the lists empty, and nothing is true.
    let members: [UInt8: UInt8] = [7: 0x80, 9: 0x80, 12: 0xF4, 15: 0xF4, 16: 0xF4, 17: 0x80, 18: 0x80]
    let bytes: [UInt8] = [0x00, 0xA1, 0x01, 0xB3] + (1...19 as ClosedRange<UInt8>).flatMap { [$0, members[$0] ?? 0] }
    guard var result = try? MergeBackup.Answer(decoding: bytes).result else { fatalError("\(bytes)") }
    changes(&result)
    return result
  }

  // MARK: Names

  // Holds: FOLLOW-8
  @Test(
    arguments: [
      ("c0ffee00-host-aabbccdd.liquid", true), ("a.liquid", true), ("A.LIQUID", true),
      ("c0ffee00-host-aabbccdd.sync-conflict-20260101-120000-ABCDEFG.liquid", true),
      ("c0ffee00-host-aabbccdd (conflicted copy 2026-01-01 120000).liquid", true),
      ("host (Ada's conflicted copy 2026-01-01).liquid", true), ("a~1.liquid", true),
      (".liquid", false), ("liquid", false), ("", false), ("a.liquid.part", false), ("a.liquid.tmp", false),
      (".syncthing.a.liquid.tmp", false), ("~syncthing~a.liquid.tmp", false), (".syncthing.a.liquid", false),
      ("~syncthing~a.liquid", false), (".nextcloudsync.liquid", false), (".a.liquid.~5f3e", false),
      (".c0ffee00-host-aabbccdd.liquid.new", false), ("a.liquid~", false), ("a.liquidx", false),
    ])
  func `backups and their copies are read, and temporary files are not`(_ name: String, _ isBackup: Bool) {
    #expect(FollowedFiles.isBackup(name) == isBackup)
  }

  // Holds: FOLLOW-9
  @Test(
    arguments: [
      ("host", "c0ffee00-host-aabbccdd.liquid"), ("Ada-PC.example.org", "c0ffee00-ada-pc-aabbccdd.liquid"),
      ("", "c0ffee00-machine-aabbccdd.liquid"), (".", "c0ffee00-machine-aabbccdd.liquid"),
      ("../../x", "c0ffee00-machine-aabbccdd.liquid"), ("a/b c", "c0ffee00-a-b-c-aabbccdd.liquid"),
      ("ä", "c0ffee00----aabbccdd.liquid"),
      (String(repeating: "h", count: 64), "c0ffee00-\(String(repeating: "h", count: 32))-aabbccdd.liquid"),
    ])
  func `the name of the own file has the fingerprint, the machine and the store`(_ host: String, _ name: String) {
    #expect(FollowedFiles.ownName(of: Self.store, host: host) == name)
    #expect(FollowedFiles.isBackup(name))
  }

  // Holds: FOLLOW-9
  @Test func `a file that is set aside is still a backup of the phrase`() {
    let kept = FollowedFiles.keptName(of: Self.own, digest: Array(0..<16))
    #expect(kept == "c0ffee00-host-aabbccdd.kept-0001020304050607.liquid")
    #expect(FollowedFiles.isBackup(kept) && FollowedFiles.isFolder([kept], of: Self.store))
  }

  // Holds: FOLLOW-10
  @Test(
    arguments: [
      ([own], true), (["c0ffee00-other-11223344.liquid"], true), ([], false), (["other.liquid", "x"], false),
      (["c0ffee01-host-aabbccdd.liquid"], false), ([".c0ffee00-host-aabbccdd.liquid.new"], false),
      (["c0ffee00.liquid"], false),
    ] as [([String], Bool)])
  func `a folder without a backup of the phrase is not the followed one`(_ names: [String], _ isFolder: Bool) {
    #expect(FollowedFiles.isFolder(names, of: Self.store) == isFolder)
  }

  // Holds: FOLLOW-10, ROTATE-10
  @Test func `during a move to a new phrase, a backup of the old one identifies the folder`() {
    var store = Self.store
    store.previousFingerprint = [0xC0, 0xFF, 0xEE, 1]
    #expect(FollowedFiles.isFolder(["c0ffee01-host-aabbccdd.liquid"], of: store))
    #expect(FollowedFiles.isFolder([Self.own], of: store))
    for names in [[], ["c0ffee02-host-aabbccdd.liquid"], [".c0ffee01-host-aabbccdd.liquid"]] as [[String]] {
      #expect(!FollowedFiles.isFolder(names, of: store))
    }
    #expect(FollowedFiles.ownName(of: store, host: "host") == Self.own, "the new file has the new fingerprint")
  }

  // MARK: Passes

  // Holds: FOLLOW-4
  @Test mutating func `a file is read again only after it has changed, whatever its time`() throws {
    files.begin(Self.store)
    let first = try stamp("a.liquid")
    #expect(files.toRead(["a.liquid": first]) == ["a.liquid"])
    #expect(files.wasRead("a.liquid", first, digest: [1], at: 5) == true)
    #expect(
      files.wasMerged("a.liquid", digest: [1], Self.result { $0.added = 2 }, at: 5) == "a.liquid: 2 passkeys added")
    #expect(files.toRead(["a.liquid": first]) == [])
    var times = [timespec(tv_sec: 4_000_000_000, tv_nsec: 0), timespec(tv_sec: 4_000_000_000, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, "\(temporary.path)/a.liquid", &times, 0) == 0)
    let future = try #require(FileStamp("\(temporary.path)/a.liquid"))
    #expect(files.toRead(["a.liquid": future]) == ["a.liquid"])
    #expect(files.wasRead("a.liquid", future, digest: [1], at: 6) == false, "the content is the same")
    #expect(files.toRead(["a.liquid": future]) == [])
    #expect(
      files.report(own: Self.own).files
        == [FollowReport.File(name: "a.liquid", time: 5, isMerged: true, result: "2 passkeys added")])
  }

  // Holds: FOLLOW-4
  @Test mutating func `a copy of a file that was merged is not merged again`() throws {
    files.begin(Self.store)
    let (one, two) = (try stamp("a.liquid"), try stamp("b.liquid"))
    #expect(files.wasRead("a.liquid", one, digest: [1], at: 5) == true)
    #expect(files.wasMerged("a.liquid", digest: [1], Self.result(), at: 5) == nil)
    #expect(files.wasRead("b.liquid", two, digest: [1], at: 6) == false)
    #expect(files.report(own: nil).files.map(\.result) == ["nothing new", "nothing new"])
    #expect(files.toRead(["b.liquid": two]) == [])
    #expect(files.report(own: nil).files.map(\.name) == ["b.liquid"], "the other one is gone")
  }

  // Holds: FOLLOW-12
  @Test mutating func `what only a file has is shown for each file with that content`() throws {
    files.begin(Self.store)
    let left = Self.result { result in
      result.added = 2
      result.leftImported = MergeResult.NamedPasskeys(names: [], count: 1)
    }
    let (added, rest) = (
      "2 passkeys added; 1 imported passkey only in this file: keep it",
      "nothing new; 1 imported passkey only in this file: keep it"
    )
    let (one, two) = (try stamp("a.liquid"), try stamp("b.liquid"))
    #expect(files.wasRead("a.liquid", one, digest: [1], at: 5) == true)
    #expect(files.wasMerged("a.liquid", digest: [1], left, at: 5) == "a.liquid: \(added)")
    #expect(files.wasRead("b.liquid", two, digest: [1], at: 6) == false)
    #expect(files.report(own: nil).files.map(\.result) == [added, rest])
    // A file that had nothing gets this content.
    let other = try stamp("c.liquid")
    _ = files.wasRead("c.liquid", other, digest: [2], at: 6)
    #expect(files.wasMerged("c.liquid", digest: [2], Self.result(), at: 6) == nil)
    let changed = try stamp("c.liquid", [2, 2])
    #expect(files.wasRead("c.liquid", changed, digest: [1], at: 7) == false)
    #expect(files.report(own: nil).files.map(\.result) == [added, rest, rest])
  }

  // Holds: FOLLOW-12
  @Test mutating func `an own file that was set aside is not shown as one with nothing new, and comes back only once`()
    throws
  {
    files.begin(Self.store)
    let kept = FollowedFiles.keptName(of: Self.own, digest: Array(0..<16))
    let (own, copy, renamed) = (try stamp(Self.own), try stamp("a.liquid"), try stamp(kept))
    files.wasWritten(Self.own, own, digest: [1], state: Self.store.state)
    #expect(files.wasRead("a.liquid", copy, digest: [1], at: 5) == false)
    #expect(files.report(own: Self.own).files.map(\.result) == ["nothing new"])
    #expect(!files.isSetAside([1]))
    // Its large blobs were deleted here, and the sync service puts it back.
    files.wasSetAside(digest: [1], Self.result { $0.largeBlobs = .keptBack(2) })
    #expect(files.isSetAside([1]) && !files.isSetAside([2]))
    files.wasWritten(Self.own, own, digest: [2], state: Self.store.state)
    #expect(files.wasRead(kept, renamed, digest: [1], at: 6) == false)
    let rest = "nothing new; 2 large blobs only in this file: keep it"
    #expect(files.report(own: Self.own).files.map(\.name) == [kept, "a.liquid"])
    #expect(files.report(own: Self.own).files.map(\.result) == [rest, rest])
    // One that is not a backup of this phrase is read under its new name.
    files.wasSetAside(digest: [3], nil)
    #expect(files.isSetAside([3]))
    #expect(files.wasRead("d.liquid", copy, digest: [3], at: 7) == true)
    var later = Self.store
    later.unlocking[0] = 9
    files.begin(later)
    #expect(!files.isSetAside([1]) && !files.isSetAside([3]))
  }

  // Holds: FOLLOW-11
  @Test mutating func `each fault is logged once, until the file is merged`() throws {
    files.begin(Self.store)
    let cut = try stamp("a.liquid")
    #expect(files.wasRead("a.liquid", cut, digest: [1], at: 5) == true)
    #expect(files.wasSkipped("a.liquid", cut, digest: [1], "it is cut off", at: 5) == "a.liquid: it is cut off")
    #expect(files.toRead(["a.liquid": cut]) == [])
    let again = try stamp("a.liquid", [2, 2])
    #expect(files.toRead(["a.liquid": again]) == ["a.liquid"])
    #expect(files.wasRead("a.liquid", again, digest: [1], at: 6) == true, "it was not merged")
    #expect(files.wasSkipped("a.liquid", again, digest: [1], "it is cut off", at: 6) == nil)
    #expect(files.wasSkipped("a.liquid", again, digest: [1], "it is empty", at: 6) == "a.liquid: it is empty")
    #expect(
      files.report(own: nil).files
        == [FollowReport.File(name: "a.liquid", time: 6, isMerged: false, result: "not merged: it is empty")])
    #expect(files.wasMerged("a.liquid", digest: [3], Self.result(), at: 7) == nil)
    #expect(files.wasSkipped("a.liquid", again, digest: [1], "it is empty", at: 8) == "a.liquid: it is empty")
    #expect(files.set(problem: "no space") == "no space")
    #expect(files.set(problem: "no space") == nil)
    #expect(files.report(own: nil).problem == "no space")
    #expect(files.set(problem: nil) == "/f is up to date again")
    #expect(files.set(problem: nil) == nil)
    #expect(files.report(own: nil).problem == nil)
  }

  // Holds: FOLLOW-11
  @Test mutating func `content that was refused is not sent again before the next unlocking`() throws {
    files.begin(Self.store)
    let (one, two) = (try stamp("a.liquid"), try stamp("b.liquid"))
    _ = files.wasRead("a.liquid", one, digest: [1], at: 5)
    #expect(
      files.wasSkipped("a.liquid", one, digest: [1], "its seal is broken", isRefused: true, at: 5)
        == "a.liquid: its seal is broken")
    #expect(files.wasRead("b.liquid", two, digest: [1], at: 6) == false)
    #expect(files.toRead(["a.liquid": one, "b.liquid": two]) == [])
    let shown = FollowReport.File(name: "a.liquid", time: 5, isMerged: false, result: "not merged: its seal is broken")
    var other = shown
    (other.name, other.time) = ("b.liquid", 6)
    #expect(files.report(own: nil).files == [shown, other])
    #expect(files.wasRead("a.liquid", two, digest: [2], at: 7) == true)
    var later = Self.store
    later.unlocking[0] = 9
    files.begin(later)
    #expect(files.wasRead("a.liquid", one, digest: [1], at: 8) == true)
  }

  // Holds: FOLLOW-11
  @Test mutating func `a file that cannot be read now is read again without a change`() throws {
    files.begin(Self.store)
    let one = try stamp("a.liquid")
    #expect(files.isComplete)
    #expect(files.wasSkipped("a.liquid", nil, digest: nil, "it is in use", at: 5) == "a.liquid: it is in use")
    #expect(!files.isComplete)
    #expect(files.report(own: nil).files.map(\.result) == ["not merged: it is in use"])
    #expect(files.toRead(["a.liquid": one]) == ["a.liquid"])
    files.begin(Self.store)
    #expect(files.isComplete && files.toRead(["a.liquid": one]) == ["a.liquid"])
    #expect(files.wasSkipped("a.liquid", nil, digest: nil, "it is in use", at: 6) == nil, "it is said once")
    #expect(files.wasSkipped("a.liquid", one, digest: nil, "it is empty", at: 7) == "a.liquid: it is empty")
    #expect(files.toRead(["a.liquid": one]) == [])
  }

  // Holds: FOLLOW-16
  @Test mutating func `backups of the phrase are read and shown before other files, and the rest in the next pass`()
    throws
  {
    files.begin(Self.store)
    let one = try stamp("z.liquid")
    var names = (0..<1000).map { "a\($0).liquid" }
    let ours = ["c0ffee00-b-11223344.liquid", "c0ffee00-z-11223344.liquid"]
    #expect(files.toRead(Dictionary(uniqueKeysWithValues: names.map { ($0, one) })).count == 1000)
    #expect(files.isComplete)
    names += ours
    let listing = Dictionary(uniqueKeysWithValues: names.map { ($0, one) })
    let first = files.toRead(listing)
    #expect(first.count == 1000 && Array(first.prefix(3)) == ours + ["a0.liquid"] && !files.isComplete)
    for (index, name) in first.enumerated() {
      _ = files.wasSkipped(name, one, digest: [UInt8(index % 256), UInt8(index / 256)], "no", at: 5)
    }
    #expect(files.report(own: nil).files.prefix(3).map(\.name) == ours + ["a0.liquid"])
    files.begin(Self.store)
    #expect(files.toRead(listing) == ["a998.liquid", "a999.liquid"] && files.isComplete)
  }

  // Holds: FOLLOW-7
  @Test mutating func `a pass knows whether it has changed the store`() {
    files.begin(Self.store)
    _ = files.wasMerged("a.liquid", digest: [1], Self.result { $0.kept = 1 }, at: 5)
    #expect(!files.hasChangedStore)
    _ = files.wasMerged("b.liquid", digest: [2], Self.result { $0.noted = 1 }, at: 5)
    #expect(files.hasChangedStore)
    files.begin(Self.store)
    #expect(!files.hasChangedStore)
  }

  // Holds: FOLLOW-6
  @Test mutating func `after an unlocking, and in another folder, everything is merged once more`() throws {
    files.begin(Self.store)
    let one = try stamp("a.liquid")
    #expect(files.wasRead("a.liquid", one, digest: [1], at: 5) == true)
    _ = files.wasMerged("a.liquid", digest: [1], Self.result(), at: 5)
    files.wasWritten(Self.own, one, digest: [4], state: Self.store.state)
    files.wasRecorded([4])
    #expect(!files.needsWriting(Self.store.state, own: Self.own))
    var later = Self.store
    later.unlocking[0] = 9
    files.begin(later)
    #expect(files.toRead(["a.liquid": one]) == ["a.liquid"])
    #expect(files.wasRead("a.liquid", one, digest: [1], at: 6) == true)
    #expect(files.needsWriting(later.state, own: Self.own))
    files.wasWritten(Self.own, one, digest: [4], state: later.state)
    #expect(files.recorded == nil && files.needsWriting(later.state, own: Self.own), "it is recorded once more")
    _ = files.wasMerged("a.liquid", digest: [1], Self.result(), at: 6)
    files.begin(later)
    #expect(files.toRead(["a.liquid": one]) == [])
    later.folder = "/g"
    files.begin(later)
    #expect(files.report(own: nil).files == [])
    #expect(files.toRead(["a.liquid": one]) == ["a.liquid"])
  }

  // Holds: FOLLOW-4
  @Test mutating func `the own file is written after a change of the store or of the file, and at no other time`()
    throws
  {
    files.begin(Self.store)
    #expect(files.needsWriting(Self.store.state, own: Self.own))
    let written = try stamp(Self.own)
    files.wasWritten(Self.own, written, digest: [1], state: Self.store.state)
    #expect(files.needsWriting(Self.store.state, own: Self.own), "the store could not record it")
    files.wasRecorded([1])
    #expect(files.recorded == [1])
    #expect(!files.needsWriting(Self.store.state, own: Self.own))
    #expect(files.toRead([Self.own: written]) == [], "its own event")
    #expect(files.isWritten(Self.own, written) && !files.isWritten("a.liquid", written))
    #expect(!files.isWritten(Self.own, nil), "it is gone")
    #expect(files.needsWriting([UInt8](repeating: 7, count: 16), own: Self.own))
    // The sync service puts an older one in its place.
    let old = try stamp(Self.own, [2, 2])
    #expect(files.toRead([Self.own: old]) == [Self.own])
    #expect(!files.isWritten(Self.own, old))
    #expect(files.wasRead(Self.own, old, digest: [2], at: 5) == true)
    #expect(!files.isWritten(Self.own, old), "it is read, and not written")
    _ = files.wasMerged(Self.own, digest: [2], Self.result(), at: 5)
    #expect(files.needsWriting(Self.store.state, own: Self.own))
    #expect(files.report(own: Self.own).files == [])
    _ = files.toRead([:])
    #expect(files.needsWriting(Self.store.state, own: Self.own), "it was removed")
  }

  // Holds: FOLLOW-12
  @Test func `an own file is replaced only if nothing is lost`() throws {
    let name = PasskeyName(rpID: "a", name: nil)
    let one = MergeResult.NamedPasskeys(names: [name], count: 1)
    let cases: [(MergeResult, Bool)] = [
      (Self.result(), true), (Self.result { $0.added = 3 }, true), (Self.result { $0.largeBlobs = .taken }, true),
      (Self.result { $0.largeBlobs = .same }, true), (Self.result { $0.largeBlobs = .keptBack(1) }, false),
      (
        Self.result { result in
          result.largeBlobs = .keptBack(1)
          result.isLastWritten = true
        }, true
      ),
      (Self.result { $0.largeBlobs = .invalid }, false), (Self.result { $0.keptImported = one }, false),
      (Self.result { $0.leftImported = one }, false),
      (
        Self.result { result in
          result.leftImported = one
          result.isLastWritten = true
        }, false
      ),
    ]
    for (result, isReplaceable) in cases { #expect(BackupRest(result).isReplaceable == isReplaceable) }
    #expect(!BackupRest.everything.isReplaceable)
  }

  // Holds: FOLLOW-11
  @Test mutating func `a fault of the own file is shown, and the result of merging it is not`() throws {
    files.begin(Self.store)
    let damaged = try stamp(Self.own)
    _ = files.wasSkipped(Self.own, damaged, digest: [99], "its seal is broken", at: 6)
    #expect(files.report(own: Self.own).files.map(\.isMerged) == [false])
    _ = files.wasMerged(Self.own, digest: [1], Self.result(), at: 7)
    #expect(files.report(own: Self.own).files == [])
  }

  @Test func `the result of merging a file is one line`() {
    let one = MergeResult.NamedPasskeys(names: [], count: 1)
    for (result, text) in [
      (Self.result(), "nothing new"), (Self.result { $0.kept = 4 }, "nothing new"),
      (
        Self.result { result in
          (result.added, result.changed) = (1, 2)
          result.removed = one
        }, "1 passkey added, 2 changed, 1 removed"
      ),
      (Self.result { $0.noted = 1 }, "no passkey changed"),
      (Self.result { $0.largeBlobs = .taken }, "no passkey changed; large blobs added"),
      (Self.result { $0.largeBlobs = .keptBack(2) }, "nothing new; 2 large blobs only in this file: keep it"),
      (Self.result { $0.largeBlobs = .keptBack(0) }, "nothing new; different large blobs only in this file: keep it"),
      (Self.result { $0.largeBlobs = .invalid }, "nothing new; its large blobs are damaged"),
      (Self.result { $0.keptImported = one }, "nothing new; 1 imported passkey kept here"),
      (Self.result { $0.leftImported = one }, "nothing new; 1 imported passkey only in this file: keep it"),
      (Self.result { $0.raisesEpoch = true }, "no passkey changed; made after a later reset"),
      (Self.result { $0.entriesAhead = 2 }, "nothing new; 2 entries changed more than a day in the future"),
    ] { #expect(BackupText.followed(result) == text) }
  }
}

@Suite struct FollowedFolderTests {
  private let temporary: TemporaryDirectory
  private var path: String { temporary.path }

  init() throws { temporary = try TemporaryDirectory() }

  // Holds: FOLLOW-13
  @Test func `only regular files are read, without waiting`() throws {
    try NamedFile("\(path)/a.liquid").create([1, 2])
    try NamedFile("\(path)/empty.liquid").create([])
    try NamedFile("\(path)/other.txt").create([1])
    #expect(symlink("a.liquid", "\(path)/link.liquid") == 0)
    #expect(mkfifo("\(path)/fifo.liquid", 0o600) == 0)
    #expect(mkdir("\(path)/folder.liquid", 0o700) == 0)
    try NamedFile("\(path)/large.liquid").create([1])
    #expect(truncate("\(path)/large.liquid", 67_108_865) == 0)
    let folder = try FollowedFolder(path)
    #expect(
      try folder.list(of: [0xC0, 0xFF, 0xEE, 0]).files.keys.sorted()
        == ["a.liquid", "empty.liquid", "fifo.liquid", "folder.liquid", "large.liquid", "link.liquid"])
    #expect(try folder.read("a.liquid") == [1, 2])
    #expect(try folder.read("gone.liquid") == nil)
    for (name, reason) in [
      ("empty", "it is empty"), ("link", "it is a symbolic link"), ("fifo", "it is not a regular file"),
      ("folder", "it is not a regular file"), ("large", "it has more than 64 MiB"),
    ] {
      #expect(throws: FollowedFolder.Fault(reason: reason)) { try folder.read("\(name).liquid") }
    }
  }

  // Holds: FOLLOW-10
  @Test func `a folder that is not there is a fault, and one that was opened stays the same`() throws {
    try NamedFile("\(path)/file").create([1])
    #expect(symlink(".", "\(path)/link") == 0)
    for name in ["none", "file", "link"] {
      #expect(throws: FollowedFolder.Fault(reason: "\(path)/\(name) does not exist", kind: .absent)) {
        try FollowedFolder("\(path)/\(name)")
      }
    }
    #expect(mkdir("\(path)/stick", 0o700) == 0)
    let folder = try FollowedFolder("\(path)/stick")
    #expect(rename("\(path)/stick", "\(path)/pulled") == 0 && mkdir("\(path)/stick", 0o700) == 0)
    try folder.replace("a.liquid", nil, with: [1])
    #expect(try FollowedFolder("\(path)/stick").list(of: []).files.isEmpty)
    #expect(try FollowedFolder("\(path)/pulled").read("a.liquid") == [1])
  }

  // Holds: FOLLOW-11
  @Test func `a fault that can pass is told from one that stays`() throws {
    let long = String(repeating: "n", count: 256)
    #expect(throws: FollowedFolder.Fault(reason: "cannot open \(path)/\(long): File name too long", kind: .passing)) {
      try FollowedFolder("\(path)/\(long)")
    }
    #expect(throws: FollowedFolder.Fault(reason: "it cannot be opened: File name too long", kind: .passing)) {
      try FollowedFolder(path).read(long)
    }
  }

  // Holds: FOLLOW-16
  @Test func `a listing has a limit, and other files do not keep out backups of the phrase`() throws {
    let ours = (1...3).map { "c0ffee00-\($0)-11223344.liquid" }
    for name in ours + ["a.liquid", "b.liquid", "c.liquid", "other.txt"] {
      try NamedFile("\(path)/\(name)").create([1])
    }
    let folder = try FollowedFolder(path)
    let fingerprint: [UInt8] = [0xC0, 0xFF, 0xEE, 0]
    let whole = try folder.list(of: fingerprint, atMost: 3)
    #expect(whole.files.count == 6 && whole.isWhole)
    let cut = try folder.list(of: fingerprint, atMost: 2)
    #expect(cut.files.count == 4 && cut.files.keys.count(where: { $0.hasPrefix("c0ffee00-") }) == 2 && !cut.isWhole)
    let others = try folder.list(of: [1, 2, 3, 4], atMost: 5)
    #expect(others.files.count == 5 && !others.isWhole)
  }

  // Holds: FOLLOW-12
  @Test func `a file that changed since it was read is not replaced, and nothing temporary stays`() throws {
    let folder = try FollowedFolder(path)
    try folder.replace("a.liquid", nil, with: [1])
    let stamp = folder.stamp("a.liquid")
    try NamedFile("\(path)/a.liquid").replace(NamedFile("\(path)/a.liquid").stamp(), with: [2, 2])
    #expect(
      throws: FollowedFolder.Fault(
        reason: "\(path)/a.liquid was changed while the command ran, and is not replaced; run it again")
    ) { try folder.replace("a.liquid", stamp, with: [3]) }
    #expect(try folder.read("a.liquid") == [2, 2])
    try folder.replace("a.liquid", folder.stamp("a.liquid"), with: [3])
    #expect(try folder.read("a.liquid") == [3])
    #expect(access("\(path)/.a.liquid.new", F_OK) != 0)
    var status = stat()
    #expect(stat("\(path)/a.liquid", &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  // Holds: FOLLOW-12
  @Test func `an own file that is set aside keeps its content under another name`() throws {
    let folder = try FollowedFolder(path)
    let digest = BackupFile.digest(of: [1])
    try folder.replace("a.liquid", nil, with: [1])
    #expect(try folder.setAside("a.liquid", folder.stamp("a.liquid"), as: "a.kept.liquid", digest: digest))
    #expect(try folder.read("a.liquid") == nil && folder.read("a.kept.liquid") == [1])
    let stamp = try folder.replace("a.liquid", nil, with: [1])
    #expect(try !folder.setAside("a.liquid", stamp, as: "a.kept.liquid", digest: digest))
    #expect(try folder.read("a.liquid") == [1], "its content is kept already")
    // A sync service puts another file there meanwhile. It is not replaced, because it was not read.
    try NamedFile("\(path)/a.liquid").replace(stamp, with: [7])
    #expect(throws: FollowedFolder.Fault.self) { try folder.replace("a.liquid", stamp, with: [3]) }
    #expect(try folder.read("a.liquid") == [7])
    #expect(throws: FollowedFolder.Fault.self) {
      try folder.setAside("a.liquid", stamp, as: "a.kept.liquid", digest: digest)
    }
    try folder.replace("a.liquid", folder.stamp("a.liquid"), with: [2])
    #expect(throws: FollowedFolder.Fault.self) {
      try folder.setAside("a.liquid", folder.stamp("a.liquid"), as: "a.kept.liquid", digest: BackupFile.digest(of: [2]))
    }
    #expect(try folder.read("a.liquid") == [2] && folder.read("a.kept.liquid") == [1])
  }
}

@Suite struct FolderWatchTests {
  private static func event(_ watch: UInt8, _ mask: [UInt8], _ name: String = "", size: UInt8? = nil) -> [UInt8] {
    let bytes = Array(name.utf8)
    let size = size ?? (bytes.isEmpty ? 0 : UInt8((bytes.count / 16 + 1) * 16))
    return [watch, 0, 0, 0] + mask + [0, 0, 0, 0, size, 0, 0, 0] + bytes
      + [UInt8](repeating: 0, count: max(0, Int(size) - bytes.count))
  }

  @Test func `events are read whole, and a cut one is not read`() {
    let bytes = Self.event(1, [8, 0, 0, 0], "a.liquid") + Self.event(2, [0, 4, 0, 0])
    let events = [
      FolderEvent(watch: 1, mask: 8, name: "a.liquid"), FolderEvent(watch: 2, mask: 0x400, name: ""),
    ]
    #expect(FolderEvent.read(bytes) == events)
    #expect(FolderEvent.read(Array(bytes.dropLast())) == [events[0]])
    #expect(FolderEvent.read(Array(bytes.prefix(31))) == [])
    #expect(FolderEvent.read([]) == [])
    let lost = FolderEvent.read([255, 255, 255, 255, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    #expect(lost == [FolderEvent(watch: -1, mask: 0x4000, name: "")] && lost[0].isOverflow)
  }

  // Holds: FOLLOW-8
  @Test func `changes of backups count, and those of other files do not`() throws {
    let temporary = try TemporaryDirectory()
    let watch = try FolderWatch()
    try watch.watch(folder: temporary.path, isAbsent: false)
    let hasChanged = { () -> Bool in
      var ready = watch.descriptors
      _ = poll(&ready, nfds_t(ready.count), 0)
      return watch.readEvents(ready).folder
    }
    #expect(!hasChanged())
    try NamedFile("\(temporary.path)/.syncthing.a.liquid.tmp").create([1])
    #expect(!hasChanged())
    #expect(rename("\(temporary.path)/.syncthing.a.liquid.tmp", "\(temporary.path)/a.liquid") == 0)
    #expect(hasChanged())
    #expect(!hasChanged())
    unlink("\(temporary.path)/a.liquid")
    #expect(hasChanged())
    try NamedFile("\(temporary.path)/a.liquid").create([1])
    var ready = watch.descriptors
    _ = poll(&ready, nfds_t(ready.count), 0)
    let known = watch.readEvents(ready) { $0 == "a.liquid" }
    #expect(!known.folder)
    unlink("\(temporary.path)/a.liquid")
    _ = poll(&ready, nfds_t(ready.count), 0)
    let other = watch.readEvents(ready) { $0 == "b.liquid" }
    #expect(other.folder)
  }

  // Holds: FOLLOW-10
  @Test func `a folder that disappears and comes back is noticed`() throws {
    let temporary = try TemporaryDirectory()
    let path = "\(temporary.path)/a/b"
    #expect(mkdir("\(temporary.path)/a", 0o700) == 0 && mkdir(path, 0o700) == 0)
    let watch = try FolderWatch()
    try watch.watch(folder: path, isAbsent: false)
    let hasChanged = { () -> Bool in
      var ready = watch.descriptors
      _ = poll(&ready, nfds_t(ready.count), 0)
      return watch.readEvents(ready).folder
    }
    #expect(rmdir(path) == 0 && rmdir("\(temporary.path)/a") == 0)
    #expect(hasChanged())
    try watch.watch(folder: path, isAbsent: true)
    _ = hasChanged()
    #expect(!hasChanged())
    try NamedFile("\(temporary.path)/other").create([1])
    #expect(!hasChanged(), "this is not what is missing")
    #expect(mkdir("\(temporary.path)/a", 0o700) == 0)
    #expect(hasChanged())
    try watch.watch(folder: path, isAbsent: true)
    #expect(mkdir(path, 0o700) == 0)
    #expect(hasChanged())
  }

  // Holds: FOLLOW-7
  @Test func `the watch for the control socket ignores other files beside it`() throws {
    let temporary = try TemporaryDirectory()
    let watch = try FolderWatch()
    let path = "\(temporary.path)/run/control.sock"
    let hasChanged = { () -> Bool in
      var ready = watch.descriptors
      _ = poll(&ready, nfds_t(ready.count), 0)
      return watch.readEvents(ready).socket
    }
    try watch.watch(socket: path)
    try NamedFile("\(temporary.path)/control.sock").create([1])
    #expect(!hasChanged())
    #expect(mkdir("\(temporary.path)/run", 0o700) == 0)
    #expect(hasChanged())
    try watch.watch(socket: path)
    try NamedFile("\(temporary.path)/run/other.sock").create([1])
    #expect(!hasChanged())
    try NamedFile(path).create([1])
    #expect(hasChanged())
    watch.endWatchOfSocket()
    #expect(unlink(path) == 0)
    try NamedFile(path).create([1])
    #expect(!hasChanged())
  }
}
