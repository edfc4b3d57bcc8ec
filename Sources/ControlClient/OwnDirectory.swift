import Glibc

/// Where this program lies, and others of ours beside it.
public enum OwnDirectory {
  /// The path of the program of that name beside this one; `nil` where the system does not say where this one is.
  public static func path(of program: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    guard count > 0 else { return nil }
    let own = String(decoding: buffer.prefix(count), as: UTF8.self)
    return own.lastIndex(of: "/").map { own[...$0] + program }
  }
}
