package import Glibc

/// Tells a file or a directory from another one that gets its name later.
public struct FileIdentity: Equatable, Sendable {
  private let device: UInt64
  private let inode: UInt64

  package init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }
}
