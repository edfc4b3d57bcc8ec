import CSQLite
import CryptoPrimitives
import Testing

@testable import CredentialDB
@testable import Recovery

/// The cost of a store's answers, in steps of SQLite's virtual machine: the same with 600 passkeys as with 12.
@Suite struct `Cost of a store that grows` {
  /// A store of `count` passkeys: a third at the first site, and each other one at its own site.
  private func session(of count: Int, in directory: TemporaryDirectory) throws -> Session {
    try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
    let session = try open(directory)
    try session.durably { () throws(StoreFault) in
      for user in 1...count {
        guard let source = try? Given.source(site: user % 3 == 0 ? 1 : user + 1, user: user) else { return }
        try session.write(source)
      }
    }
    return session
  }

  private func open(_ directory: TemporaryDirectory) throws(StoreFault) -> Session {
    try Session(
      opening: StoreFile(path: directory.path()), keys: Given.keys, storeID: Given.storeID, rows: .asTheyWereLeft)
  }

  /// The number of steps that SQLite runs during `body`.
  private func turns(of session: Session, _ body: () throws -> Void) rethrows -> Int {
    var turns = 0
    try withUnsafeMutablePointer(to: &turns) { pointer in
      let count: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { pointer in
        pointer?.assumingMemoryBound(to: Int.self).pointee += 1
        return 0
      }
      sqlite3_progress_handler(session.connection.handle, 1, count, pointer)
      defer { sqlite3_progress_handler(session.connection.handle, 0, nil, nil) }
      try body()
    }
    return turns
  }

  /// Runs the same with few and with many passkeys, in a newly opened store.
  private func expectEqual(_ what: String, _ body: (Session) throws -> Void) throws {
    let counts = try [12, 600].map { count in
      let directory = try TemporaryDirectory()
      _ = try session(of: count, in: directory)
      let session = try open(directory)
      return try turns(of: session) { try body(session) }
    }
    #expect(counts[0] == counts[1], "\(what)")
  }

  @Test func `the totals are known once the store is open`() throws {
    let directory = try TemporaryDirectory()
    _ = try session(of: 30, in: directory)
    let session = try open(directory)
    var totals = StoreRows.Totals()
    #expect(try turns(of: session) { totals = try session.totals() } == 0)
    #expect(totals == StoreRows.Totals(records: 30, relyingParties: 21))
  }

  @Test func `a registration costs the same at any size`() throws {
    try expectEqual("at a new site") { session in
      let new = try Given.source(site: 5000)
      try session.durably { () throws(StoreFault) in try session.write(new) }
      _ = try session.totals()
    }
    try expectEqual("at a site with many") { session in
      let new = try Given.source(user: 5000)
      try session.durably { () throws(StoreFault) in try session.write(new) }
      _ = try session.totals()
    }
  }

  @Test func `the search for a passkey by id alone stops at its place`() throws {
    for (what, user) in [("the newest", 0), ("the one before it", -1)] {
      let costs = try [12, 600].map { count in
        let directory = try TemporaryDirectory()
        let session = try session(of: count, in: directory)
        let record = try Given.source(site: user == 0 ? 1 : count, user: count + user)
        var found: CredentialSource?
        let cost = try turns(of: session) { found = try session.credentials.record(id: record.id) }
        #expect(found == record, "\(what)")
        return cost
      }
      #expect(costs[0] == costs[1], "\(what)")
    }
  }

  @Test func `a passkey is found by its id and site at the same cost`() throws {
    try expectEqual("one of many at its site") { session in
      let record = try Given.source(user: 3)
      #expect(try session.credentials.record(id: record.id, rpIDHash: Given.rp(1)) == record)
    }
  }

  @Test func `each relying party is listed at the same cost`() throws {
    try expectEqual("the first two") { session in
      let first = try #require(try session.credentials.relyingParty(after: .min))
      _ = try #require(try session.credentials.relyingParty(after: first.place))
    }
  }

  @Test func `a page of all passkeys costs the same wherever it begins`() throws {
    let directory = try TemporaryDirectory()
    let session = try session(of: 600, in: directory)
    let costs = try [600, 300, 8].map { place in
      var places: [Int64] = []
      let cost = try turns(of: session) {
        try session.credentials.forEachRecord(before: Int64(place)) { _, place in
          places.append(place)
          return places.count < 5
        }
      }
      #expect(places == (1...5).map { Int64(place - $0) })
      return cost
    }
    #expect(costs[0] == costs[1] && costs[1] == costs[2], "\(costs)")
  }

  @Test func `the first verified sign-in at a site costs no more with many passkeys than with few`() throws {
    let tag = Given.keys.rpTag(Given.rp(1))
    let costs = try [12, 600].map { count in
      let directory = try TemporaryDirectory()
      _ = try session(of: count, in: directory)
      let session = try open(directory)
      let newest = try Given.source(user: count)
      var (found, ofSite): (CredentialSource?, Int) = (nil, 0)
      let cost = try turns(of: session) {
        ofSite = try session.count(ofRP: tag, userVerified: true)
        found = try session.credentials.record(ofRP: tag, userVerified: true, before: .max)?.source
      }
      #expect(found == newest && ofSite == count / 3)
      return cost
    }
    #expect(costs[1] <= costs[0], "\(costs)")
  }

  @Test(arguments: [true, false])
  func `each account of a sign-in is read at the same cost`(userVerified: Bool) throws {
    let tag = Given.keys.rpTag(Given.rp(1))
    try expectEqual("the first two") { session in
      let first = try #require(try session.credentials.record(ofRP: tag, userVerified: userVerified, before: .max))
      _ = try #require(try session.credentials.record(ofRP: tag, userVerified: userVerified, before: first.place))
    }
  }

  @Test func `without verification the policies of a site's passkeys are read once to count them`() throws {
    let directory = try TemporaryDirectory()
    let session = try session(of: 600, in: directory)
    let tag = Given.keys.rpTag(Given.rp(1))
    var count = 0
    #expect(try turns(of: session) { count = try session.count(ofRP: tag, userVerified: false) } > 200)
    #expect(count == 200)
    #expect(try turns(of: session) { count = try session.count(ofRP: tag, userVerified: false) } == 0)
    #expect(count == 200)
    let other = try Given.source(site: 5000)
    try session.durably { () throws(StoreFault) in try session.write(other) }
    #expect(try turns(of: session) { _ = try session.count(ofRP: tag, userVerified: false) } == 0)
  }

  @Test func `without verification the newer passkeys of higher levels are not read once the others are counted`()
    throws
  {
    let directory = try TemporaryDirectory()
    let session = try session(of: 12, in: directory)
    let (tag, newest) = (Given.keys.rpTag(Given.rp(1)), try Given.source(user: 12))
    let protected = try (13...112).map { user in
      var source = try Given.source(user: user)
      source.policy = CredentialPolicy(credProtect: .userVerificationRequired)
      return source
    }
    try session.durably { () throws(StoreFault) in for source in protected { try session.write(source) } }
    func costOfNewest() throws -> Int {
      var found: CredentialSource?
      let cost = try turns(of: session) {
        found = try session.credentials.record(ofRP: tag, userVerified: false, before: .max)?.source
      }
      #expect(found == newest)
      return cost
    }
    #expect(try costOfNewest() > protected.count)
    #expect(try session.count(ofRP: tag, userVerified: false) == 4)
    #expect(try costOfNewest() < protected.count)
  }

  // MARK: - Opening

  /// Replaces the content of a row with one that does not open, and counts it in the hash.
  private func spoilRow(of directory: TemporaryDirectory) throws {
    let session = try open(directory)
    let record = try Given.source(site: 2, user: 1)
    let tag = Given.keys.accountTag(record.rpIDHash, userID: record.userID)
    let rowSet = try Statement(StoreRows.selectRowSet, session.connection)
    var rows = try #require(try StoreRows.rowSet(rowSet, keys: Given.keys))
    let mac = { () throws -> [UInt8] in
      var mac: [UInt8] = []
      try session.credentials.ofAccount.forEach([.blob(tag)]) { row throws(StoreFault) in
        mac = try StoreRows.mac(row, keys: Given.keys)
      }
      return mac
    }
    rows.credentials.remove(try mac())
    try Statement("UPDATE credential SET sealed = zeroblob(144) WHERE accountTag = ?", session.connection)
      .run(.blob(tag))
    rows.credentials.add(try mac())
    let nonce = [UInt8](repeating: 1, count: XChaCha20Poly1305.nonceSize)
    try Statement("UPDATE rowSet SET nonce = ?, sealed = ?", session.connection)
      .run(.blob(nonce), .blob(Given.keys.seal(rows, nonce: nonce)))
  }

  /// Changes a row with another connection.
  private func change(_ directory: TemporaryDirectory, _ columns: String) throws {
    try Connection(path: directory.path()).execute("UPDATE credential SET \(columns) WHERE sequence = 7")
  }

  @Test func `unchanged rows are not opened to check them`() throws {
    let directory = try TemporaryDirectory()
    _ = try session(of: 12, in: directory)
    try spoilRow(of: directory)
    let store = try CredentialDB.open(directory)
    #expect(try store.credentialCount() == 12)
    #expect(throws: RecoveryError.self, "nobody gets what does not open") { try store.allCredentials() }
  }

  @Test func `a row that does not open is distinguished from one that was put back`() throws {
    let directory = try TemporaryDirectory()
    _ = try session(of: 12, in: directory)
    try change(directory, "sealed = zeroblob(144)")
    #expect(throws: StoreFault.damaged("a row does not open: \(RecoveryError.notAuthentic)")) { try open(directory) }
  }

  @Test(arguments: [
    "rpTag = substr(rpTag, 1, 31), credentialTag = CAST(substr(rpTag, 32) || credentialTag AS BLOB)",
    "credentialTag = CAST(credentialTag || substr(keyTag, 1, 1) AS BLOB), keyTag = substr(keyTag, 2)",
    "nonce = substr(nonce, 1, 23), sealed = CAST(substr(nonce, 24) || sealed AS BLOB)",
  ])
  func `a byte moved from one column to the next is found`(columns: String) throws {
    let directory = try TemporaryDirectory()
    _ = try session(of: 12, in: directory)
    try change(directory, columns)
    let error = #expect(throws: StoreFault.self) { try open(directory) }
    #expect(error.debugDescription.contains("damaged"))
  }
}
