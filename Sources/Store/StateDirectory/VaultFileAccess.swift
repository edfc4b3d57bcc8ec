import CLinux
import Glibc
import ProcessIO
import Vault

extension StateDirectory {
  /// The largest vault file, bytes: two hundred slots fit.
  public static let vaultSizeLimit = 65_536

  /// Reads the bytes of the vault, 1 to `vaultSizeLimit`.
  public func readVault() throws(StateDirectoryError) -> [UInt8] {
    let file = open(vaultPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      guard errno == ENOENT else { throw .system("read", vaultPath) }
      guard try isStoreThere else {
        throw StateDirectoryError(
          .noVault, "there is no vault \(vaultPath)", hint: "make one", with: ["liquid-auth", "setup"])
      }
      throw StateDirectoryError(
        .noVault, "there is no vault \(vaultPath), but its store is there",
        hint: "put the vault back, or make a new one from shares with liquid-auth recover --shares, or from the phrase",
        with: ["liquid-auth", "init", "--import"])
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system("read", vaultPath) }
    try Privacy.check(status, vaultPath, type: S_IFREG, mode: "600")
    guard let bytes = Descriptor.read(file, atMost: Self.vaultSizeLimit) else { throw .system("read", vaultPath) }
    guard (1...Self.vaultSizeLimit).contains(bytes.count) else {
      throw fault(.damaged(bytes.isEmpty ? "it is empty" : "it is too large"))
    }
    return bytes
  }

  /// Writes a new vault, durably; if one exists, throws and leaves it unchanged.
  @discardableResult
  public func createVault(_ bytes: [UInt8]) throws(StateDirectoryError) -> ChangeWarning? {
    try writeVault(bytes, replacing: false)
  }

  /// Replaces the vault, durably: a crash at any moment leaves the old one or the new one, whole.
  @discardableResult
  public func replaceVault(_ bytes: [UInt8]) throws(StateDirectoryError) -> ChangeWarning? {
    try writeVault(bytes, replacing: true)
  }

  /// Temporary file, fsync, rename, fsync of the directory.
  ///
  /// The caller holds the lock, so an existing `vault.new` was left by a crash.
  ///
  /// - Throws: only before the rename. After it the change is done, and every program sees it.
  private func writeVault(_ bytes: [UInt8], replacing: Bool) throws(StateDirectoryError) -> ChangeWarning? {
    try checkIdentity()
    try checkRoom(for: "this change", in: bytes)
    let new = vaultPath + ".new"
    guard unlink(new) == 0 || errno == ENOENT else { throw .system("remove", new) }
    do throws(StateDirectoryError) {
      try Self.writeDurably(bytes, to: new)
      guard (replacing ? rename(new, vaultPath) : clinux_rename_new(new, vaultPath)) == 0 else {
        guard errno == EEXIST else { throw .system("write", vaultPath) }
        throw StateDirectoryError(
          .exists, "there is a vault already, \(vaultPath)",
          hint: "it is not overwritten: move it away, or give --state-dir DIR")
      }
    } catch {
      unlink(new)
      throw error
    }
    do throws(StateDirectoryError) { try synchronise() } catch { return ChangeWarning(unsynchronised: error) }
    return nil
  }

  /// Checks that a vault can be read again after it is written.
  ///
  /// - Parameters:
  ///   - addition: what has no room if it cannot.
  ///   - bytes: the vault.
  /// - Throws: `unchanged` for more than `vaultSizeLimit` bytes.
  func checkRoom(for addition: String, in bytes: [UInt8]) throws(StateDirectoryError) {
    guard bytes.count <= Self.vaultSizeLimit else {
      throw StateDirectoryError(
        .unchanged, "the vault has no space for \(addition)", hint: "remove a slot",
        with: ["liquid-auth", "vault", "remove"])
    }
  }

  private static func writeDurably(_ bytes: [UInt8], to path: String) throws(StateDirectoryError) {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw .system("write", path) }
    defer { close(file) }
    guard Descriptor.write(bytes, to: file), fsync(file) == 0 else { throw .system("write", path) }
  }

  func synchronise() throws(StateDirectoryError) {
    let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw .system("open", path) }
    defer { close(directory) }
    guard fsync(directory) == 0 else { throw .system("write", path) }
  }
}

/// What is wrong after a change that is done.
public struct ChangeWarning: Sendable, Equatable, CustomStringConvertible {
  /// Lower case, no full stop: what happened, then what to do.
  public let description: String

  /// The directory could not be synchronised.
  init(unsynchronised error: StateDirectoryError) {
    description = "the change is done, but a power failure can still undo it: \(error.reason); check the disk"
  }

  /// The stores could not be renamed.
  init(unsettled error: StateDirectoryError) {
    description =
      "the change is done, but a store gets its name only when the vault is unlocked: \(error.reason); check the disk"
  }
}

/// Identifies one state of a file; replacing the file, writing to it or renaming it changes the stamp.
public struct FileStamp: Equatable, Sendable {
  /// The device, the inode, the size, and the time of the last write, which a program can set.
  private let content: [Int64]
  /// The time of the last change of the inode, which no program can set.
  private let change: [Int64]

  /// - Returns: `nil` if there is no file.
  public init?(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The stamp of an open file, also if it has another name now, or none.
  public init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat) {
    content = [
      Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size),
      Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec),
    ]
    change = [Int64(status.st_ctim.tv_sec), Int64(status.st_ctim.tv_nsec)]
  }

  /// Whether this is the file of the other stamp, which may have got another name since: that changes the time of its inode.
  public func isFile(of other: FileStamp) -> Bool { content == other.content }
}
