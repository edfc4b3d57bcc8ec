import CredentialDB
import Recovery
import TestSupport
import Testing

/// The two stores that the same tests run with.
enum StoreKind: CaseIterable {
  case inMemory, sqlite
}

/// The contract of `CredentialStore`, for the SQLite store and for the fake that other tests use.
@Suite struct `Credential store` {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  func make(_ kind: StoreKind) throws -> any CredentialStore {
    switch kind {
    case .inMemory: return InMemoryCredentialStore(keys: Given.keys, state: Given.state)
    case .sqlite:
      try CredentialDB.create(at: directory.path(), keys: Given.keys, state: Given.state)
      return try CredentialDB.open(directory)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a new store is empty and has its initial state`(kind: StoreKind) throws {
    let store = try make(kind)
    #expect(try store.state() == Given.state)
    #expect(try store.allCredentials() == [])
    #expect(try store.credentialCount() == 0)
    #expect(try store.credentials(rpIDHash: Given.rp(1)) == [])
    #expect(try store.credential(id: [], rpIDHash: Given.rp(1)) == nil)
    #expect(try store.account(rpIDHash: Given.rp(1), userID: []) == nil)
    #expect(try store.credentials(publicKey: []) == [])
  }

  @Test(arguments: StoreKind.allCases)
  func `a record is found by its relying party, id, account and key`(kind: StoreKind) throws {
    let store = try make(kind)
    let source = try Given.source(site: 1, name: "ü \u{75}\u{308}")
    let other = try Given.source(site: 2, id: source.id)
    try store.save(source, state: nil)
    try store.save(other, state: nil)

    #expect(try store.credentials(rpIDHash: Given.rp(1)) == [source])
    #expect(try store.credential(id: source.id, rpIDHash: Given.rp(1)) == source)
    #expect(
      try store.credential(id: source.id, rpIDHash: Given.rp(2)) == other, "the same id at another site is another")
    #expect(try store.credential(id: source.id, rpIDHash: Given.rp(3)) == nil)
    #expect(try store.credential(id: source.id) == other, "the newest")
    #expect(try store.credential(id: source.id.dropLast()) == nil)
    #expect(try store.credential(id: source.id.dropLast(), rpIDHash: Given.rp(1)) == nil)
    #expect(try store.account(rpIDHash: Given.rp(1), userID: source.userID) == .record(source))
    #expect(try store.account(rpIDHash: Given.rp(1), userID: source.userID + [0]) == nil)
    let key = try Given.keys.privateKey(of: source).publicKey.bytes
    #expect(try store.credentials(publicKey: key) == [source])
    #expect(try store.state() == Given.state)
  }

  @Test(arguments: StoreKind.allCases)
  func `records are in order, the newest first`(kind: StoreKind) throws {
    let store = try make(kind)
    let sources = try (1...5).map { try Given.source(user: $0) }
    for source in sources { try store.save(source, state: nil) }
    let elsewhere = try Given.source(site: 2)
    try store.save(elsewhere, state: nil)

    #expect(try store.credentials(rpIDHash: Given.rp(1)) == sources.reversed())
    #expect(try store.credentialCount(rpIDHash: Given.rp(1), userVerified: true) == 5)
    #expect(try store.credentialCount(rpIDHash: Given.rp(3), userVerified: true) == 0)
    #expect(try store.allCredentials() == [elsewhere] + sources.reversed())
    #expect(try store.credentialCount() == 6)
  }

  @Test(arguments: StoreKind.allCases)
  func `without verification only records with credProtect 1 count`(kind: StoreKind) throws {
    let store = try make(kind)
    var sources = try (1...5).map { try Given.source(user: $0) }
    let levels: [Int: CredProtectLevel] = [
      1: .userVerificationRequired, 4: .userVerificationOptionalWithCredentialIDList,
    ]
    for (index, level) in levels { sources[index].policy = CredentialPolicy(credProtect: level) }
    for source in sources { try store.save(source, state: nil) }
    func unprotected() throws -> [CredentialSource] {
      let unprotected = try store.credentials(rpIDHash: Given.rp(1), userVerified: false)
      #expect(try store.credentialCount(rpIDHash: Given.rp(1), userVerified: false) == unprotected.count)
      #expect(try store.credentials(rpIDHash: Given.rp(1), userVerified: false) == unprotected)
      return unprotected
    }
    #expect(try unprotected() == [sources[3], sources[2], sources[0]])
    #expect(try store.credentials(rpIDHash: Given.rp(1)) == sources.reversed())
    sources[2].policy = CredentialPolicy(credProtect: .userVerificationRequired)
    try store.save(sources[2], state: nil)
    try store.remove(sources[3], changed: 13)
    #expect(try unprotected() == [sources[0]], "a record that changes or goes is counted anew")
    #expect(try store.credentials(rpIDHash: Given.rp(1)) == [sources[4], sources[2], sources[1], sources[0]])
    try store.remove(sources[0], changed: 14)
    #expect(try unprotected() == [])
  }

  @Test(arguments: StoreKind.allCases)
  func `the number of a site's records follows each change, also of many`(kind: StoreKind) throws {
    let store = try make(kind)
    func count() throws -> Int { try store.credentialCount(rpIDHash: Given.rp(1), userVerified: true) }
    let first = try (1...99).map { user in
      let source = try Given.source(user: user)
      return (source: source, publicKey: try Given.keys.privateKey(of: source).publicKey)
    }
    try store.save(count: first.count) { first[$0] }
    #expect(try count() == 99)
    for user in 100...102 {
      try store.save(Given.source(user: user), state: nil)
      #expect(try count() == user)
    }
    try store.save(Given.source(user: 5, name: "renamed"), state: nil)
    try store.save(Given.source(user: 6, counter: 1), state: nil)
    try store.save(Given.source(site: 2), state: nil)
    #expect(try count() == 102)
    for user in [102, 1, 101, 5] { try store.remove(Given.source(user: user), changed: 20) }
    #expect(try count() == 98)
    #expect(try store.credentials(rpIDHash: Given.rp(1)).count == 98)
    try store.removeAll(state: Given.state)
    #expect(try count() == 0)
  }

  /// The relying parties of a store, in the order of an enumeration.
  private func relyingParties(of store: any CredentialStore) throws -> [String] {
    var told: [String] = []
    var place: Int64?
    while let next = try store.relyingParty(after: place) {
      told.append(next.rpID)
      place = next.place
    }
    #expect(try store.relyingPartyCount() == told.count)
    return told
  }

  @Test(arguments: StoreKind.allCases)
  func `each relying party is listed once, ordered by its oldest record`(kind: StoreKind) throws {
    let store = try make(kind)
    #expect(try relyingParties(of: store) == [])
    for (site, user) in [(3, 1), (1, 1), (3, 2), (2, 1), (1, 2)] {
      try store.save(Given.source(site: site, user: user), state: nil)
    }
    #expect(try relyingParties(of: store) == ["site-3.example", "site-1.example", "site-2.example"])
    #expect(try store.credentialCount() == 5)

    try store.save(Given.source(site: 3, user: 1, name: "renamed"), state: nil)
    try store.save(Given.source(site: 2, user: 1, counter: 1), state: nil)
    #expect(try relyingParties(of: store) == ["site-3.example", "site-1.example", "site-2.example"])
    #expect(try store.credentialCount() == 5)

    try store.remove(Given.source(site: 3, user: 1), changed: 20)
    #expect(try relyingParties(of: store) == ["site-1.example", "site-3.example", "site-2.example"])
    try store.remove(Given.source(site: 3, user: 2), changed: 20)
    #expect(try relyingParties(of: store) == ["site-1.example", "site-2.example"])
    #expect(try store.credentialCount() == 3)
    try store.save(Given.source(site: 3, user: 1, counter: 1), state: nil)
    #expect(try relyingParties(of: store) == ["site-1.example", "site-2.example", "site-3.example"])

    try store.removeAll(state: Given.state)
    #expect(try relyingParties(of: store) == [])
    #expect(try store.credentialCount() == 0)
  }

  @Test(arguments: StoreKind.allCases)
  func `all records are read from any place on, the newest first, as far as they are wanted`(kind: StoreKind) throws {
    let store = try make(kind)
    let sources = try (1...7).map { try Given.source(site: $0) }
    for source in sources { try store.save(source, state: nil) }
    try store.remove(sources[3], changed: 9)
    let left = (sources[..<3] + sources[4...]).reversed().map(\.rpID)
    #expect(try store.allCredentials().map(\.rpID) == left)
    var last = 7
    for count in 1...7 {
      let before = try store.allCredentials().map(\.rpID)
      var (seen, place, isEnd): ([String], Int64?, Bool) = ([], nil, false)
      while !isEnd {
        var page: [String] = []
        isEnd = true
        try store.forEachCredential(before: place) { source, here in
          isEnd = page.count < count
          guard isEnd else { return false }
          page.append(source.rpID)
          place = here
          return true
        }
        seen += page
        // A record that is saved meanwhile moves no other one to another page.
        last += 1
        try store.save(Given.source(site: last), state: nil)
      }
      #expect(seen == before, "\(count) at a time")
    }
    try store.forEachCredential(before: .min) { _, _ in
      Issue.record("there is no record before the first place")
      return true
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a renamed credential keeps its place, and a new one is the newest`(kind: StoreKind) throws {
    let store = try make(kind)
    for user in 1...3 { try store.save(Given.source(user: user), state: nil) }

    let renamed = try Given.source(user: 1, name: "new name", changed: 11)
    try store.save(renamed, state: nil)
    #expect(try store.credentials(rpIDHash: Given.rp(1)).map(\.userID.last) == [0x33, 0x32, 0x31])
    #expect(try store.credentials(rpIDHash: Given.rp(1)).last == renamed)

    try store.save(Given.source(user: 1, counter: 1), state: nil)
    #expect(try store.credentials(rpIDHash: Given.rp(1)).map(\.userID.last) == [0x31, 0x33, 0x32])
  }

  @Test(arguments: StoreKind.allCases)
  func `an account has one record, and the previous one is not found`(kind: StoreKind) throws {
    let store = try make(kind)
    let (first, second) = (try Given.source(counter: 0), try Given.source(counter: 1))
    try store.save(first, state: nil)
    try store.save(second, state: nil)

    #expect(try store.allCredentials() == [second])
    #expect(try store.credential(id: first.id, rpIDHash: Given.rp(1)) == nil)
    #expect(try store.credentials(publicKey: Given.keys.privateKey(of: first).publicKey.bytes) == [])
    #expect(try store.account(rpIDHash: Given.rp(1), userID: first.userID) == .record(second))
  }

  @Test(arguments: StoreKind.allCases)
  func `a record and a state are saved together`(kind: StoreKind) throws {
    let store = try make(kind)
    let state = StoreState(storeID: Given.storeID, epoch: 3, floor: 1, credentialIDForm: .hash)
    try store.save(Given.source(), state: state)
    #expect(try store.state() == state)
    try store.setState(Given.state)
    #expect(try store.state() == Given.state)
    #expect(try store.allCredentials().count == 1)
  }

  @Test(arguments: StoreKind.allCases)
  func `a deletion leaves the counter and the time only`(kind: StoreKind) throws {
    let store = try make(kind)
    let source = try Given.source(counter: 65_541)
    try store.save(source, state: nil)
    try store.remove(source, changed: 99)

    let tombstone = AccountEntry.tombstone(counter: 65_541, changed: 99)
    #expect(try store.account(rpIDHash: Given.rp(1), userID: source.userID) == tombstone)
    #expect(try store.allCredentials() == [])
    #expect(try store.credentials(rpIDHash: Given.rp(1)) == [])
    #expect(try store.credential(id: source.id, rpIDHash: Given.rp(1)) == nil)
    #expect(try store.credentials(publicKey: Given.keys.privateKey(of: source).publicKey.bytes) == [])

    try store.remove(source, changed: 100)
    #expect(
      try store.account(rpIDHash: Given.rp(1), userID: source.userID) == tombstone, "there is no record to remove")

    let again = try Given.source(counter: 65_542)
    try store.save(again, state: nil)
    #expect(try store.account(rpIDHash: Given.rp(1), userID: source.userID) == .record(again))
  }

  @Test(arguments: StoreKind.allCases)
  func `a deletion keeps the stored counter`(kind: StoreKind) throws {
    let store = try make(kind)
    try store.save(Given.source(counter: 5), state: nil)
    try store.remove(Given.source(counter: 2), changed: 99)
    let entry = try store.account(rpIDHash: Given.rp(1), userID: Given.source().userID)
    #expect(entry == .tombstone(counter: 5, changed: 99))
  }

  @Test(arguments: StoreKind.allCases)
  func `a deletion of an unknown record leaves nothing`(kind: StoreKind) throws {
    let store = try make(kind)
    try store.remove(Given.source(), changed: 99)
    #expect(try store.account(rpIDHash: Given.rp(1), userID: Given.source().userID) == nil)
  }

  @Test(arguments: StoreKind.allCases)
  func `a reset removes records and tombstones and writes the new state`(kind: StoreKind) throws {
    let store = try make(kind)
    for user in 1...3 { try store.save(Given.source(user: user), state: nil) }
    try store.remove(Given.source(user: 2), changed: 99)
    let state = StoreState(storeID: Given.storeID, epoch: 1, floor: 1)
    try store.removeAll(state: state)

    #expect(try store.state() == state)
    #expect(try store.allCredentials() == [])
    #expect(try store.account(rpIDHash: Given.rp(1), userID: Given.source(user: 2).userID) == nil)
  }

  // Holds: INFO-10
  @Test(arguments: StoreKind.allCases)
  func `the revision changes with each saved or removed record only`(
    kind: StoreKind
  ) throws {
    let store = try make(kind)
    var seen = [try store.revision()]
    let changes: [() throws -> Void] = [
      { try store.save(Given.source(user: 1), state: nil) }, { try store.save(Given.source(user: 2), state: nil) },
      { try store.save(Given.source(user: 1, name: "new name", changed: 11), state: nil) },
      { try store.remove(Given.source(user: 1), changed: 99) },
    ]
    for change in changes {
      try change()
      let revision = try store.revision()
      #expect(!seen.contains(revision))
      seen.append(revision)
      try store.setState(StoreState(storeID: Given.storeID, epoch: 3))
      try store.setLargeBlobArray([0x80])
      #expect(try store.revision() == revision)
    }
    let full = try store.revision()
    try store.removeAll(state: Given.state)
    #expect(try store.revision() != full)
  }

  // Holds: INFO-10
  @Test func `the revision survives a restart`() throws {
    var revision: [UInt8] = []
    do {
      let store = try make(.sqlite)
      for user in 1...3 { try store.save(Given.source(user: user), state: nil) }
      try store.remove(Given.source(user: 2), changed: 99)
      revision = try store.revision()
    }
    #expect(try CredentialDB.open(directory).revision() == revision)
  }
}
