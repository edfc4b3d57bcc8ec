import CBOR
import CTAP2
import CryptoPrimitives
import Recovery
import Vault

/// A state directory with `count` passkeys, each at its own site.
struct StoredPasskeys {
  let key: KeyInUse
  let count: Int
  /// One of the stored passkeys.
  let stored: Credential
  /// A passkey that is not stored: its id contains it.
  let sealed: Credential

  init(folder: String, count: Int) async throws {
    key = try KeyInUse(folder: folder, cost: PassphraseCost(opsLimit: 1, memLimit: 8192))
    self.count = count
    try await key.fill(sites: count)
    stored = Credential(record: try key.source(site: count / 2, user: count / 2))
    let vault = OpenVault(
      keys: key.keys, ed25519Root: key.root, store: InMemoryCredentialStore(keys: key.keys))
    var generator = SystemRandomNumberGenerator()
    sealed = try vault.makeNonDiscoverableCredential(
      KeyInUse.registration(site: count, user: 0), using: &generator)
  }
}

/// Operations on the whole store: start-up, opening the store, credentialManagement, and the list of the command.
struct Enumeration {
  let programs: Programs
  let stores: [StoredPasskeys]

  private static let starts = 25

  func measure() throws {
    var table = Growth(stores.map(\.count))
    table.add("start to device visible", try startUp())
    table.add("opening the store, without Argon2id", try opening())
    let times = try stores.map { try commands(of: $0) }
    for (index, name) in Self.commands.enumerated() { table.add(name, times.map { $0[index] }) }
    table.add("liquid-auth credentials list, with the passphrase", try lists())
    table.print("Start-up, unlocking and enumeration.", of: "with so many stored passkeys")
  }

  private func startUp() throws -> [Samples] {
    var samples = stores.map { _ in Samples() }
    for _ in 0..<Self.starts {
      for (index, store) in stores.enumerated() { try samples[index].measureStart(of: store.key, programs) }
    }
    return samples
  }

  private func opening() throws -> [Samples] {
    try stores.map { store in
      var samples = Samples()
      try samples.measure(atMost: 10) { _ = try store.key.open() }
      return samples
    }
  }

  /// The whole list, page by page; the vault's cost of the passphrase is the least.
  private func lists() throws -> [Samples] {
    try stores.map { store in
      let (daemon, _) = try store.key.start(programs)
      defer { daemon.stop() }
      var samples = Samples()
      try samples.measure(atMost: 10) { try store.key.list(programs) }
      return samples
    }
  }

  private static let commands = [
    "getCredsMetadata", "enumerateRPsBegin", "enumerateRPsGetNextRP", "enumerateCredentialsBegin",
  ]

  private func commands(of store: StoredPasskeys) throws -> [Samples] {
    let (daemon, socket) = try store.key.start(programs)
    defer { daemon.stop() }
    var client = try Client(connectingTo: socket)
    let token = try Token(for: .credentialManagement, of: &client)
    func ask(_ parameters: CBORMap) throws -> CBORMap {
      try client.ask(client.reports(CredentialManagement.code, parameters)).parameters
    }
    var (metadata, first, next, credentials) = (Samples(), Samples(), Samples(), Samples())
    var answer = CBORMap()
    try metadata.measure(atMost: 100) { answer = try ask(token.manage(1)) }
    try Self.check(answer, 1, store.count)
    try first.measure(atMost: 100) { answer = try ask(token.manage(2)) }
    try Self.check(answer, 5, store.count)
    try next.measure(atMost: min(100, store.count - 1)) { answer = try ask([1: 3]) }
    try credentials.measure(atMost: 100) {
      answer = try ask(token.manage(4, [1: .bytes(store.stored.rpIDHash.bytes)]))
    }
    try Self.check(answer, 9, 1)
    return [metadata, first, next, credentials]
  }

  private static func check(_ answer: CBORMap, _ member: Int, _ count: Int) throws {
    guard try answer.requiredInt(CBORValue(member)) == count else { throw BenchmarkError("another number of passkeys") }
  }
}

/// getAssertion with an empty allow list, at a site with more and more passkeys.
struct EmptyAllowList {
  let programs: Programs
  let folder: String
  let samples: Int

  private static let counts = [1, 10, 1000, 10_000]
  private static let clientDataHash = [UInt8](0..<32)

  func measure() async throws {
    var columns: [Column] = []
    for (number, count) in Self.counts.enumerated() {
      columns.append(try await column(count, place: "\(folder)/site-\(number)"))
    }
    var table = Growth(Self.counts)
    table.add("the first after unlocking, not verified", columns.map(\.first))
    table.add("not verified", columns.map(\.unverified))
    table.add("verified by a token", columns.map(\.verified))
    table.add("private memory before", columns.map(\.before), Text.kilobytes)
    table.add("private memory after", columns.map(\.after), Text.kilobytes)
    table.print("getAssertion with an empty allow list, up=false, over unix:.", of: "with so many passkeys of the site")
  }

  private struct Column {
    var (first, unverified, verified) = (Samples(), Samples(), Samples())
    var (before, after): (UInt64, UInt64) = (0, 0)
  }

  private func column(_ count: Int, place: String) async throws -> Column {
    let key = try KeyInUse(folder: place, cost: PassphraseCost(opsLimit: 1, memLimit: 8192))
    try await key.fill(accounts: count, ofSite: 0)
    let rpID = KeyInUse.registration(site: 0, user: 0).rpID
    let (daemon, socket) = try key.start(programs)
    defer { daemon.stop() }
    var client = try Client(connectingTo: socket)
    let parameters: CBORMap = [1: .text(rpID), 2: .bytes(Self.clientDataHash), 5: ["up": false]]
    let unverified = try client.reports(GetAssertion.code, parameters)

    var column = Column()
    column.before = UInt64(ProcessStatus(of: daemon.id)["RssAnon"])
    let answer = try column.first.measure { try client.ask(unverified) }.parameters
    guard try (answer.optionalUnsigned(5) ?? 1) == UInt64(count) else {
      throw BenchmarkError("another number of passkeys")
    }
    try column.unverified.measure(atMost: samples) { try client.socket.exchange(unverified).orThrow() }
    let token = try Token(for: .getAssertion, rpID: rpID, of: &client)
    var authorized = parameters
    authorized[6] = token.param(Self.clientDataHash)
    authorized[7] = 1
    let verified = try client.reports(GetAssertion.code, authorized)
    _ = try client.ask(verified)
    try column.verified.measure(atMost: samples) { try client.socket.exchange(verified).orThrow() }
    column.after = UInt64(ProcessStatus(of: daemon.id)["RssAnon"])
    return column
  }
}
