import CredentialDB
import CryptoPrimitives
import Foundation
import Recovery

/// A temporary directory for one test, removed with the value.
final class TemporaryDirectory {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String = "credentials.sqlite") -> String { url.appending(path: name).path(percentEncoded: false) }

  func bytes(_ name: String = "credentials.sqlite") throws -> [UInt8] {
    try [UInt8](Data(contentsOf: url.appending(path: name)))
  }

  func write(_ bytes: [UInt8], _ name: String = "credentials.sqlite") throws {
    try Data(bytes).write(to: url.appending(path: name))
  }

  /// Changes one byte in place.
  func patch(_ offset: Int, _ byte: UInt8, _ name: String = "credentials.sqlite") throws {
    let file = try FileHandle(forWritingTo: url.appending(path: name))
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: [byte])
    try file.close()
  }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false)).sorted() }
  }
}

/// The keys and ids of every store in these tests.
enum Given {
  static let storeID: [UInt8] = Array(0xa0...0xaf)
  static let keys = CredentialKeys(
    mainKey: SecretBytes(count: 64) { $0.initializeMemory(as: UInt8.self, repeating: 7) })
  static let otherKeys = CredentialKeys(
    mainKey: SecretBytes(count: 64) { $0.initializeMemory(as: UInt8.self, repeating: 8) })
  static let state = StoreState(storeID: storeID)
  /// The SQL that turns tables of version 3 into those of version 2.
  static let withoutHistory = "DROP TABLE history; DROP TABLE historyHead"

  /// A credential of "site-N.example" for "user-M".
  static func source(
    site: Int = 1, user: Int = 1, counter: UInt32 = 0, name: String? = nil, id: [UInt8]? = nil, changed: UInt64 = 10
  ) throws -> CredentialSource {
    let source = CredentialSource(
      rpID: "site-\(site).example", userID: Array("user-\(user)".utf8), name: name,
      id: id ?? SHA256.hash(Array("\(site) \(user) \(counter)".utf8)), algorithm: .es256, counter: counter, created: 10,
      changed: changed, origin: .registered)
    guard let source else { throw CocoaError(.coderInvalidValue) }
    return source
  }

  static func rp(_ site: Int) -> RPIDHash { RPIDHash(rpID: "site-\(site).example") }
}

extension CredentialDB {
  static func open(
    _ directory: TemporaryDirectory, _ name: String = "credentials.sqlite", keys: CredentialKeys = Given.keys,
    storeID: [UInt8] = Given.storeID, rows: RowRule = .asTheyWereLeft
  ) throws(RecoveryError) -> CredentialDB {
    try CredentialDB(
      opening: directory.path(name), vaultPath: directory.path("vault"), keys: keys, storeID: storeID, rows: rows)
  }
}
