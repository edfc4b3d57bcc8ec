import CredentialDB
import Glibc

/// The directory in which one authenticator keeps its vault, its store and its lock: 0700, files 0600.
///
/// Opening it repairs and overwrites nothing: each fault is an error that names the file and what to do.
public struct StateDirectory: Sendable, Equatable {
  /// Where it is, without a slash at the end.
  public let path: String
  /// The directory that was opened.
  private let identity: FileIdentity

  /// The sealed secrets (Recovery §1).
  public var vaultPath: String { path + "/vault" }
  /// The credentials (Recovery §6).
  public var storePath: String { path + "/credentials.sqlite" }
  /// The lock file of the process that works on the directory.
  public var lockPath: String { path + "/daemon.lock" }

  /// `$XDG_STATE_HOME/liquid-auth`, or `~/.local/state/liquid-auth`.
  ///
  /// - Parameter environment: looks up a variable; a relative `XDG_STATE_HOME` counts as unset, as its standard
  ///   requires.
  public static func defaultPath(environment: (String) -> String?) throws(StateDirectoryError) -> String {
    if let state = environment("XDG_STATE_HOME"), state.utf8.first == UInt8(ascii: "/") {
      return state + "/liquid-auth"
    }
    if let home = environment("HOME"), home.utf8.first == UInt8(ascii: "/") {
      return home + "/.local/state/liquid-auth"
    }
    throw StateDirectoryError(
      .noHome, "cannot find the vault: HOME and XDG_STATE_HOME are not set",
      hint: "give --state-dir DIR")
  }

  /// Opens a directory that exists; refuses one that others can read or that belongs to someone else.
  public init(opening path: String) throws(StateDirectoryError) {
    let path = Self.trimmed(path)
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT else { throw .system("open", path) }
      throw StateDirectoryError(
        .noVault, "there is no vault, because \(path) does not exist", hint: "make one",
        with: ["liquid-auth", "setup"])
    }
    try Privacy.check(status, path, type: S_IFDIR, mode: "700")
    (self.path, identity) = (path, FileIdentity(status))
  }

  /// Checks that the directory is the one that was opened, and still private.
  ///
  /// The lock is in that one: what is written to another one could be written by two processes, or be lost.
  func checkIdentity() throws(StateDirectoryError) {
    guard try StateDirectory(opening: path) == self else {
      throw StateDirectoryError(
        .exchanged, "\(path) is not the directory that was opened: it was moved or replaced",
        hint: "put it back, or restart liquid-authenticator, which then uses what is there")
    }
  }

  /// Opens the directory; makes it first, with its parents (all 0700), if it is missing.
  public init(creating path: String) throws(StateDirectoryError) {
    let path = Self.trimmed(path)
    for end in path.indices.dropFirst() where path[end] == "/" { _ = mkdir(String(path[..<end]), 0o700) }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .system("make the directory", path) }
    try self.init(opening: path)
  }

  /// Removes the directory, its lock, which the caller holds, and files that were being made; keeps all if there is a vault
  /// or a store.
  public func removeIfUnused() {
    guard access(vaultPath, F_OK) != 0, access(storePath, F_OK) != 0 else { return }
    for path in [vaultPath + ".new"] + Self.files(of: storePath) + [lockPath] { unlink(path) }
    rmdir(path)
  }

  private static func trimmed(_ path: String) -> String {
    var path = path
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
    return path
  }
}
