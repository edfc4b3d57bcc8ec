import CredentialDB
import CryptoPrimitives
import Foundation
import TestSupport
import TestVectors
import Testing

@testable import Recovery

/// Random histories on two to four machines with one phrase, which exchange backups (Recovery §9).
///
/// The first seed is random and printed. LIQUID_AUTH_MERGE_SEED sets it, and LIQUID_AUTH_MERGE_COUNT the number of
/// histories: for one failed history its seed, and 1.
@Suite struct `Merges of random histories` {
  private static let environment = ProcessInfo.processInfo.environment
  private static let firstSeed =
    environment["LIQUID_AUTH_MERGE_SEED"].flatMap(UInt64.init) ?? .random(in: 0..<1_000_000_000)

  private static func seeds(_ count: Int) -> Range<UInt64> {
    let count = environment["LIQUID_AUTH_MERGE_COUNT"].flatMap(UInt64.init) ?? UInt64(count)
    print("random histories: seeds \(firstSeed) to \(firstSeed + count - 1), see LIQUID_AUTH_MERGE_SEED")
    return firstSeed..<firstSeed + count
  }

  // Holds: BACKUP-3
  @Test(.whole("random histories take long"))
  func `all machines have the same entries at the end, and nothing that was acknowledged is lost`() throws {
    let keys = try KeysAndRecovery.keys()
    let seeds = Self.seeds(200)
    var decisions = [0, 0, 0, 0]
    for seed in seeds {
      let history = try History(seed: seed, keys: keys) { state, _ in InMemoryCredentialStore(keys: keys, state: state)
      }
      try history.run()
      decisions = zip(decisions, history.decisions).map(+)
    }
    print("decided by counter, changed, tombstone, plaintext: \(decisions)")
    if seeds.count >= 200 { #expect(decisions.allSatisfy { $0 > 0 }, "each criterion has decided") }
  }

  // Holds: BACKUP-3
  @Test func `the same holds for stores on disk, which are intact afterwards`() throws {
    let keys = try KeysAndRecovery.keys()
    let directory = FileManager.default.temporaryDirectory.appending(path: "merge-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    for seed in Self.seeds(8) {
      let path = { (number: Int) in
        directory.appending(path: "\(seed)-\(number).sqlite").path(percentEncoded: false)
      }
      let open = { (storeID: [UInt8], number: Int) in
        try CredentialDB(opening: path(number), vaultPath: "vault", keys: keys, storeID: storeID)
      }
      var storeIDs: [[UInt8]] = []
      do {
        let history = try History(seed: seed, keys: keys) { state, number in
          try CredentialDB.create(at: path(number), keys: keys, state: state)
          storeIDs.append(state.storeID)
          return try open(state.storeID, number)
        }
        try history.run()
        storeIDs.removeSubrange(history.machines.count...)
        for (number, machine) in history.machines.enumerated() {
          // The next opening checks the hash over the rows and the indexes, and counts anew.
          let counts = try (machine.store.credentialCount(), machine.store.relyingPartyCount())
          let entries = try machine.store.entries(after: nil, count: .max)
          machine.close()
          let again = try open(storeIDs[number], number)
          #expect(try (again.credentialCount(), again.relyingPartyCount()) == counts, "seed \(seed)")
          #expect(try again.entries(after: nil, count: .max) == entries, "seed \(seed)")
        }
      }
    }
  }
}

// MARK: - The oracle

/// What the test itself knows of an entry.
///
/// It compares entries by the words of Recovery §9, and not with the product's code.
private struct Known: Equatable {
  let counter: UInt32
  let changed: UInt64
  let isRemoval: Bool
  let bytes: [UInt8]
  let importedKey: [UInt8]?

  init(_ entry: AccountEntry) {
    switch entry {
    case .record(let source):
      (counter, changed, isRemoval) = (source.counter, source.changed, false)
      importedKey = source.importedKey.map { $0.withUnsafeBytes { Array($0) } }
    case .tombstone(let counter, let changed):
      (self.counter, self.changed, isRemoval, importedKey) = (counter, changed, true, nil)
    }
    bytes = entry.plaintext
  }

  /// (counter, changed, tombstone over record, plaintext bytes), all in one string of bytes that sorts like them.
  private var rank: [UInt8] { counter.bigEndianBytes + changed.bigEndianBytes + [isRemoval ? 1 : 0] + bytes }

  func isGreater(than other: Known) -> Bool { other.rank.lexicographicallyPrecedes(rank) }

  /// The number of the criterion that decides between two entries; `nil` if they are equal.
  func criterion(against other: Known) -> Int? {
    guard self != other else { return nil }
    return counter != other.counter ? 0 : changed != other.changed ? 1 : isRemoval != other.isRemoval ? 2 : 3
  }

  /// What is here after the other entry was merged: no other key takes the place of an imported one.
  func merging(_ other: Known) -> Known { other.isGreater(than: self) && !hasAnotherKey(than: other) ? other : self }

  func hasAnotherKey(than other: Known) -> Bool {
    importedKey != nil && other.importedKey != nil && importedKey != other.importedKey
  }
}

private struct Snapshot: Equatable {
  var epoch: UInt16 = 0
  var entries: [[UInt8]: Known] = [:]

  mutating func merge(_ other: Snapshot) {
    epoch = max(epoch, other.epoch)
    entries.merge(other.entries) { $0.merging($1) }
  }
}

// MARK: - The machines

private final class Peer {
  let number: Int
  let keys: CredentialKeys
  private var vault: OpenVault?
  /// What must be in the store.
  var known = Snapshot()
  /// Its clock differs from the others', in milliseconds.
  var clock: Int64 = 0

  init(_ store: any CredentialStore, number: Int, keys: CredentialKeys, ed25519Root: SecretBytes) {
    self.number = number
    self.keys = keys
    vault = OpenVault(keys: keys, ed25519Root: ed25519Root, store: store)
  }

  var open: OpenVault { vault.unsafelyUnwrapped }
  var store: any CredentialStore { open.store }

  func close() { vault = nil }

  /// Reads what is stored now, by other functions than those that merge.
  func stored() throws -> Snapshot {
    var snapshot = Snapshot(epoch: try store.state().epoch)
    for account in try store.entries(after: nil, count: .max) {
      snapshot.entries[account.accountTag] = Known(account.entry)
    }
    return snapshot
  }

  /// Takes an entry that the product has acknowledged.
  func acknowledge(_ tag: [UInt8]) throws {
    known.entries[tag] = try store.entry(accountTag: tag).map(Known.init)
    known.epoch = try store.state().epoch
  }
}

private struct Account {
  let rpID: String
  let userID: [UInt8]

  var rpIDHash: RPIDHash { RPIDHash(rpID: rpID) }
  func tag(_ keys: CredentialKeys) -> [UInt8] { keys.accountTag(rpIDHash, userID: userID) }
}

/// A passkey that machines import.
private struct Imported {
  let account: Account
  let id: [UInt8]

  func tag(_ keys: CredentialKeys) -> [UInt8] { keys.importedTag(account.rpIDHash, id: id) }
}

/// One random history.
private final class History {
  private struct File {
    let bytes: [UInt8]
    let content: Snapshot
  }

  private let seed: UInt64
  private let keys: CredentialKeys
  private var generator: SplitMix64
  private(set) var machines: [Peer] = []
  private var files: [File] = []
  private var time: UInt64 = 1_790_000_000_000
  private var hasReset = false
  /// Every entry that was acknowledged, by account.
  private var acknowledged: [[UInt8]: [Known]] = [:]
  /// How often each criterion has decided.
  private(set) var decisions = [0, 0, 0, 0]
  private let makeStore: (StoreState, Int) throws -> any CredentialStore
  private let ed25519Root: SecretBytes

  /// Two sites whose accounts have the same keys are among them (Recovery §12).
  private static let accounts = [
    Account(rpID: "example.com", userID: Array("alice".utf8)),
    Account(rpID: "example.co", userID: Array("malice".utf8)),
    Account(rpID: "example.com", userID: [0xFF]),
  ]
  /// Passkeys that any machine imports: of an account that is also registered, two of one account.
  private static let imported = [
    Imported(account: accounts[0], id: [1]), Imported(account: accounts[0], id: [2]),
    Imported(account: Account(rpID: "imported.example", userID: [1]), id: [1]),
  ]
  /// An id that each machine imports with a key of its own: the key that is here stays, so machines can differ.
  private static let conflicting = Imported(account: Account(rpID: "imported.example", userID: [1]), id: [3])

  init(
    seed: UInt64, keys: CredentialKeys, makeStore: @escaping (StoreState, Int) throws -> any CredentialStore
  ) throws {
    self.seed = seed
    self.keys = keys
    self.makeStore = makeStore
    generator = SplitMix64(state: seed)
    ed25519Root = try KeysAndRecovery.load().input.ed25519Root.hex.secret
    for number in 0..<random(2...4) { machines.append(try machine(number)) }
  }

  private func machine(_ number: Int) throws -> Peer {
    let form: CredentialIDForm = random(0...1) == 0 ? .sealed : .hash
    let storeID = [UInt8](repeating: UInt8(number), count: 16)
    let store = try makeStore(StoreState(storeID: storeID, credentialIDForm: form), number)
    return Peer(store, number: number, keys: keys, ed25519Root: ed25519Root)
  }

  private func random<Number: FixedWidthInteger>(_ range: ClosedRange<Number>) -> Number {
    Number.random(in: range, using: &generator)
  }

  private func pick<Element>(_ elements: [Element]) -> Element { elements[random(0...elements.count - 1)] }

  // MARK: - Steps

  func run() throws {
    for step in 0..<random(5...40) {
      // Most changes have the same time, so that each criterion of the rule decides at times.
      if random(0...3) == 0 { time += 1000 }
      let machine = pick(machines)
      do {
        try change(machine)
      } catch {
        Issue.record("seed \(seed), step \(step): \(error)")
      }
      #expect(try machine.stored() == machine.known, "seed \(seed), step \(step)")
    }
    try exchange()
  }

  private func now(_ machine: Peer) -> UInt64 { UInt64(Int64(time) + machine.clock) }

  private func change(_ machine: Peer) throws {
    // Half of the changes are to one account, so that machines change the same one.
    let account = random(0...1) == 0 ? Self.accounts[0] : pick(Self.accounts)
    let passkey = pick(Self.imported + [Self.conflicting])
    let tag = random(0...2) == 0 ? passkey.tag(keys) : account.tag(keys)
    let record = try machine.store.entry(accountTag: tag)?.record
    switch random(0...19) {
    case 0...4: try register(account, on: machine)
    case 5...6:
      guard let record else { return }
      try machine.open.rename(record, name: pick(["a", "b", nil]), displayName: nil, now: now(machine))
      try acknowledge(tag, on: machine)
    case 7...8:
      guard let record else { return }
      try machine.open.remove(record, now: now(machine))
      try acknowledge(tag, on: machine)
    case 9:
      do {
        try machine.open.recover(
          rpID: account.rpID, userID: account.userID, counter: random(0...3), algorithm: pick(COSEAlgorithm.allCases),
          now: now(machine))
      } catch  where error.kind == .notReplaced {}
      try acknowledge(account.tag(keys), on: machine)
    case 10...11: try importKey(passkey, on: machine)
    case 12 where random(0...3) == 0: try reset(machine)
    case 13 where random(0...1) == 0: machine.clock = random(-5...5) * pick([1, 60_000, 100_000_000])
    case 18: try removeAndRename(Self.accounts[0], machine, pick(machines))
    case 14...15: files.append(try write(machine))
    case 16 where !files.isEmpty: try mergeSpoilt(pick(files), into: machine)
    default: if !files.isEmpty { try merge(pick(files), into: machine) }
    }
  }

  private func acknowledge(_ tag: [UInt8], on machine: Peer) throws {
    let before = machine.known.entries[tag]
    try machine.acknowledge(tag)
    guard let after = machine.known.entries[tag], after != before else { return }
    // An owner's change wins over what was here, whatever the clock says.
    if let before { #expect(after.isGreater(than: before), "seed \(seed)") }
    acknowledged[tag, default: []].append(after)
  }

  private func register(_ account: Account, on machine: Peer) throws {
    let before = try machine.store.account(rpIDHash: account.rpIDHash, userID: account.userID)
    let credential = try machine.open.makeDiscoverableCredential(
      CredentialRegistration(
        rpID: account.rpID, user: PublicKeyCredentialUserEntity(id: account.userID, name: pick(["a", "b"])),
        algorithm: pick(COSEAlgorithm.allCases),
        policy: CredentialPolicy(credProtect: pick([.userVerificationOptional, .userVerificationRequired])),
        credBlob: pick([nil, [1, 2, 3]])),
      known: before?.counter, now: now(machine))
    try machine.open.save(credential)
    try acknowledge(account.tag(keys), on: machine)
  }

  /// Two machines change the same passkey at the same time: one removes it, and the other one renames it.
  private func removeAndRename(_ account: Account, _ machine: Peer, _ other: Peer) throws {
    guard machine !== other else { return }
    try merge(write(machine), into: other)
    try merge(write(other), into: machine)
    func record(_ machine: Peer) throws -> CredentialSource? {
      try machine.store.account(rpIDHash: account.rpIDHash, userID: account.userID)?.record
    }
    guard let removed = try record(machine), let renamed = try record(other) else { return }
    try machine.open.remove(removed, now: time)
    try acknowledge(account.tag(keys), on: machine)
    try other.open.rename(renamed, name: "c", displayName: nil, now: time)
    try acknowledge(account.tag(keys), on: other)
  }

  private func importKey(_ passkey: Imported, on machine: Peer) throws {
    let before = try machine.store.entry(accountTag: passkey.tag(keys))
    guard before?.record == nil else { return }
    let isConflicting = passkey.id == Self.conflicting.id
    let key = Hex((0..<32).map { _ in isConflicting ? random(1...0x7F) : passkey.id[0] }).secret
    let source = CredentialSource(
      rpID: passkey.account.rpID, userID: passkey.account.userID, name: "imported", id: passkey.id, algorithm: .es256,
      counter: 0, created: time, changed: max(now(machine), before.map { $0.changed + 1 } ?? 0), origin: .imported,
      importedKey: key)
    try machine.store.save(#require(source), state: nil)
    try acknowledge(passkey.tag(keys), on: machine)
  }

  private func reset(_ machine: Peer) throws {
    var state = try machine.store.state()
    try state.reset()
    try machine.store.removeAll(state: state)
    machine.known = Snapshot(epoch: machine.known.epoch + 1)
    hasReset = true
  }

  private func write(_ machine: Peer) throws -> File {
    let bytes = try BackupWriter.file(of: machine.store, keys: keys, nonce: randomBytes(24)).file
    return File(bytes: bytes, content: machine.known)
  }

  private func merge(_ file: File, into machine: Peer) throws {
    let before = machine.known
    machine.known.merge(file.content)
    for (tag, entry) in file.content.entries {
      if let criterion = before.entries[tag].flatMap(entry.criterion) { decisions[criterion] += 1 }
    }
    let changed = machine.known.entries.filter { before.entries[$0.key] != $0.value }
    let report = try BackupMerge(BackupReader(file: file.bytes, keys: keys), now: time).run(on: machine.store)

    let isRecord = { (known: Known?) in known.map { !$0.isRemoval } ?? false }
    #expect(
      report.added == changed.count { isRecord($0.value) && !isRecord(before.entries[$0.key]) }
        && report.changed == changed.count { isRecord($0.value) && isRecord(before.entries[$0.key]) }
        && report.removed.count == changed.count { !isRecord($0.value) && isRecord(before.entries[$0.key]) }
        && report.noted == changed.count { !isRecord($0.value) && !isRecord(before.entries[$0.key]) }
        && report.same == file.content.entries.count { before.entries[$0.key] == $0.value }
        && report.raisesEpoch == (machine.known.epoch > before.epoch), "seed \(seed): \(report)")
    let total = report.added + report.changed + report.removed.count + report.noted + report.kept + report.same
    #expect(total == file.content.entries.count, "seed \(seed): \(report)")
    // A key that the file has, and that is not taken because another one has its id, is reported.
    let left = file.content.entries.count { before.entries[$0.key]?.hasAnotherKey(than: $0.value) == true }
    #expect(report.leftImported.count == left, "seed \(seed): \(report)")
    // No merge loses a key that was here, unless it was removed elsewhere.
    let stored = try machine.stored().entries
    for (tag, entry) in before.entries where entry.importedKey != nil && stored[tag]?.importedKey != entry.importedKey {
      #expect(file.content.entries[tag]?.isRemoval == true, "seed \(seed): \(report)")
    }
  }

  /// A file that is cut off or has a changed bit changes nothing.
  private func mergeSpoilt(_ file: File, into machine: Peer) throws {
    var bytes = file.bytes
    let index = random(0...bytes.count - 1)
    if random(0...1) == 0 { bytes[index] ^= 1 << random(0...7) } else { bytes.removeSubrange(index...) }
    #expect(throws: RecoveryError.self, "seed \(seed)") {
      try BackupMerge(BackupReader(file: bytes, keys: keys), now: time).run(on: machine.store)
    }
  }

  // MARK: - The end

  /// Every machine gets the file of every other one, in any order, twice.
  private func exchange() throws {
    let before = machines.map(\.known)
    let last = try machines.map(write)
    for machine in machines {
      for file in last.shuffled(using: &generator) + [pick(last)] { try merge(file, into: machine) }
      #expect(try machine.stored() == machine.known, "seed \(seed)")
    }

    let final = machines.map { sameEverywhere($0.known) }
    for machine in machines {
      #expect(sameEverywhere(machine.known) == final[0], "seed \(seed): the same on every machine")
      #expect(machine.known.epoch == before.map(\.epoch).max(), "seed \(seed)")
      // No machine has less than before.
      for (tag, entry) in before[machine.number].entries {
        let after = try #require(machine.known.entries[tag], "seed \(seed)")
        #expect(after == entry || after.isGreater(than: entry), "seed \(seed)")
      }
    }
    // The greatest of all entries that were acknowledged is there; a reset gives up those of its machine.
    for (tag, entries) in acknowledged where !differing.contains(tag) && !hasReset {
      let greatest = entries.reduce(entries[0]) { $1.isGreater(than: $0) ? $1 : $0 }
      #expect(final[0][tag] == greatest, "seed \(seed): an acknowledged change is lost")
    }
    try joinInEveryOrder(last, final[0])
  }

  /// The tags under which each machine keeps its own imported key.
  private var differing: Set<[UInt8]> { [Self.conflicting.tag(keys)] }

  private func sameEverywhere(_ snapshot: Snapshot) -> [[UInt8]: Known] {
    snapshot.entries.filter { !differing.contains($0.key) }
  }

  /// A new machine gets the files in every order.
  private func joinInEveryOrder(_ last: [File], _ expected: [[UInt8]: Known]) throws {
    for order in last.permutations {
      let machine = Peer(
        InMemoryCredentialStore(keys: keys), number: machines.count, keys: keys, ed25519Root: ed25519Root)
      for file in order { try merge(file, into: machine) }
      let stored = try machine.stored()
      #expect(sameEverywhere(stored) == expected, "seed \(seed)")
      #expect(stored == machine.known, "seed \(seed)")
    }
  }
}

extension Array {
  /// The elements in every order.
  fileprivate var permutations: [[Element]] {
    guard count > 1 else { return [self] }
    return indices.flatMap { index in
      var others = self
      let element = others.remove(at: index)
      return others.permutations.map { [element] + $0 }
    }
  }
}
