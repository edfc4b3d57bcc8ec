import CredentialDB
import CryptoPrimitives
import Foundation
import Recovery
import StateDirectory
import Testing

@Suite struct ScratchStoreTests {
  private let temporary: TemporaryDirectory
  private let directory: StateDirectory
  private let keys = CredentialKeys(mainKey: SecretBytes.random(count: 64))

  init() throws {
    temporary = try TemporaryDirectory()
    directory = try StateDirectory(creating: temporary.path + "/state")
  }

  // Holds: BACKUP-9
  @Test func `the store is in its own directory, and both are removed`() throws {
    let lock = try directory.lock()
    defer { withExtendedLifetime(lock) {} }
    for _ in 0..<2 {
      let mode = try directory.withScratchStore(keys: keys) { (store) throws(RecoveryError) in
        try store.setLargeBlobArray([1])
        return (try? temporary.mode(of: "state/check"), try? temporary.mode(of: "state/check/credentials.sqlite"))
      }
      #expect(mode.0 == 0o700 && mode.1 == 0o600)
      #expect(!FileManager.default.fileExists(atPath: directory.scratchPath))
    }
  }

  // Holds: BACKUP-9
  @Test func `both are removed if the work fails, too, and what was left before`() throws {
    _ = try StateDirectory(creating: directory.scratchPath)
    for name in ["credentials.sqlite", "credentials.sqlite-wal", "credentials.sqlite.new", "daemon.lock"] {
      try temporary.write(Array("left by a crash".utf8), to: "state/check/\(name)")
    }
    let error = #expect(throws: StateDirectoryError.self) {
      try directory.withScratchStore(keys: keys) { (store) throws(RecoveryError) in
        guard try store.credentialCount() == 0 else { return }
        throw RecoveryError(.full, "the reason")
      }
    }
    #expect(error?.kind == .unusableStore && error?.description == "the reason")
    #expect(!FileManager.default.fileExists(atPath: directory.scratchPath))
  }

  // Holds: BACKUP-9
  @Test func `a second check at the same time is refused, and the first goes on`() throws {
    try directory.withScratchStore(keys: keys) { (store) throws(RecoveryError) in
      let error = #expect(throws: StateDirectoryError.self) {
        try directory.withScratchStore(keys: keys) { _ throws(RecoveryError) in }
      }
      #expect(
        error?.description
          == "another backup check uses \(directory.scratchPath); wait until it has ended")
      try store.setLargeBlobArray([1])
    }
  }
}
