import CBOR
import Testing

@testable import Recovery

@Suite struct BackupTimesTests {
  private static let digest = [UInt8](0..<16)
  private static let longest = "/" + String(repeating: "x", count: 4094)
  private static let storeID = [UInt8](repeating: 7, count: 16)

  private func row(_ member: CBORValue) -> [UInt8] {
    CBOREncoder.encode(.map([1: .bytes(Self.storeID), 2: 0, 3: 0, 18: member, 20: true, 21: true]))
  }

  // Holds: BACKUP-11
  @Test(
    arguments: [
      (BackupTimes(written: 5), CBORValue.map([1: 5])), (BackupTimes(checked: 6), .map([2: 6])),
      (BackupTimes(written: 5, checked: 6), .map([1: 5, 2: 6])),
      (BackupTimes(written: 5, file: digest), .map([1: 5, 3: .bytes(digest)])),
      (BackupTimes(folder: "/a"), .map([4: "/a"])),
      (BackupTimes(written: 5, folder: longest), .map([1: 5, 4: .text(longest)])),
      (BackupTimes(ownFile: digest, ownWritten: 7), .map([5: .bytes(digest), 6: 7])),
    ])
  func `the times are member 18 of the state row`(_ times: BackupTimes, _ member: CBORValue) throws {
    var state = StoreState(storeID: Self.storeID)
    #expect(
      state.plaintext(version: 7) == CBOREncoder.encode([1: .bytes(Self.storeID), 2: 0, 3: 0, 20: true, 21: true]))
    state.backup = times
    #expect(state.plaintext(version: 7) == row(member))
    #expect(try StoreState.read(row(member)).state == state)
  }

  @Test(
    arguments: [
      .map([:]), .map([4: 5]), .map([1: 5, 4: 5]), .map([3: .bytes(digest)]), .map([1: 5, 3: .bytes([1])]),
      .map([1: 5, 3: 5]), .map([1: -1]), .map([1: "5"]), .map([1: 5, 2: true]), 5, .map([4: "a"]), .map([4: ""]),
      .map([4: "/a\0b"]), .map([4: .text(longest + "x")]), .map([4: .bytes([0x2F])]), .map([5: "/a"]),
      .map([5: .bytes(digest)]), .map([4: "/a", 5: .bytes(digest)]), .map([5: .bytes([1]), 6: 5]), .map([1: 5, 6: 5]),
      .map([1: 5, 5: .bytes([1])]), .map([2: 5, 5: .bytes(digest)]), .map([5: .bytes(digest), 6: -1]),
      .map([1: 5, 7: 5]),
    ] as [CBORValue])
  func `a state row with malformed times is refused`(_ member: CBORValue) {
    #expect(throws: RecoveryError.self) { try StoreState.read(row(member)) }
  }

  // Holds: FILE-5, BACKUP-11
  @Test(
    arguments: [
      (.map([1: 5, 4: "/a", 5: .bytes(digest)]), BackupTimes(folder: "/a", ownFile: digest, ownWritten: 5)),
      (.map([1: 5, 2: 6, 5: .bytes(digest)]), BackupTimes(checked: 6, ownFile: digest, ownWritten: 5)),
      (
        .map([1: 5, 3: .bytes(digest), 4: "/a", 5: .bytes(digest)]),
        BackupTimes(written: 5, file: digest, folder: "/a", ownFile: digest, ownWritten: 5)
      ),
    ] as [(CBORValue, BackupTimes)])
  func `the one time of version 8 is that of the own file`(_ member: CBORValue, _ times: BackupTimes) throws {
    #expect(try StoreState.read(row(member)).state.backup == times)
  }

  // Holds: FOLLOW-3
  @Test func `a reset keeps the times, and neither the digests nor the folder`() throws {
    var state = StoreState(storeID: Self.storeID)
    state.backup = BackupTimes(
      written: 5, file: Self.digest, checked: 6, folder: "/a", ownFile: Self.digest, ownWritten: 7)
    try state.reset()
    #expect(state.backup == BackupTimes(written: 5, checked: 6))
  }

  // Holds: BACKUP-11
  @Test func `the last backup is the owner's or the own file`() {
    #expect(BackupTimes(checked: 9).lastWritten == nil)
    #expect(BackupTimes(written: 5).lastWritten == 5)
    #expect(BackupTimes(ownFile: Self.digest, ownWritten: 7).lastWritten == 7)
    #expect(BackupTimes(written: 8, ownFile: Self.digest, ownWritten: 7).lastWritten == 8)
  }

  // Holds: BACKUP-11
  @Test func `one time changes, and nothing else of the state row`() throws {
    let machine = try Machine(epoch: 3)
    var followed = try machine.store.state()
    followed.backup.folder = "/a"
    try machine.store.setState(followed)
    try machine.store.record(.written, at: 5)
    try machine.store.record(.checked, at: 6)
    var state = try machine.store.state()
    #expect(state.backup == BackupTimes(written: 5, checked: 6, folder: "/a"))
    state.backup = BackupTimes()
    #expect(state == (try Machine(epoch: 3).store.state()))
  }
}
