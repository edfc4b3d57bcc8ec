import CLinux
import Glibc
import ProcessIO

/// A new file, also with unencrypted secrets, which only its owner can access.
///
/// It gets its name when it is complete. Until then it has none (O_TMPFILE), so that nothing of it stays if the command ends
/// early, or is killed. On a file system without such files, such as FAT, ``NamedFile/replace(_:with:)`` uses a temporary
/// file.
final class NewSecretFile {
  private let path: String
  /// `nil` where the file system has only files with names.
  private let descriptor: Int32?

  /// Begins the file.
  ///
  /// - Throws: a failure if there is a file of this name already, or if none can be made in its directory.
  init(_ path: String) throws(CommandFailure) {
    let file = NamedFile(path)
    try file.checkNew()
    let descriptor = clinux_unnamed_file(file.directory)
    guard descriptor >= 0 || [EOPNOTSUPP, EISDIR, EINVAL].contains(errno) else { throw file.failure("create") }
    self.path = path
    self.descriptor = descriptor >= 0 ? descriptor : nil
  }

  deinit { if let descriptor { close(descriptor) } }

  /// Writes the whole file, durably, and gives it its name.
  ///
  /// - Throws: a failure if there is a file of this name now, which stays unchanged, or if the file cannot be written.
  func finish(with bytes: UnsafeRawBufferPointer) throws(CommandFailure) {
    let file = NamedFile(path)
    guard let descriptor else {
      try file.replace(nil, with: bytes)
      return
    }
    guard Descriptor.write(bytes, to: descriptor), fsync(descriptor) == 0 else { throw file.failure("write") }
    guard clinux_name_file(descriptor, path) == 0 else { throw errno == EEXIST ? file.exists : file.failure("create") }
    guard file.syncDirectory() else { throw file.unsynced }
  }
}
