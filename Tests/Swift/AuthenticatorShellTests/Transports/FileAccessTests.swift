import Testing

@testable import liquid_authenticator

/// Access to a device node: modes, and access control lists in the kernel's format.
struct FileAccessTests {
  static let owner: [UInt8] = [1, 0, 6, 0, 255, 255, 255, 255]
  static let alice: [UInt8] = [2, 0, 6, 0, 0xE8, 3, 0, 0]
  static let noGroup: [UInt8] = [4, 0, 0, 0, 255, 255, 255, 255]
  static let readers: [UInt8] = [8, 0, 4, 0, 50, 0, 0, 0]
  static let writers: [UInt8] = [8, 0, 6, 0, 51, 0, 0, 0]
  static let openMask: [UInt8] = [16, 0, 6, 0, 255, 255, 255, 255]
  static let closedMask: [UInt8] = [16, 0, 4, 0, 255, 255, 255, 255]
  static let others: [UInt8] = [32, 0, 0, 0, 255, 255, 255, 255]

  func holders(_ mode: UInt32, _ entries: [[UInt8]]? = nil) -> [FileAccess.Holder] {
    FileAccess(owner: 0, group: 7, mode: mode, list: entries.map { [2, 0, 0, 0] + $0.joined() }).holders
  }

  @Test func `a mode gives owner, group and everybody that can read and write`() {
    #expect(holders(0o600) == [.user(0)])
    #expect(holders(0o660) == [.user(0), .group(7)])
    #expect(holders(0o666) == [.user(0), .group(7), .everybody])
    #expect(holders(0o644) == [.user(0)])
    #expect(holders(0o000) == [])
  }

  @Test func `an access list gives the users that udev grants access at a seat`() {
    #expect(
      holders(0o660, [Self.owner, Self.alice, Self.noGroup, Self.openMask, Self.others]) == [.user(0), .user(1000)])
    #expect(holders(0o660, [Self.owner, Self.readers, Self.writers, Self.openMask]) == [.user(0), .group(51)])
  }

  @Test func `the mask of an access list limits all but the owner`() {
    #expect(holders(0o640, [Self.owner, Self.alice, Self.writers, Self.closedMask]) == [.user(0)])
  }

  @Test(arguments: [[], [1, 0, 0, 0], [2, 0, 0, 0, 1], [2, 0, 0]] as [[UInt8]])
  func `an invalid access list falls back to the mode`(list: [UInt8]) {
    #expect(
      FileAccess(owner: 0, group: 7, mode: 0o600, list: list).holders == (list == [2, 0, 0, 0] ? [] : [.user(0)]))
  }

  @Test func `the holders are described in words`() {
    #expect(FileAccess(owner: 0, group: 7, mode: 0o600, list: nil).description == "root")
    #expect(FileAccess(owner: 0, group: 987_654, mode: 0o660, list: nil).description == "root and the group 987654")
    #expect(FileAccess(owner: 0, group: 7, mode: 0, list: nil).description == "nobody")
    #expect(FileAccess(owner: 0, group: 0, mode: 0o666, list: nil).description == "root, the group root and everybody")
    #expect(FileAccess("/dev/null")?.holders.contains(.everybody) == true)
    #expect(FileAccess("/dev/no-such-node") == nil)
  }
}
