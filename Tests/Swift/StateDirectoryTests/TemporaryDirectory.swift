import Foundation

/// A temporary directory, removed when the object is released.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/liquid-auth-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ bytes: [UInt8], to name: String, mode: Int = 0o600) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    try set(mode: mode, of: name)
  }

  func set(mode: Int, of name: String = "") throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(path)/\(name)")
  }

  func mode(of name: String = "") throws -> Int? {
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
    return (attributes[.posixPermissions] as? NSNumber)?.intValue
  }

  func bytes(of name: String) -> [UInt8]? { FileManager.default.contents(atPath: "\(path)/\(name)").map { Array($0) } }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
