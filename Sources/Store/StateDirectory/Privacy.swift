import CLinux
public import Glibc

/// Checks that only the owner has access to the files that we read and write.
public enum Privacy {
  /// Whether users other than the owner may read, write or enter a file.
  public static func isOpenToOthers(_ file: stat, at path: String) -> Bool { othersHave(0o077, to: file, at: path) }

  /// Whether users other than the owner may write a file.
  public static func isWritableByOthers(_ file: stat, at path: String) -> Bool { othersHave(0o022, to: file, at: path) }

  /// Whether others have any of the permissions; those of the owner's private group do not count.
  ///
  /// Debian gives each user such a group, and umask 0002; OpenSSH in Debian judges alike. Users and groups are looked
  /// up only if the result depends on them. With an ACL, the group's permissions are the most that any user named in it
  /// has.
  private static func othersHave(_ permissions: mode_t, to file: stat, at path: String) -> Bool {
    let open = file.st_mode & permissions
    if open & 0o007 != 0 { return true }
    return open & 0o070 != 0 && (clinux_has_acl(path) != 0 || clinux_is_private_group(file.st_gid, file.st_uid) == 0)
  }

  static func check(
    _ status: stat, _ path: String, type: mode_t, mode: String
  ) throws(StateDirectoryError) {
    guard status.st_mode & S_IFMT == type else {
      let wanted = type == S_IFDIR ? "a directory" : "a regular file"
      throw StateDirectoryError(
        .notPrivate, "\(path) is not \(wanted)",
        hint: "move it away, or give --state-dir DIR")
    }
    guard status.st_uid == geteuid() else {
      throw StateDirectoryError(
        .notPrivate, "\(path) belongs to uid \(status.st_uid), not to you (uid \(geteuid()))",
        hint: "run as its owner, or give --state-dir DIR")
    }
    guard !isOpenToOthers(status, at: path) else {
      let found = String(status.st_mode & 0o7777, radix: 8)
      // Other users need a directory such as /tmp or /etc.
      let isShared = type == S_IFDIR && (status.st_mode & S_ISVTX != 0 || !isOfVault(path))
      let remedy = isShared ? "give --state-dir DIR" : "restrict access with: chmod \(mode) '\(path)'"
      throw StateDirectoryError(
        .notPrivate, "other users can access \(path) (mode \(found))",
        hint: remedy, command: isShared ? nil : ["chmod", mode, path])
    }
  }

  /// Whether a directory has a vault or a store, or nothing yet.
  private static func isOfVault(_ path: String) -> Bool {
    for name in ["vault", "credentials.sqlite"] {
      var status = stat()
      if lstat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG { return true }
    }
    guard let directory = opendir(path) else { return false }
    defer { closedir(directory) }
    var count = 0
    // The directory itself and its parent are always there.
    while readdir(directory) != nil { count += 1 }
    return count <= 2
  }
}
