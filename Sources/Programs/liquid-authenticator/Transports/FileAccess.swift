import CLinux
import Glibc
import ProcessIO

/// Who may read and write a file: its owner, its group, everybody, and the entries of its access control list.
struct FileAccess: Equatable, CustomStringConvertible {
  /// A user or group with access, or everybody.
  enum Holder: Hashable {
    case user(uid_t)
    case group(gid_t)
    case everybody
  }

  let holders: [Holder]

  /// Reads the permissions of a file; `nil` if that fails.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    var list = [UInt8](repeating: 0, count: 4096)
    let count = getxattr(path, "system.posix_acl_access", &list, list.count)
    self.init(
      owner: status.st_uid, group: status.st_gid, mode: status.st_mode,
      list: count > 0 ? Array(list.prefix(count)) : nil)
  }

  /// - Parameter list: the `system.posix_acl_access` attribute: version 2, then entries of tag, permissions and id.
  init(owner: uid_t, group: gid_t, mode: mode_t, list: [UInt8]?) {
    var holders: [Holder] = []
    let entries = list.flatMap(Self.entries) ?? Self.entries(of: mode)
    // The mask limits all entries except those of the owner and of others.
    let mask = entries.first { $0.tag == .mask }?.permissions ?? 7
    for entry in entries {
      let isMasked = entry.tag == .user || entry.tag == .owningGroup || entry.tag == .group
      guard entry.permissions & (isMasked ? mask : 7) & 6 == 6 else { continue }
      switch entry.tag {
      case .owner: holders.append(.user(owner))
      case .user: holders.append(.user(entry.id))
      case .owningGroup: holders.append(.group(group))
      case .group: holders.append(.group(entry.id))
      case .others: holders.append(.everybody)
      case .mask: break
      }
    }
    self.holders = holders.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  private enum Tag: UInt16 {
    case owner = 0x01
    case user = 0x02
    case owningGroup = 0x04
    case group = 0x08
    case mask = 0x10
    case others = 0x20
  }

  private typealias Entry = (tag: Tag, permissions: UInt16, id: UInt32)

  private static func entries(of mode: mode_t) -> [Entry] {
    [
      (.owner, UInt16(mode >> 6 & 7), 0), (.owningGroup, UInt16(mode >> 3 & 7), 0), (.others, UInt16(mode & 7), 0),
    ]
  }

  private static func entries(_ list: [UInt8]) -> [Entry]? {
    guard list.count >= 4, list[0] == 2, list.count % 8 == 4 else { return nil }
    return stride(from: 4, to: list.count, by: 8).compactMap { start in
      let number = { (range: Range<Int>) in range.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32(list[start + $1]) } }
      return Tag(rawValue: UInt16(number(0..<2))).map { ($0, UInt16(number(2..<4)), number(4..<8)) }
    }
  }

  /// For example `root, alice and the group plugdev`.
  var description: String {
    let names = holders.map { holder in
      switch holder {
      case .user(UserNamespace.unmapped) where UserNamespace.root != 0: "a user outside this namespace, perhaps root"
      case .user(let id): Self.userName(id)
      case .group(let id): "the group " + Self.groupName(id)
      case .everybody: "everybody"
      }
    }
    guard let last = names.last else { return "nobody" }
    return names.count == 1 ? last : names.dropLast().joined(separator: ", ") + " and " + last
  }

  private static func userName(_ id: uid_t) -> String {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 4096)
    return buffer.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress, getpwuid_r(id, &entry, start, buffer.count, &found) == 0, found != nil
      else { return "user \(id)" }
      return String(cString: entry.pw_name)
    }
  }

  private static func groupName(_ id: gid_t) -> String {
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: 16384)
    return buffer.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress, getgrgid_r(id, &entry, start, buffer.count, &found) == 0, found != nil
      else { return "\(id)" }
      return String(cString: entry.gr_name)
    }
  }
}
