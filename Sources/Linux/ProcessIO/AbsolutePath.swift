import Glibc

/// Makes a relative path of the command line absolute: messages repeat it, and their reader can be in another directory.
///
/// Returns the path unchanged if it is absolute or empty, or if the working directory has no path of UTF-8.
package func absolutePath(_ path: String) -> String {
  guard !path.isEmpty, !path.hasPrefix("/"), let bytes = getcwd(nil, 0) else { return path }
  defer { free(bytes) }
  return String(validatingCString: bytes).map { absolutePath(path, in: $0) } ?? path
}

/// The same for a relative path in a directory, whose path is absolute; links are not followed.
func absolutePath(_ path: String, in directory: String) -> String {
  let names = (directory + "/" + path).split(separator: "/").filter { $0 != "." }
  return "/" + names.joined(separator: "/")
}
