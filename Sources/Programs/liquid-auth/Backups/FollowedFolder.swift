import CLinux
import Glibc
import ProcessIO
import Recovery
import StateDirectory

/// A folder of backups that is open for one pass.
///
/// Every file is opened through the descriptor of the folder, so that a file system that is mounted or unmounted meanwhile
/// cannot put another folder in its place.
final class FollowedFolder {
  /// Why a file or the folder cannot be read or written.
  struct Fault: Error, Equatable {
    enum Kind {
      /// It stays until the file is another one.
      case lasting
      /// It can pass without a change of the folder: the file is in use, or a server does not answer.
      case passing
      /// The folder is missing.
      case absent
    }

    let reason: String
    var kind = Kind.lasting
  }

  /// The most names of backups of the phrase in a listing, and the most of other files.
  static let maximumNames = 10_000

  let path: String
  private let descriptor: Int32

  /// - Throws: a fault if the folder is missing, or cannot be opened.
  init(_ path: String) throws(Fault) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      let (number, isAbsent) = (SystemNumber(), [ENOENT, ENOTDIR, ELOOP].contains(errno))
      throw isAbsent
        ? Fault(reason: "\(path) does not exist", kind: .absent)
        : Fault(reason: "cannot open \(path): \(number)", kind: .passing)
    }
  }

  deinit { close(descriptor) }

  /// The path of the folder through its descriptor.
  private var root: String { "/proc/self/fd/\(descriptor)/" }

  /// The names of backups, and the stamp of each.
  ///
  /// - Parameters:
  ///   - fingerprint: the fingerprint of the phrase, whose backups other files do not keep out.
  ///   - limit: the most names of backups of the phrase, and the most of other files.
  /// - Returns: the listing, and whether it has all names.
  func list(
    of fingerprint: [UInt8], atMost limit: Int = FollowedFolder.maximumNames
  ) throws(Fault) -> (files: [String: FileStamp], isWhole: Bool) {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = fdopendir(copy) else {
      let fault = Fault(reason: "cannot read \(path): \(SystemNumber())", kind: .passing)
      if copy >= 0 { close(copy) }
      throw fault
    }
    defer { closedir(stream) }
    var (listing, isWhole): ([String: FileStamp], Bool) = ([:], true)
    var (backups, others) = (0, 0)
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        guard errno == 0 else { throw Fault(reason: "cannot read \(path): \(SystemNumber())", kind: .passing) }
        return (listing, isWhole)
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
      }
      guard let name, FollowedFiles.isBackup(name) else { continue }
      let isOfPhrase = FollowedFiles.isBackup(name, of: fingerprint)
      guard (isOfPhrase ? backups : others) < limit else {
        isWhole = false
        continue
      }
      guard let stamp = FileStamp(root + name) else { continue }
      listing[name] = stamp
      if isOfPhrase { backups += 1 } else { others += 1 }
    }
  }

  /// Reads a file; does not follow a symbolic link, and does not wait for a program that writes to a FIFO.
  ///
  /// - Parameter orEmpty: whether the file may be empty.
  /// - Returns: `nil` if the file is gone.
  func read(_ name: String, orEmpty: Bool = false) throws(Fault) -> [UInt8]? {
    let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw errno == ELOOP
        ? Fault(reason: "it is a symbolic link")
        : Fault(reason: "it cannot be opened: \(SystemNumber())", kind: .passing)
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Fault(reason: "it is not a regular file")
    }
    guard status.st_size <= BackupFile.maximumSize, let bytes = Descriptor.read(file, atMost: BackupFile.maximumSize)
    else {
      throw status.st_size > BackupFile.maximumSize
        ? Fault(reason: "it has more than 64 MiB")
        : Fault(reason: "it cannot be read: \(SystemNumber())", kind: .passing)
    }
    guard bytes.count <= BackupFile.maximumSize else { throw Fault(reason: "it has more than 64 MiB") }
    guard orEmpty || !bytes.isEmpty else { throw Fault(reason: "it is empty") }
    return bytes
  }

  func stamp(_ name: String) -> FileStamp? { FileStamp(root + name) }

  /// Makes or replaces a file that has not changed meanwhile, as ``NamedFile/replace(_:with:)`` does.
  @discardableResult
  func replace(_ name: String, _ stamp: FileStamp?, with bytes: [UInt8]) throws(Fault) -> FileStamp {
    let temporary = ".\(name).new"
    do throws(CommandFailure) {
      return try NamedFile(root + name, temporaryName: temporary).replace(stamp, with: bytes)
    } catch {
      throw named(error.description)
    }
  }

  /// Renames a file that has not changed meanwhile, so that its content stays in the folder.
  ///
  /// - Returns: whether the file was renamed; if not, a file with this name and this content exists, and the file stays.
  func setAside(_ name: String, _ stamp: FileStamp?, as kept: String, digest: [UInt8]) throws(Fault) -> Bool {
    guard self.stamp(name) == stamp else { throw Fault(reason: "another program is changing \(path)/\(name)") }
    let isRenamed = NamedFile(root + name).renameToNew(root + kept) == 0
    if !isRenamed {
      let number = SystemNumber()
      // The same content was set aside before.
      guard let present = try read(kept), BackupFile.digest(of: present) == digest else {
        throw Fault(reason: "cannot rename \(path)/\(name) to \(kept): \(number)")
      }
    }
    // Before the file is replaced, its other name must be as durable; FAT cannot do this (EINVAL).
    guard fsync(descriptor) == 0 || errno == EINVAL else {
      throw Fault(reason: "cannot write \(path): \(SystemNumber())", kind: .passing)
    }
    return isRenamed
  }

  private func named(_ reason: String) -> Fault {
    Fault(reason: reason.replacing(root, with: path.hasSuffix("/") ? path : path + "/"))
  }
}
