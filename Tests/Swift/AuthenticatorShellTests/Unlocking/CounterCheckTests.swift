import ControlProtocol
import CredentialDB
import CryptoPrimitives
import ProtectorProtocol
import Recovery
import StateDirectory
import Synchronization
import Testing
import Vault

@testable import PromptsTests
@testable import liquid_authenticator

@Suite struct CounterCheckTests {
  private static let auth = [UInt8](0x40..<0x60)
  private let store: CredentialDB
  private let made: MadeVault
  private let tpm = CountingTPM()

  init() throws {
    made = try MadeVault(passphrase: "right")
    let content = try made.directory.unlock(passphrase: secret("right")).content
    store = try made.directory.openStore(of: content, keys: made.keys)
  }

  /// A TPM with one counter, whose value is 7 at first.
  private final class CountingTPM: Sendable {
    let value = Mutex<UInt64>(7)
    /// The answer in place of a value.
    let failure = Mutex<ProtectorFailure?>(nil)
    /// Whether the next increment is made, and its answer lost.
    let isAnswerLost = Mutex(false)
    /// Called before each increment.
    let incrementing = Mutex<(@Sendable () -> Void)?>(nil)
    let requests = Mutex<[[UInt8]]>([])

    func answer(_ request: ProtectorRequest) -> Result<ProtectorAnswer, ProtectorFailure> {
      requests.withLock { $0.append(request.data) }
      #expect(request.operation == .get && request.type == ProtectorRequest.counterType)
      #expect(request.pin?.withUnsafeBytes { Array($0) } == CounterCheckTests.auth)
      if request.data.last == 1 { incrementing.withLock(\.self)?() }
      if let failure = failure.withLock(\.self) { return .failure(failure) }
      let value = value.withLock { value in
        value += UInt64(request.data.last ?? 0)
        return value
      }
      if request.data.last == 1, isAnswerLost.withLock(\.self) {
        return .failure(ProtectorFailure(.failed, "ended"))
      }
      return .success(.withoutKey(value.bigEndianBytes))
    }
  }

  private var check: CounterCheck { CounterCheck(ask: { [tpm] request, _, _ in tpm.answer(request) }, time: { 1234 }) }

  private func turnOn() throws {
    let auth = Self.auth.withUnsafeBytes(SecretBytes.init(copying:))
    let on = ChangeCounter.Change.on(index: 0x0180_0001, auth: auth, value: tpm.value.withLock(\.self))
    #expect(try check.change(on, in: store, nil) == nil)
  }

  private var stored: UInt64? { get throws { try store.state().counter?.value } }

  // Holds: COUNTER-1
  @Test func `the counter is incremented before the value is written`() throws {
    #expect(try check.run(on: store) == nil, "no counter")
    try turnOn()
    let seen = Mutex<[UInt64?]>([])
    tpm.incrementing.withLock { $0 = { [store] in seen.withLock { $0.append(try? store.state().counter?.value) } } }
    #expect(try check.run(on: store) == .newest)
    #expect(try check.run(on: store) == .newest)
    #expect(seen.withLock(\.self) == [7, 8])
    let (read, increment): ([UInt8], [UInt8]) = ([1, 0x80, 0, 1, 0], [1, 0x80, 0, 1, 1])
    #expect(tpm.requests.withLock(\.self) == [read, increment, read, increment])
    #expect(try stored == 9)
  }

  // Holds: COUNTER-4, COUNTER-6
  @Test func `after an increment that fails, the store is still the newest`() throws {
    try turnOn()
    tpm.incrementing.withLock { $0 = { [tpm] in tpm.failure.withLock { $0 = ProtectorFailure(.failed, "why") } } }
    for _ in 0..<3 {
      #expect(try check.run(on: store) == .unknown("why"))
      #expect(try stored == 7)
      tpm.failure.withLock { $0 = nil }
    }
    tpm.incrementing.withLock { $0 = nil }
    #expect(try check.run(on: store) == .newest)
    #expect(try stored == 8 && tpm.value.withLock(\.self) == 8)
  }

  // Holds: COUNTER-6
  @Test func `after an increment without an answer, the owner can accept the store`() throws {
    try turnOn()
    tpm.isAnswerLost.withLock { $0 = true }
    #expect(try check.run(on: store) == .unknown("ended"))
    #expect(try stored == 7 && tpm.value.withLock(\.self) == 8)
    tpm.isAnswerLost.withLock { $0 = false }
    let found = try check.run(on: store)
    #expect(try found == .oldCopy(openings: 1) && check.change(.accept, in: store, found) == nil && stored == 9)
  }

  // Holds: COUNTER-6
  @Test func `an authenticator that works on a copy at the same time is reported, and nothing is written`() throws {
    try turnOn()
    let reason = "another authenticator works on a copy of this directory"
    tpm.incrementing.withLock { [tpm] in $0 = { tpm.value.withLock { $0 += 1 } } }
    #expect(
      try check.run(on: store)
        == .unknown(
          Problem(
            reason, hint: "stop one of them, then make a new counter",
            with: ["liquid-auth", "vault", "counter", "on"])))
    #expect(try stored == 7 && tpm.value.withLock(\.self) == 9)
    let failure = try #require(throws: ControlFailure.self) {
      try check.change(.accept, in: store, .oldCopy(openings: 2))
    }
    #expect(
      failure.problem
        == Problem(
          reason, hint: "stop one of them, then try again", with: ["liquid-auth", "vault", "counter", "accept"]))
    #expect(try failure.status == .unavailable && stored == 7)
    tpm.incrementing.withLock { $0 = nil }
    #expect(try check.change(.accept, in: store, .oldCopy(openings: 4)) == nil && stored == 12)
  }

  // Holds: COUNTER-7
  @Test func `however openings were interrupted, a complete one makes every copy from before it old`() throws {
    try turnOn()
    var generator = SeededGenerator(state: 13)
    var copies = [try #require(try store.state().counter)]
    var (complete, interrupted) = (0, 0)
    for _ in 0..<400 {
      var state = try store.state()
      state.counter = copies.suffix(4).randomElement(using: &generator)
      try store.setState(state)
      // The power stays on, or is cut before or after the increment, and the store is not written.
      let cut = Int.random(in: 0..<3, using: &generator)
      tpm.incrementing.withLock { [tpm] in
        guard cut > 0 else { return $0 = nil }
        $0 = {
          tpm.value.withLock { $0 += cut == 2 ? 1 : 0 }
          tpm.failure.withLock { $0 = ProtectorFailure(.failed, "cut") }
        }
      }
      let finding = try check.run(on: store)
      var isComplete = finding == .newest
      if case .oldCopy = finding {
        do { isComplete = try check.change(.accept, in: store, finding) == nil } catch is ControlFailure {}
      }
      tpm.failure.withLock { $0 = nil }
      let value = tpm.value.withLock(\.self)
      if isComplete {
        complete += 1
        for copy in copies { #expect(copy.value < value, "seed 13, opening \(complete)") }
      } else {
        interrupted += 1
      }
      copies.append(try #require(try store.state().counter))
    }
    #expect(complete > 50 && interrupted > 50, "\(complete) \(interrupted)")
  }

  // Holds: COUNTER-4
  @Test func `the PIN is blocked unless the store is the newest, and the owner gives the tries back`() throws {
    try turnOn()
    var state = try store.state()
    let hash = [UInt8](repeating: 1, count: 16).withUnsafeBytes(SecretBytes.init(copying:))
    state.settings.pin = StoredPIN(hash: hash, length: 4, retries: 5)
    try store.setState(state)
    let retries = { [store] in try store.state().settings.pin?.retries }
    #expect(try check.run(on: store) == .newest && retries() == 5)
    for kind in [ProtectorFailure.Kind.absent, .failed] {
      tpm.failure.withLock { $0 = ProtectorFailure(kind, "gone") }
      let found = try check.run(on: store)
      #expect(try retries() == 0)
      tpm.failure.withLock { $0 = nil }
      let on = ChangeCounter.Change.on(
        index: 0x0180_0001, auth: Self.auth.withUnsafeBytes(SecretBytes.init(copying:)),
        value: tpm.value.withLock(\.self))
      #expect(try check.change(on, in: store, found) == 0x0180_0001 && retries() == 8)
    }
    tpm.value.withLock { $0 = 1 }
    let found = try check.run(on: store)
    #expect(try retries() == 0)
    #expect(try check.change(.off, in: store, found) == 0x0180_0001 && retries() == 8)
  }

  // Holds: COUNTER-2, COUNTER-3
  @Test func `an old copy is found until it is accepted`() throws {
    try turnOn()
    var state = try store.state()
    state.settings.alwaysUV = true
    try store.setState(state)
    tpm.value.withLock { $0 = 10 }
    for _ in 0..<2 { #expect(try check.run(on: store) == .oldCopy(openings: 3)) }
    #expect(try stored == 7 && tpm.value.withLock(\.self) == 10)
    #expect(try store.state() == state, "without a PIN, nothing else changes")
    let entry = HistoryEntry(time: 1234, site: nil, kind: .findOldStore, outcome: .done, verification: .none)
    #expect(try store.history(after: .min, count: 10).map(\.entry) == [entry, entry])
    #expect(throws: ControlFailure.self) { try check.change(.off, in: store, .oldCopy(openings: 3)) }
    #expect(try check.change(.accept, in: store, .oldCopy(openings: 3)) == nil)
    #expect(try stored == 11 && tpm.value.withLock(\.self) == 11)
    #expect(try check.run(on: store) == .newest)
    #expect(throws: ControlFailure.self) { try check.change(.accept, in: store, .newest) }
    #expect(try check.change(.off, in: store, .newest) == 0x0180_0001)
    #expect(try stored == nil)
  }

  // Holds: COUNTER-4
  @Test func `a counter that is missing or went back is reported, and changes nothing`() throws {
    try turnOn()
    let before = try store.state()
    tpm.failure.withLock { $0 = ProtectorFailure(.absent, "gone") }
    let gone = Problem(
      "gone; or the store is from before the last \"vault counter on\"", hint: "make a new counter",
      with: ["liquid-auth", "vault", "counter", "on"])
    #expect(try check.run(on: store) == .unknown(gone))
    #expect(throws: ControlFailure.self) { try check.change(.accept, in: store, nil) }
    tpm.failure.withLock { $0 = nil }
    tpm.value.withLock { $0 = 5 }
    guard case .unknown(let problem) = try check.run(on: store) else {
      Issue.record("it was not found")
      return
    }
    #expect(problem.reason.hasPrefix("the counter is lower than the stored value"))
    #expect(problem.remedy == gone.remedy)
    #expect(try store.state() == before)
    let old = CounterFinding.oldCopy(openings: 1).problem
    #expect(old?.reason.contains("1 time (or that opening was interrupted,") == true && old?.kind == .counter)
    #expect(CounterFinding.unknown("why").problem?.kind == .counter && CounterFinding.newest.problem == nil)
  }
}
