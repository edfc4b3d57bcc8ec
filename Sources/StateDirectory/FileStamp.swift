import Glibc

/// Tells a file from one that was put in its place, or written to, since.
public struct FileStamp: Equatable, Sendable {
  private let numbers: [Int64]

  /// - Returns: `nil` where there is no file.
  public init?(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    numbers = [
      Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size),
      Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec),
    ]
  }
}
