import Glibc

/// What to do about a file that the system could not read or write.
public enum FileRemedy {
  /// - Parameter number: an error number of the system.
  /// - Returns: lower case, no full stop; `nil` if the reason says it all.
  public static func text(_ number: Int32) -> String? {
    switch number {
    case EIO, ENXIO, EUCLEAN: "check the disk and try again"
    case ENOSPC, EDQUOT: "free some space and try again"
    case EFBIG: "raise the limit on the size of files (ulimit -f) and try again"
    case EROFS: "make the file system writable and try again"
    case ELOOP: "put the file itself in the place of the symbolic link"
    case ENOTDIR, EISDIR: "move away what has this name"
    case EACCES, EPERM: "check the permissions of the file and of its directory"
    case EMFILE, ENFILE, ENOMEM: "end other programs and try again"
    default: nil
    }
  }
}
