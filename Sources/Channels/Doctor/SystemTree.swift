import CLinux
import Glibc
import ProcessIO

/// The files of a system, under a root directory.
package struct SystemTree {
  /// Without a slash at the end; empty for this system.
  private let root: String

  package init(root: String) { self.root = root.hasSuffix("/") ? String(root.dropLast()) : root }

  /// The attributes of a file, following links; `nil` if there is none.
  func attributes(_ path: String) -> stat? {
    var found = stat()
    return stat(root + resolved(path), &found) == 0 ? found : nil
  }

  func exists(_ path: String) -> Bool { attributes(path) != nil }

  func isDirectory(_ path: String) -> Bool { attributes(path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }

  /// Calls access(2).
  func allows(_ path: String, _ mode: Int32) -> Bool { access(root + resolved(path), mode) == 0 }

  /// Whether an ACL gives rights to further users or groups.
  func hasACL(_ path: String) -> Bool { clinux_has_acl(root + resolved(path)) != 0 }

  /// The bytes of a regular file; `nil` for any other, or one with more than `limit` bytes.
  func bytes(_ path: String, atMost limit: Int = 1 << 20) -> [UInt8]? {
    let descriptor = open(root + resolved(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var found = stat()
    guard fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG,
      let bytes = Descriptor.read(descriptor, atMost: limit), bytes.count <= limit
    else { return nil }
    return bytes
  }

  /// The lines of a text file; none if it cannot be read.
  func lines(_ path: String, atMost limit: Int = 1 << 20) -> [String] {
    (bytes(path, atMost: limit) ?? []).split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// The names in a directory, sorted; none if it cannot be read.
  func names(_ path: String) -> [String] {
    guard let directory = opendir(root + resolved(path)) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
        String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// The path after all links at its end; an absolute link is one under the root.
  func resolved(_ path: String) -> String {
    var path = path
    // As many as the kernel follows.
    for _ in 0..<40 {
      var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
      let count = readlink(root + path, &buffer, buffer.count)
      guard count > 0 else { return path }
      let target = String(decoding: buffer.prefix(count), as: UTF8.self)
      let parent = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
      path = target.hasPrefix("/") ? target : parent + target
    }
    return path
  }
}
