import CBOR
import CryptoPrimitives
import Dispatch
import EventLoop
import Foundation
import Glibc
import ProtectorProtocol
import Recovery
import StateDirectory
import TestSupport
import TestVectors
import Testing
import Vault

@testable import CTAP2
@testable import CredentialDB
@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

@Suite struct HistoryRecorderTests {
  private let made: MadeVault
  private let source: VaultKeySource
  private let vault: CurrentVault
  private let queue: RequestQueue<Authenticator>
  private let recorder: HistoryRecorder
  /// Runs its jobs in order, one at a time.
  private let writer: EventLoop
  private let lines = Lines()

  /// A user who types only wrong passphrases.
  init() throws {
    made = try MadeVault(passphrase: "right")
    writer = try EventLoop()
    let verifier = PassphraseVerifier()
    let prompter = UserPrompter(
      testing: ScriptedBackEnd(typed: ["wrong", "wrong", "wrong"]), verifier: verifier)
    let source = VaultKeySource(
      directory: made.directory, prompter: prompter, verifier: verifier,
      counter: CounterCheck(ask: { _, _, _ in .success(.withoutKey(UInt64(9).bigEndianBytes)) }, time: { 1235 }),
      log: lines.addProblem)
    let vault = source.vault
    let recorder = HistoryRecorder(vault: vault, writer: writer, time: { 1234 }, log: lines.addProblem)
    vault.observe { [weak recorder] in recorder?.vaultChanged($0) }
    queue = RequestQueue(
      Authenticator(
        keySource: source, interaction: prompter, extensions: [], randomness: SystemRandomNumberGenerator(),
        now: { .zero }, wallClock: { 0 }, expect: recorder.expect, report: recorder.ended))
    recorder.record(queue)
    (self.source, self.vault, self.recorder) = (source, vault, recorder)
  }

  /// The status of a registration with verification.
  private func register() async throws -> UInt8? {
    let message: CBORMap = [
      1: .bytes([UInt8](repeating: 0, count: 32)), 2: .map([.text("id"): .text("a.example")]),
      3: .map([.text("id"): .bytes([1]), .text("name"): .text("al")]),
      4: .array([.map([.text("alg"): -7, .text("type"): .text("public-key")])]), 7: .map([.text("uv"): .bool(true)]),
    ]
    return try await queue.submit { authenticator in
      await authenticator.respond(
        to: [0x01] + CBOREncoder.encode(.map(message)), in: RequestContext(channel: 1, poweredUpAt: .zero))
    }.first
  }

  /// The entries, after those that the recorder is writing now.
  private func written() async throws -> [HistoryEntry?] {
    try await Task(executorPreference: writer) { [queue, vault] in
      try await queue.submit { _ in
        try? vault.openStore?.history(after: .min, count: 1000).map(\.entry)
      }
    }.value ?? []
  }

  private func entry(
    _ kind: HistoryEntry.Kind, _ site: String?, _ outcome: HistoryEntry.Outcome
  ) -> HistoryEntry { HistoryEntry(time: 1234, site: site, kind: kind, outcome: outcome, verification: .none) }

  private func end(_ kind: HistoryEntry.Kind, _ site: String, _ error: CTAPError? = nil) {
    recorder.ended(CommandReport(command: nil, rpID: site, error: error, elapsed: .zero, kind: kind))
  }

  /// Runs a statement on the connection of an open store.
  private static func execute(_ sql: String, in store: CredentialDB) {
    #expect(throws: Never.self) {
      try store.with { session throws(StoreFault) in try session.connection.execute(sql) }
    }
  }

  /// Makes a new store; the old one is not open.
  private func makeNewStore() throws {
    #expect(unlink(made.directory.storePath) == 0)
    try made.directory.makeNewStore(passphrase: secret("right"))
  }

  // Holds: RECORD-12
  @Test func `an entry is in the file when its request has ended, before the answer is sent`() async throws {
    try await source.unlock(passphrase: secret("right"))
    let store = try #require(vault.openStore)
    recorder.ended(CommandReport(command: nil, rpID: "a.example", error: nil, elapsed: .zero, kind: .signIn))
    #expect(try store.history(after: .min, count: 10).map(\.entry) == [entry(.signIn, "a.example", .done)])
  }

  // Holds: RECORD-12
  @Test func `the entry of a change is in its transaction, once`() async throws {
    try await source.unlock(passphrase: secret("right"))
    let (store, open) = (try #require(vault.openStore), try #require(vault.current))
    let state = try store.state()
    let expected = HistoryEntry(
      time: 1234, site: "a.example", kind: .changePolicy, outcome: .done, verification: .passphrase)
    let authenticator = queue.copy
    try authenticator.reportingChange(.changePolicy, of: "a.example", in: open) {
      try store.setState(state)
      #expect(try store.history(after: .min, count: 10).map(\.entry) == [expected], "it is in the transaction")
      // A request that asks for nothing, which ends meanwhile, does not take it back.
      recorder.ended(CommandReport(command: GetInfo.name, rpID: nil, error: nil, elapsed: .zero))
    }
    // A change that fails has none, and the next change does not take it.
    #expect(throws: CTAPError.self) {
      try authenticator.reportingChange(.changePolicy, of: "b.example", in: open) {
        throw CTAPError(.notAllowed, "no")
      }
    }
    try store.setState(state)
    // What changes nothing in the store is added after it.
    try authenticator.reportingChange(.makeBackup, of: nil, in: open) {}
    let backup = HistoryEntry(time: 1234, site: nil, kind: .makeBackup, outcome: .done, verification: .passphrase)
    #expect(try await written() == [expected, backup])
  }

  // Holds: RECORD-8
  @Test func `a request that ends while another thread writes does not wait, and has its entry afterwards`()
    async throws
  {
    try await source.unlock(passphrase: secret("right"))
    let store = try #require(vault.openStore)
    let state = try store.state()
    // The store is in use until the observer returns.
    store.observe { [recorder] in
      let ended = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        recorder.ended(CommandReport(command: nil, rpID: "a.example", error: nil, elapsed: .zero, kind: .signIn))
        ended.signal()
      }
      #expect(ended.wait(timeout: .now() + .seconds(60 * patience)) == .success)
    }
    try store.setState(state)
    #expect(try await written() == [entry(.signIn, "a.example", .done)])
  }

  // Holds: RECORD-8
  @Test func `entries that wait for their turn are written before the process ends`() async throws {
    try await source.unlock(passphrase: secret("right"))
    let found = try await queue.submit { [recorder, vault] _ in
      recorder.ended(CommandReport(command: nil, rpID: "a.example", error: nil, elapsed: .zero, kind: .signIn))
      await recorder.finish()
      return try? vault.openStore?.history(after: .min, count: 10).map(\.entry)
    }
    #expect(found == [entry(.signIn, "a.example", .done)])
    #expect(try await written() == found, "each is written once")
  }

  // Holds: RECORD-8, ROTATE-2
  @Test func `entries that wait for their turn are in the store of a new phrase`() async throws {
    let unlocking = try #require(try await source.unlock(passphrase: secret("right")))
    let phrase = StateDirectory.NewPhrase(mainKey: SecretBytes.random(count: 64), ed25519Root: .random(count: 96))
    try await queue.submit { [recorder, vault] _ in
      recorder.ended(CommandReport(command: nil, rpID: "a.example", error: nil, elapsed: .zero, kind: .register))
      await recorder.finish()
      return Result { try vault.beginRotation(since: unlocking, to: phrase, now: 5) }
    }.get()
    try await source.unlock(passphrase: secret("right"))
    let begun = HistoryEntry(time: 5, site: nil, kind: .beginRotation, outcome: .done, verification: .passphrase)
    #expect(try await written() == [entry(.register, "a.example", .done), begun])
    #expect(lines.all == [])
    let open = try #require(vault.current)
    let left = #expect(throws: RecoveryError.self) { try open.refuseKeysLeft() }
    #expect(left?.description.hasPrefix("1 key of the old phrase is left; ") == true)
  }

  // Holds: RECORD-8
  @Test func `wrong passphrases that lock the vault are in the history after it is unlocked`() async throws {
    try await source.unlock(passphrase: secret("right"))
    let (denied, blocked) = (CTAPStatus.operationDenied.rawValue, CTAPStatus.pinBlocked.rawValue)
    #expect(try await [register(), register()] == [denied, denied])
    let failed = entry(.register, "a.example", .verificationFailed)
    #expect(try await written() == [failed, failed])
    #expect(try await register() == blocked)
    #expect(vault.current == nil && !vault.files.hasStore, "nothing keeps the store and its keys")
    try await source.unlock(passphrase: secret("right"))
    #expect(try await written() == [failed, failed, failed])
    vault.lock()
    try await source.unlock(passphrase: secret("right"))
    #expect(try await written() == [failed, failed, failed], "each is written once")
  }

  // Holds: RECORD-8
  @Test func `of requests that end while the vault is locked, the first 100 are kept, in their order`() async throws {
    for number in 0..<150 { end(.signIn, "\(number).example") }
    try await source.unlock(passphrase: secret("right"))
    end(.register, "last.example")
    let kept = (0..<100).map { entry(.signIn, "\($0).example", .done) }
    #expect(try await written() == kept + [entry(.register, "last.example", .done)])
    #expect(lines.all == [])
  }

  // Holds: RECORD-10
  @Test func `refusals at one site do not hide those at another, and those at all sites have a limit`() async throws {
    try await source.unlock(passphrase: secret("right"))
    let refusal = CTAPError(UserInteractionError.declined)
    for _ in 0..<150 { end(.signIn, "noisy.example", refusal) }
    for _ in 0..<2 { end(.signIn, "bank.example", refusal) }
    let denied = { (site: String) in self.entry(.signIn, site, .denied) }
    let kept =
      [HistoryEntry](repeating: denied("noisy.example"), count: 100)
      + [denied("bank.example"), denied("bank.example")]
    #expect(try await written() == kept)
    // A request that was done begins all of them again.
    end(.signIn, "bank.example")
    end(.signIn, "noisy.example", refusal)
    #expect(try await written() == kept + [entry(.signIn, "bank.example", .done), denied("noisy.example")])
    // A program can name any number of sites.
    for number in 1..<2500 { end(.signIn, "\(number).example", refusal) }
    #expect(try await count() == kept.count + 2 + HistoryRecorder.repeatedOfAllSites - 1)
    end(.signIn, "bank.example")
    end(.signIn, "bank.example", refusal)
    #expect(try await count() == kept.count + 2 + HistoryRecorder.repeatedOfAllSites - 1 + 2)
  }

  /// The number of entries, after those that the recorder is writing now.
  private func count() async throws -> Int {
    try await Task(executorPreference: writer) { [queue, vault] in
      try await queue.submit { _ in try? vault.openStore?.history(after: .min, count: 10_000).count }
    }.value ?? 0
  }

  // Holds: RECORD-8
  @Test func `a request that asked nobody is not kept`() async throws {
    end(.signIn, "a.example", CTAPError(.noCredentials, "no"))
    try await source.unlock(passphrase: secret("right"))
    #expect(try await written() == [])
  }

  // Holds: RECORD-8
  @Test(arguments: [true, false])
  func `entries that cannot be written are written later, the first 100`(_ atNextOpening: Bool) async throws {
    vault.observe { [weak recorder] event in
      if case .storeOpened(let store, _) = event {
        Self.execute(
          """
          CREATE TEMP TRIGGER full BEFORE INSERT ON history WHEN NEW.sequence = 3
          BEGIN SELECT RAISE(ABORT, 'there is no third entry'); END
          """, in: store)
      }
      recorder?.vaultChanged(event)
    }
    for number in 0..<10 { end(.signIn, "\(number).example") }
    try await source.unlock(passphrase: secret("right"))
    var all = (0..<102).map { entry(.signIn, "\($0).example", .done) }
    #expect(try await written() == Array(all[..<2]))
    for number in 10..<150 { end(.signIn, "\(number).example") }
    #expect(try await written() == Array(all[..<2]))
    #expect(!lines.all.isEmpty)
    for line in lines.all {
      #expect(line.hasPrefix("the last requests are not in the history yet: ") && line.contains("no third entry"))
    }
    vault.observe { [weak recorder] in recorder?.vaultChanged($0) }
    if atNextOpening {
      vault.lock()
      #expect(!vault.files.hasStore)
      try await source.unlock(passphrase: secret("right"))
    } else {
      Self.execute("DROP TRIGGER full", in: try #require(vault.openStore))
      end(.register, "last.example")
      all.append(entry(.register, "last.example", .done))
    }
    #expect(try await written() == all)
  }

  // Holds: RECORD-8
  @Test func `a new store gets no entries of the lost one`() async throws {
    end(.signIn, "lost.example")
    try makeNewStore()
    vault.storeWasReplaced(isNew: true)
    end(.signIn, "new.example")
    try await source.unlock(passphrase: secret("right"))
    let new = entry(.signIn, "new.example", .done)
    #expect(try await written() == [new])
    vault.lock()
    end(.register, "accepted.example")
    vault.storeWasReplaced(isNew: false)
    try await source.unlock(passphrase: secret("right"))
    #expect(try await written() == [new, entry(.register, "accepted.example", .done)], "the same store")
    vault.lock()
    end(.register, "lost.example")
    try makeNewStore()
    try await source.unlock(passphrase: secret("right"))
    #expect(try await written() == [], "its id is another one")
  }

  // Holds: RECORD-8, COUNTER-2
  @Test func `entries from before an opening precede its entry of an old store`() async throws {
    do {
      let content = try made.directory.unlock(passphrase: secret("right")).content
      let store = try made.directory.openStore(of: content, keys: made.keys)
      var state = try store.state()
      let auth = [UInt8](repeating: 1, count: 32).withUnsafeBytes(SecretBytes.init(copying:))
      state.counter = StoreCounter(index: 0x0180_0001, auth: auth, value: 7)
      try store.setState(state)
    }
    end(.signIn, "a.example")
    try await source.unlock(passphrase: secret("right"))
    let old = HistoryEntry(time: 1235, site: nil, kind: .findOldStore, outcome: .done, verification: .none)
    #expect(try await written() == [entry(.signIn, "a.example", .done), old])
  }
}
