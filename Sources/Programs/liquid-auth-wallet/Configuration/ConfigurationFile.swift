import Glibc
import ProcessIO
import StateDirectory

extension WalletConfiguration {
  /// The largest file that is read, bytes.
  private static let maximumSize = 65_536

  /// Reads the named file, which must exist, or the one at the default path, which is optional.
  init(readFrom path: String?, environment: (String) -> String?) throws(WalletFailure) {
    let usual = path ?? Self.usualPath(environment)
    guard let usual else {
      self.init(file: "wallet.conf")
      return
    }
    let descriptor = open(usual, O_RDONLY | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT, path == nil {
      self.init(file: usual)
      return
    }
    guard descriptor >= 0 else { throw Self.unreadable(usual) }
    defer { close(descriptor) }
    try self.init(Self.text(of: descriptor, usual), path: usual, home: environment("HOME"))
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.unreadable(usual) }
    if let fault = fault(of: status, user: geteuid()) { throw WalletFailure("\(usual) \(fault) \(usual)") }
  }

  /// `$XDG_CONFIG_HOME/liquid-auth/wallet.conf`; a relative directory is ignored, as the XDG standard requires.
  static func usualPath(_ environment: (String) -> String?) -> String? {
    let home = environment("HOME").map { $0 + "/.config" }
    let directory = environment("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home
    return directory.map { $0 + "/liquid-auth/wallet.conf" }
  }

  private static func text(of descriptor: Int32, _ path: String) throws(WalletFailure) -> String {
    guard let bytes = Descriptor.read(descriptor, atMost: maximumSize) else { throw unreadable(path) }
    guard bytes.count <= maximumSize, let text = String(validating: bytes, as: UTF8.self) else {
      throw WalletFailure("\(path) is not a configuration file: it is not text, or has more than \(maximumSize) bytes")
    }
    return text
  }

  /// The fault of a file with this owner and mode, and the command that fixes it, without the file's name.
  ///
  /// As ssh does: a secret that others can read, or settings that others can write, are refused. Others could name
  /// their own authority and servers.
  func fault(of status: stat, user: uid_t) -> String? {
    if status.st_uid != user, status.st_uid != 0 {
      return "belongs to another user, who can change it; run: sudo chown \(user)"
    }
    if holdsSecret, Privacy.isOpenToOthers(status, at: file) {
      return "has a password or a token, and other users can read it; run: chmod 600"
    }
    if Privacy.isWritableByOthers(status, at: file) {
      return "can be changed by other users; run: chmod go-w"
    }
    return nil
  }

  private static func unreadable(_ path: String) -> WalletFailure {
    WalletFailure("cannot read \(path): \(SystemNumber())")
  }
}
