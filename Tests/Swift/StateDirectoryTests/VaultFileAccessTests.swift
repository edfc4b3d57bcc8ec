import Foundation
import StateDirectory
import Testing

@Suite struct VaultFileAccessTests {
  let temporary: TemporaryDirectory
  let directory: StateDirectory

  init() throws {
    temporary = try TemporaryDirectory()
    directory = try StateDirectory(opening: temporary.path)
  }

  @Test(arguments: [1, 300, 65_535, 65_536])
  func `a vault is read back, and only its owner can read it`(size: Int) throws {
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    try directory.createVault(bytes)
    #expect(try directory.readVault() == bytes)
    #expect(try temporary.mode(of: "vault") == 0o600)
    #expect(temporary.names == ["vault"])
  }

  @Test func `replacing leaves the new vault and no other file`() throws {
    try directory.createVault([1, 2, 3])
    try directory.replaceVault([4, 5])
    #expect(try directory.readVault() == [4, 5])
    #expect(temporary.names == ["vault"])
  }

  @Test func `creating never overwrites a vault`() throws {
    try directory.createVault([1, 2, 3])
    let error = #expect(throws: StateDirectoryError.self) { try directory.createVault([9]) }
    #expect(error?.kind == .exists)
    #expect(error?.description.hasPrefix("there is a vault already, \(directory.vaultPath)") == true)
    #expect(try directory.readVault() == [1, 2, 3])
    #expect(temporary.names == ["vault"])
  }

  @Test func `the temporary file of a crashed write does not block the next write`() throws {
    try temporary.write([0xFF], to: "vault.new")
    try directory.createVault([1])
    #expect(try directory.readVault() == [1])
    #expect(temporary.names == ["vault"])
  }

  @Test func `a write that fails leaves the old vault`() throws {
    try directory.createVault([1, 2, 3])
    // A directory in place of the temporary file: it cannot be unlinked or opened for writing.
    try FileManager.default.createDirectory(atPath: directory.vaultPath + ".new/x", withIntermediateDirectories: true)
    let error = #expect(throws: StateDirectoryError.self) { try directory.replaceVault([9]) }
    #expect(error?.description.contains("\(directory.vaultPath).new") == true)
    #expect(try directory.readVault() == [1, 2, 3])
  }

  @Test func `a vault that could not be read again is not written`() throws {
    try directory.createVault([1, 2, 3])
    let error = #expect(throws: StateDirectoryError.self) {
      try directory.replaceVault([UInt8](repeating: 7, count: 65_537))
    }
    #expect(error?.kind == .unchanged)
    #expect(
      error?.description == "the vault has no space for this change; remove a slot with: liquid-auth vault remove")
    #expect(try directory.readVault() == [1, 2, 3])
    #expect(temporary.names == ["vault"])
  }

  @Test func `a missing vault names the command that makes one`() {
    let error = #expect(throws: StateDirectoryError.self) { try directory.readVault() }
    #expect(error?.kind == .noVault)
    #expect(error?.description == "there is no vault \(directory.vaultPath); make one with: liquid-auth setup")
    #expect(error?.command == ["liquid-auth", "setup"])
  }

  @Test(arguments: [(0, "it is empty"), (65_537, "it is too large"), (200_000, "it is too large")])
  func `an empty or too large file is reported as damaged and not changed`(size: Int, why: String) throws {
    let bytes = [UInt8](repeating: 7, count: size)
    try temporary.write(bytes, to: "vault")
    let error = #expect(throws: StateDirectoryError.self) { try directory.readVault() }
    #expect(error?.kind == .damaged)
    #expect(error?.description.hasPrefix("\(directory.vaultPath): damaged vault: \(why); ") == true)
    #expect(error?.reason == "\(directory.vaultPath): damaged vault: \(why)")
    #expect(error?.command == ["liquid-auth", "init", "--import"])
    #expect(temporary.bytes(of: "vault") == bytes)
  }

  @Test(arguments: [0o604, 0o602, 0o666])
  func `a vault that others can read is refused`(mode: Int) throws {
    try temporary.write([1], to: "vault", mode: mode)
    let error = #expect(throws: StateDirectoryError.self) { try directory.readVault() }
    #expect(error?.kind == .notPrivate)
    #expect(error?.description.contains("chmod 600 '\(directory.vaultPath)'") == true)
  }

  // Holds: FILE-10
  @Test func `a link or a pipe in place of the vault is refused at once`() throws {
    try temporary.write([1], to: "elsewhere")
    #expect(symlink(temporary.path + "/elsewhere", directory.vaultPath) == 0)
    #expect(throws: StateDirectoryError.self) { try directory.readVault() }
    #expect(unlink(directory.vaultPath) == 0 && mkfifo(directory.vaultPath, 0o600) == 0)
    let error = #expect(throws: StateDirectoryError.self) { try directory.readVault() }
    #expect(error?.kind == .notPrivate)
  }
}

@Suite struct FileStampTests {
  private let temporary: TemporaryDirectory
  private var path: String { "\(temporary.path)/a" }

  init() throws { temporary = try TemporaryDirectory() }

  private func setTime(_ seconds: Int) {
    var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
  }

  /// When the inode of a file changed: seconds and nanoseconds.
  private func changeTime(of name: String) -> [Int] {
    var status = stat()
    #expect(stat("\(temporary.path)/\(name)", &status) == 0)
    return [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
  }

  @Test func `a rewritten file of the same size and time has another stamp`() throws {
    try temporary.write([1], to: "a")
    setTime(5)
    let stamp = try #require(FileStamp(path))
    #expect(FileStamp(path) == stamp)
    // The clock of the inode has a granularity of some milliseconds.
    repeat { try temporary.write([1], to: "b") } while changeTime(of: "b") == changeTime(of: "a")
    let descriptor = open(path, O_WRONLY)
    defer { close(descriptor) }
    #expect(write(descriptor, [UInt8(2)], 1) == 1)
    setTime(5)
    let rewritten = try #require(FileStamp(path))
    #expect(rewritten != stamp && rewritten.isFile(of: stamp))
    #expect(FileStamp(descriptor: descriptor) == rewritten)
  }

  @Test func `a renamed file is the same one, and another file under its name is not`() throws {
    try temporary.write([1], to: "a")
    let stamp = try #require(FileStamp(path))
    #expect(rename(path, "\(path)2") == 0)
    #expect(FileStamp(path) == nil)
    #expect(FileStamp("\(path)2")?.isFile(of: stamp) == true)
    try temporary.write([1], to: "a")
    #expect(FileStamp(path)?.isFile(of: stamp) == false)
    #expect(FileStamp(descriptor: -1) == nil)
  }
}
