import CredentialDB
import CryptoPrimitives
import Recovery
import StateDirectory

/// Backups of whole stores: size, and the time to make, merge and check one, in this process.
struct Backups {
  let stores: [StoredPasskeys]

  func measure() throws {
    let columns = try stores.map { try Column(of: $0) }
    var table = Growth(stores.map(\.count))
    table.add("size of the file", columns.map { UInt64($0.file.count) }) { Text.decimal(Double($0) / 1000, 1) + " kB" }
    table.add("making it", columns.map(\.making))
    table.add("merging it, without changes", columns.map(\.comparing))
    table.add("restoring it into an empty store", columns.map(\.restoring))
    table.add("  the longest turn of that, for which sign-ins wait", columns.map(\.longestTurn), Text.time)
    table.add("checking it: both digests", columns.map(\.checking))
    table.print("Backups.", of: "with so many stored passkeys")
  }

  private struct Column {
    private(set) var file: [UInt8] = []
    private(set) var (making, comparing, restoring, checking) = (Samples(), Samples(), Samples(), Samples())
    private(set) var longestTurn: UInt64 = 0

    init(of stored: StoredPasskeys) throws {
      let (keys, times) = (stored.key.keys, stored.count > 10_000 ? 1 : 5)
      let store = try stored.key.open().store
      for _ in 0..<times {
        file = try making.measure {
          try BackupWriter.file(of: store, keys: keys, nonce: randomBytes(XChaCha20Poly1305.nonceSize)).file
        }
        let report = try comparing.measure {
          try BackupMerge(BackupReader(file: file, keys: keys), now: 2).run(on: store)
        }
        guard report.same == stored.count else { throw BenchmarkError("another number of passkeys") }
        try stored.key.directory.withScratchStore(keys: keys) { (empty) throws(RecoveryError) in
          try restore(keys, into: empty)
          let digests = StoreDigests(keys: keys, challenge: randomBytes(StoreDigests.challengeSize))
          try check(store, against: empty, digests)
        }
      }
    }

    private mutating func restore(_ keys: CredentialKeys, into store: CredentialDB) throws(RecoveryError) {
      var turns = Samples()
      try restoring.measure { () throws(RecoveryError) in
        let merge = BackupMerge(try BackupReader(file: file, keys: keys), now: 2)
        while try merge.readPage() {
          try turns.measure { () throws(RecoveryError) in try merge.comparePage(with: store) }
        }
        while try merge.prepareBatch() {
          try turns.measure { () throws(RecoveryError) in try merge.writeBatch(to: store) }
        }
      }
      longestTurn = max(longestTurn, turns.percentile(100))
    }

    private mutating func check(
      _ store: any CredentialStore, against backup: CredentialDB, _ digests: StoreDigests
    ) throws(RecoveryError) {
      let report = try checking.measure { () throws(RecoveryError) in
        try BackupCheckReport(of: digests.digests(of: store), largeBlobs: [], in: backup, digests: digests)
      }
      precondition(report.isComplete && report.passkeys > 0)
    }
  }
}
