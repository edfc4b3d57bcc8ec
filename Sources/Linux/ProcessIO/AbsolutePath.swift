import Glibc

/// The longest absolute path that replaces a relative one, bytes.
///
/// A longer one would leave no room in the address of a socket for `/control.sock` in that directory: unix(7).
private let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1 - "/control.sock".utf8.count

/// Makes a relative path of the command line absolute: messages repeat it, and their reader can be in another directory.
///
/// Returns the path unchanged if it is absolute or empty, if the working directory has no path of UTF-8, or if a socket
/// might have no room for the result.
package func absolutePath(_ path: String) -> String {
  guard let first = path.utf8.first, first != UInt8(ascii: "/"), let bytes = getcwd(nil, 0) else { return path }
  defer { free(bytes) }
  return String(validatingCString: bytes).map { absolutePath(path, in: $0) } ?? path
}

/// The same for a relative path in a directory, whose path is absolute; links are not followed.
func absolutePath(_ path: String, in directory: String) -> String {
  let names = (directory + "/" + path).split(separator: "/").filter { $0 != "." }
  let absolute = "/" + names.joined(separator: "/")
  return absolute.utf8.count > longest ? path : absolute
}
