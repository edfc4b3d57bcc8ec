import CLinux
import CryptoPrimitives
import Glibc
import ProcessIO
import StateDirectory

/// A file that the user names.
struct NamedFile {
  /// The largest file that is read as the content of a large blob, bytes: compressed it must still fit.
  static let largestBlob = 1 << 20

  private let path: String
  /// The name of the temporary file in the same directory.
  ///
  /// It is short and fixed, because the name of the file may already have the greatest length.
  private let temporaryName: String

  init(_ path: String, temporaryName: String = ".liquid-auth.new") {
    (self.path, self.temporaryName) = (path, temporaryName)
  }

  /// Reads a whole file.
  ///
  /// - Parameter isSecret: whether the result must be the only copy of the bytes that stays in memory.
  /// - Throws: a failure for a file that cannot be read, or has more bytes than `limit`.
  func read(atMost limit: Int, isSecret: Bool = false) throws(CommandFailure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open") }
    defer { close(descriptor) }
    let content =
      isSecret
      ? Descriptor.readSecret(descriptor, atMost: limit) : Descriptor.read(descriptor, atMost: limit)
    guard var bytes = content else { throw failure("read") }
    guard bytes.count > limit else { return bytes }
    wipe(&bytes)
    throw CommandFailure("\(path) has more than \(limit) bytes; nothing was changed")
  }

  /// Makes a file that only its owner can access, durably: it may be the only copy that is left.
  ///
  /// It gets its name when it is complete, as a ``NewSecretFile`` does.
  ///
  /// - Throws: a failure if the file exists, which stays unchanged, or cannot be written.
  func create(_ bytes: [UInt8]) throws(CommandFailure) {
    let file = try NewSecretFile(path)
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(CommandFailure) in try file.finish(with: bytes) }
    }.get()
  }

  /// Throws if there is a file of this name already.
  func checkNew() throws(CommandFailure) {
    guard try stamp() == nil else { throw exists }
  }

  /// Throws if the permissions of the directory do not let this user make or replace the file.
  func checkWritable() throws(CommandFailure) {
    guard access(directory, W_OK | X_OK) == 0 else { throw failure("write") }
  }

  /// The present state of the file; `nil` if there is none.
  ///
  /// - Throws: a failure for anything but a regular file, such as a directory or a symbolic link.
  func stamp() throws(CommandFailure) -> FileStamp? {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      guard errno == ENOENT else { throw failure("read") }
      return nil
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return FileStamp(path)
    case S_IFLNK: throw CommandFailure("\(path) is a symbolic link; name its target")
    case S_IFDIR: throw CommandFailure("\(path) is a directory; name a file in it")
    default: throw CommandFailure("\(path) is not a regular file; name another file")
    }
  }

  /// Makes the file, or replaces it if it is still as it was; only its owner can access it.
  ///
  /// It is written durably: after a crash, the old file or the new one is there, whole. The bytes go to a temporary file in
  /// the same directory first. A file that a crash has left is used again; if another process writes it, this fails.
  ///
  /// - Parameter stamp: what ``stamp()`` has returned; `nil` makes a file.
  /// - Returns: the stamp of the new file, also if another program has put one in its place since.
  /// - Throws: a failure also if the new file is written, and another program had put a file in the place of the old one
  ///   meanwhile: that one gets another name.
  @discardableResult
  func replace(_ stamp: FileStamp?, with bytes: [UInt8]) throws(CommandFailure) -> FileStamp {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(CommandFailure) in try replace(stamp, with: bytes) }
    }.get()
  }

  /// As ``replace(_:with:)`` for an array.
  @discardableResult
  func replace(_ stamp: FileStamp?, with bytes: UnsafeRawBufferPointer) throws(CommandFailure) -> FileStamp {
    let new = NamedFile("\(directory)\(temporaryName)")
    guard new.path != path, path != temporaryName else {
      throw CommandFailure("\(path) is the name of a temporary file; name another file")
    }
    let descriptor = try new.lockedDescriptor(toWrite: path)
    defer { close(descriptor) }
    guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0, Descriptor.write(bytes, to: descriptor),
      fsync(descriptor) == 0
    else {
      let failure = failure("write")
      unlink(new.path)
      throw failure
    }
    guard try self.stamp() == stamp else {
      unlink(new.path)
      throw wasChanged
    }
    if let stamp {
      try new.takePlace(of: self, stamp)
    } else if new.renameToNew(path) != 0 {
      let failure = errno == EEXIST ? wasChanged : failure("write")
      unlink(new.path)
      throw failure
    }
    guard syncDirectory() else { throw unsynced }
    guard let written = FileStamp(descriptor: descriptor) else { throw failure("read") }
    return written
  }

  /// Gives this file the name of another one, which is removed if it is still the one with this stamp.
  ///
  /// Another program can put a file there at any moment. So the names are exchanged in one step, and what had the name is
  /// compared afterwards. NFS, sshfs and other file systems cannot exchange names: there, a file that comes between the
  /// comparison before and the rename is lost.
  func takePlace(of file: NamedFile, _ stamp: FileStamp) throws(CommandFailure) {
    if clinux_rename_exchange(path, file.path) != 0 {
      if errno == EINVAL || errno == ENOSYS, rename(path, file.path) == 0 { return }
      let failure = errno == ENOENT ? file.wasChanged : file.failure("write")
      unlink(path)
      throw failure
    }
    guard let replaced = FileStamp(path), !replaced.isFile(of: stamp) else {
      _ = file.syncDirectory()
      unlink(path)
      return
    }
    let kept = "\(directory)kept-\(randomBytes(8).hexadecimal).liquid"
    let isKept = renameToNew(kept) == 0
    _ = file.syncDirectory()
    throw CommandFailure(
      "\(file.path) is written, but another program had put a file there meanwhile; that file is now "
        + "\(isKept ? kept : path): keep it, and run the command again")
  }

  /// The failure after the file is written, if its name is not durable; the reason is in `errno`.
  var unsynced: CommandFailure {
    CommandFailure("\(path) is written, but a power failure can undo that: \(SystemNumber())")
  }

  /// The failure for a file that is not overwritten.
  var exists: CommandFailure {
    CommandFailure("\(path) exists already and is not overwritten; name another file")
  }

  /// The failure for a file that another program changes.
  var wasChanged: CommandFailure {
    CommandFailure("\(path) was changed while the command ran, and is not replaced; run it again")
  }

  /// Renames the file if there is no other one of this name; sets `errno` on failure.
  func renameToNew(_ name: String) -> Int32 {
    let result = clinux_rename_new(path, name)
    // NFS, sshfs and other file systems cannot do this in one call.
    guard result != 0, errno == EINVAL || errno == ENOSYS else { return result }
    if link(path, name) == 0 { return unlink(path) }
    // A file system without hard links: a moment ago there was no file of this name.
    return errno == EEXIST ? -1 : rename(path, name)
  }

  /// Makes or opens the temporary file of another one, and locks it until it is closed.
  private func lockedDescriptor(toWrite file: String) throws(CommandFailure) -> Int32 {
    let notRegular = CommandFailure("\(path) is not a regular file, or has a second hard link; remove it")
    while true {
      let descriptor = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        if [ELOOP, EISDIR, ENXIO].contains(errno) { throw notRegular }
        let failure = NamedFile(file).failure("write")
        // What another user has left.
        guard errno == EACCES || errno == EPERM, access(path, F_OK) == 0 else { throw failure }
        throw CommandFailure("cannot write \(path), a temporary file; remove it")
      }
      var (opened, named) = (stat(), stat())
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let failure =
          errno == EWOULDBLOCK
          ? CommandFailure("another process is writing \(path); run the command again when it has ended")
          : failure("lock")
        close(descriptor)
        throw failure
      }
      let isRegular = fstat(descriptor, &opened) == 0 && opened.st_mode & S_IFMT == S_IFREG
      if isRegular, opened.st_nlink > 1, lstat(file, &named) == 0, named.st_ino == opened.st_ino,
        named.st_dev == opened.st_dev
      {
        // A crash between link(2) and unlink(2): the file has both names.
        close(descriptor)
        unlink(path)
        continue
      }
      guard isRegular, opened.st_nlink <= 1 else {
        close(descriptor)
        throw notRegular
      }
      if lstat(path, &named) == 0, named.st_ino == opened.st_ino, named.st_dev == opened.st_dev { return descriptor }
      // Another process has renamed it before it was locked here.
      close(descriptor)
    }
  }

  private var nameStart: String.Index { path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex }
  /// With the slash at its end.
  var directory: String { nameStart == path.startIndex ? "./" : String(path[..<nameStart]) }

  /// Makes the file's name as durable as its bytes; returns `false` and sets `errno` on failure.
  func syncDirectory() -> Bool {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // FAT, which USB sticks often have, cannot do this (EINVAL).
    return fsync(descriptor) == 0 || errno == EINVAL
  }

  /// The failure of an operation on the file; the reason is in `errno`.
  func failure(_ operation: String) -> CommandFailure {
    CommandFailure("cannot \(operation) \(path): \(SystemNumber())")
  }
}
