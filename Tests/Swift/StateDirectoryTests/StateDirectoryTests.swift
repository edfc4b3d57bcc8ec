import Foundation
import StateDirectory
import Testing

@Suite struct StateDirectoryTests {
  @Test(arguments: [
    (["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/liquid-auth"),
    (["HOME": "/h"], "/h/.local/state/liquid-auth"),
    (["XDG_STATE_HOME": "relative", "HOME": "/h"], "/h/.local/state/liquid-auth"),
    (["XDG_STATE_HOME": "", "HOME": "/h"], "/h/.local/state/liquid-auth"),
  ])
  func `the directory follows the environment`(environment: [String: String], path: String) throws {
    #expect(try StateDirectory.defaultPath { environment[$0] } == path)
  }

  @Test(arguments: [[:], ["HOME": "relative"], ["XDG_STATE_HOME": "relative"]])
  func `without a home directory, the error names --state-dir`(environment: [String: String]) {
    let error = #expect(throws: StateDirectoryError.self) { try StateDirectory.defaultPath { environment[$0] } }
    #expect(error?.kind == .noHome)
    #expect(error?.description.contains("--state-dir DIR") == true)
  }

  @Test func `a new directory and its parents have mode 0700`() throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(creating: temporary.path + "/a/b/liquid-auth/")
    #expect(directory.path == temporary.path + "/a/b/liquid-auth")
    #expect(directory.vaultPath == temporary.path + "/a/b/liquid-auth/vault")
    #expect(directory.storePath == temporary.path + "/a/b/liquid-auth/credentials.sqlite")
    for name in ["a", "a/b", "a/b/liquid-auth"] { #expect(try temporary.mode(of: name) == 0o700) }
    #expect(try StateDirectory(creating: directory.path) == directory, "an existing one is opened")
  }

  // Holds: INPUT-7
  @Test(arguments: [nil, "vault", "credentials.sqlite"])
  func `a directory without vault and store can be removed`(file: String?) throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(creating: temporary.path + "/liquid-auth")
    let lock = try directory.lock()
    defer { withExtendedLifetime(lock) {} }
    if let file { #expect(FileManager.default.createFile(atPath: "\(directory.path)/\(file)", contents: nil)) }
    directory.removeIfUnused()
    #expect(FileManager.default.fileExists(atPath: directory.path) == (file != nil))
    #expect(FileManager.default.fileExists(atPath: directory.lockPath) == (file != nil))
  }

  @Test func `a missing directory names the command that makes it`() throws {
    let temporary = try TemporaryDirectory()
    let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(opening: temporary.path + "/none") }
    #expect(error?.kind == .noVault)
    #expect(
      error?.description
        == "there is no vault, because \(temporary.path)/none does not exist; make one with: liquid-auth setup")
  }

  // Holds: FILE-10
  @Test(arguments: [0o701, 0o705, 0o702, 0o777])
  func `a directory that others can enter is refused and not changed`(mode: Int) throws {
    let temporary = try TemporaryDirectory()
    try temporary.set(mode: mode)
    for creating in [false, true] {
      let error = #expect(throws: StateDirectoryError.self) {
        creating ? try StateDirectory(creating: temporary.path) : try StateDirectory(opening: temporary.path)
      }
      #expect(error?.kind == .notPrivate)
      let octal = String(mode, radix: 8)
      #expect(
        error?.description
          == "other users can access \(temporary.path) (mode \(octal)); restrict access with: chmod 700 '\(temporary.path)'"
      )
    }
    #expect(try temporary.mode() == mode)
  }

  // Holds: FILE-10
  @Test(arguments: [("passwd", false), ("vault", true), ("credentials.sqlite", true)])
  func `only a directory of the vault is to be closed to others`(file: String, isOfVault: Bool) throws {
    let temporary = try TemporaryDirectory()
    try temporary.write([1], to: file)
    try temporary.set(mode: 0o755)
    let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(opening: temporary.path) }
    #expect(error?.hint == (isOfVault ? "restrict access with: chmod 700 '\(temporary.path)'" : "give --state-dir DIR"))
    #expect(error?.command == (isOfVault ? ["chmod", "700", temporary.path] : nil))
  }

  /// No account has this group; Tests/EndToEnd/support/accounts.py tests private groups.
  @Test(.enabled(if: geteuid() == 0), arguments: [0o710, 0o720, 0o740, 0o770])
  func `a directory that a shared group can access is refused`(mode: Int) throws {
    let temporary = try TemporaryDirectory()
    #expect(chown(temporary.path, geteuid(), 4242) == 0)
    try temporary.set(mode: mode)
    let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(opening: temporary.path) }
    #expect(error?.kind == .notPrivate)
    let words = "other users can access \(temporary.path) (mode \(String(mode, radix: 8)))"
    #expect(error?.description.hasPrefix(words) == true)
  }

  @Test(.enabled(if: geteuid() == 0)) func `a directory of another owner is refused`() throws {
    let temporary = try TemporaryDirectory()
    #expect(chown(temporary.path, 4242, 4242) == 0)
    let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(opening: temporary.path) }
    #expect(error?.kind == .notPrivate)
    #expect(error?.description.hasPrefix("\(temporary.path) belongs to uid 4242, not to you (uid 0)") == true)
  }

  @Test func `a file in place of the directory is refused`() throws {
    let temporary = try TemporaryDirectory()
    try temporary.write([1], to: "file")
    let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(creating: temporary.path + "/file") }
    #expect(error?.kind == .notPrivate)
    #expect(error?.description.contains("is not a directory") == true)
  }
}
