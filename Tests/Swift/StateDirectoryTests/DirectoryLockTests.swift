import Foundation
import StateDirectory
import Testing

@Suite struct DirectoryLockTests {
  let temporary: TemporaryDirectory
  let directory: StateDirectory

  init() throws {
    temporary = try TemporaryDirectory()
    directory = try StateDirectory(opening: temporary.path)
  }

  // Holds: FILE-11
  @Test func `a second lock is refused with the pid of the first, until the first is released`() throws {
    let pid = getpid()
    do {
      let first = try directory.lock()
      let error = #expect(throws: StateDirectoryError.self) { try directory.lock() }
      #expect(error?.kind == .inUse(pid: pid))
      #expect(
        error?.description
          == "process \(pid) already uses \(temporary.path); stop it first (kill \(pid)), "
          + "or give another directory with --state-dir DIR")
      withExtendedLifetime(first) {}
    }
    let next = try directory.lock()
    #expect(temporary.bytes(of: "daemon.lock") == Array("\(pid)\n".utf8))
    #expect(try temporary.mode(of: "daemon.lock") == 0o600)
    withExtendedLifetime(next) {}
  }

  @Test func `the holder of the lock is found without the lock`() throws {
    #expect(directory.lockHolder == nil, "there is no file")
    let lock = try directory.lock()
    #expect(directory.lockHolder == getpid())
    // A pid that does not hold the lock.
    try temporary.write(Array("1\n".utf8), to: "daemon.lock")
    #expect(directory.lockHolder == nil)
    try temporary.write(Array("\(getpid())\n".utf8), to: "daemon.lock")
    #expect(directory.lockHolder == getpid())
    withExtendedLifetime(lock) {}
  }

  @Test func `a pid without a lock is not a holder`() throws {
    try temporary.write(Array("\(getpid())\n".utf8), to: "daemon.lock")
    #expect(directory.lockHolder == nil)
  }

  @Test func `a stale pid does not block the lock and is replaced`() throws {
    try temporary.write(Array("99999999\nmore than a pid\n".utf8), to: "daemon.lock")
    let lock = try directory.lock()
    #expect(temporary.bytes(of: "daemon.lock") == Array("\(getpid())\n".utf8))
    withExtendedLifetime(lock) {}
  }

  @Test(arguments: ["not a number", "1\n"])
  func `a lock of another process is respected, whatever the file contains`(_ content: String) throws {
    try temporary.write(Array(content.utf8), to: "daemon.lock")
    let holder = Process()
    holder.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    holder.arguments = ["flock", "--no-fork", directory.lockPath, "sh", "-c", "echo held; exec cat"]
    let (input, output) = (Pipe(), Pipe())
    holder.standardInput = input
    holder.standardOutput = output
    try holder.run()
    #expect(output.fileHandleForReading.availableData == Data("held\n".utf8))
    let error = #expect(throws: StateDirectoryError.self) { try directory.lock() }
    #expect(error?.kind == .inUse(pid: 0), "the file does not name the holder")
    #expect(temporary.bytes(of: "daemon.lock") == Array(content.utf8))
    try input.fileHandleForWriting.close()
    holder.waitUntilExit()
  }
}
