import CLinux
import Glibc
package import ProcessIO

/// The files that a process can still open after it has given up the rest (landlock(7)).
///
/// Files that are open stay open. Connections to Unix sockets, and the names and modes of files, are not restricted.
package struct FileSandbox {
  /// What is allowed for a file, or for everything below a directory.
  package enum Access: Sendable {
    /// List directories.
    case list
    /// Read, and list directories.
    case read
    /// Read, list directories, and start programs.
    case run
    /// Read, write, make and remove files and sockets.
    case write
  }

  private var rules: [(path: String, access: Access)]

  /// Allows what every program here reads: the system's programs, libraries, settings and devices' properties, but
  /// no home directory.
  ///
  /// - Parameter startsPrograms: whether the system's programs may be started.
  package init(startsPrograms: Bool = false) {
    let programs = ["/usr", "/lib", "/lib64", "/bin", "/nix/store"]
    let others = ["/etc", "/proc", "/sys", "/run/udev", "/run/systemd", "/run/nscd", "/var/lib/sss", "/dev/urandom"]
    rules = programs.map { ($0, startsPrograms ? .run : .read) } + others.map { ($0, .read) }
    rules.append(("/dev/null", .write))
  }

  /// Allows access to a file or directory; one that does not exist is ignored.
  package mutating func allow(_ access: Access, _ path: String) { rules.append((path, access)) }

  /// Gives up the rest, for this thread and all that it starts.
  ///
  /// - Throws: the system's error number; `EOPNOTSUPP` or `ENOSYS` for a kernel without Landlock.
  package func enter() throws(SystemNumber) {
    let version = clinux_landlock_version()
    guard version > 0 else { throw SystemNumber() }
    let ruleset = clinux_landlock_begin(version)
    guard ruleset >= 0 else { throw SystemNumber() }
    defer { close(ruleset) }
    for (path, access) in rules {
      let kind =
        switch access {
        case .list: CLINUX_LIST
        case .read: CLINUX_READ
        case .run: CLINUX_RUN
        case .write: CLINUX_WRITE
        }
      guard clinux_landlock_allow(ruleset, version, path, kind) == 0 || errno == ENOENT || errno == EACCES else {
        throw SystemNumber()
      }
    }
    guard clinux_landlock_enter(ruleset) == 0 else { throw SystemNumber() }
  }
}
