import ControlProtocol
import CredentialDB
import CryptoPrimitives
import ProtectorProtocol
import Recovery
import StateDirectory
import Synchronization
import Testing
import Vault

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
  @Test func `the value is written before the counter is incremented`() throws {
    #expect(check.run(on: store) == nil, "no counter")
    try turnOn()
    let seen = Mutex<[UInt64?]>([])
    tpm.incrementing.withLock { $0 = { [store] in seen.withLock { $0.append(try? store.state().counter?.value) } } }
    #expect(check.run(on: store) == .newest && check.run(on: store) == .newest)
    #expect(seen.withLock(\.self) == [8, 9])
    let (read, increment): ([UInt8], [UInt8]) = ([1, 0x80, 0, 1, 0], [1, 0x80, 0, 1, 1])
    #expect(tpm.requests.withLock(\.self) == [read, increment, read, increment])
    #expect(try stored == 9)
  }

  // Holds: COUNTER-4, COUNTER-6
  @Test func `a failed increment is made at the next opening, and the store is never two ahead`() throws {
    try turnOn()
    tpm.incrementing.withLock { $0 = { [tpm] in tpm.failure.withLock { $0 = ProtectorFailure(.failed, "why") } } }
    for _ in 0..<3 {
      #expect(check.run(on: store) == .unknown("why"))
      #expect(try stored == 8)
      tpm.failure.withLock { $0 = nil }
    }
    tpm.incrementing.withLock { $0 = nil }
    #expect(check.run(on: store) == .newest)
    #expect(try stored == 8 && tpm.value.withLock(\.self) == 8)
  }

  // Holds: COUNTER-2, COUNTER-3
  @Test func `an old copy is found until it is accepted`() throws {
    try turnOn()
    var state = try store.state()
    state.settings.alwaysUV = true
    try store.setState(state)
    tpm.value.withLock { $0 = 10 }
    for _ in 0..<2 { #expect(check.run(on: store) == .oldCopy(openings: 3)) }
    #expect(try stored == 7 && tpm.value.withLock(\.self) == 10)
    #expect(try store.state() == state, "without a PIN, nothing else changes")
    let entry = HistoryEntry(time: 1234, site: nil, kind: .findOldStore, outcome: .done, verification: .none)
    #expect(try store.history(after: .min, count: 10).map(\.entry) == [entry, entry])
    #expect(throws: ControlFailure.self) { try check.change(.off, in: store, .oldCopy(openings: 3)) }
    #expect(try check.change(.accept, in: store, .oldCopy(openings: 3)) == nil)
    #expect(try stored == 11 && tpm.value.withLock(\.self) == 11)
    #expect(check.run(on: store) == .newest)
    #expect(throws: ControlFailure.self) { try check.change(.accept, in: store, .newest) }
    #expect(try check.change(.off, in: store, .newest) == 0x0180_0001)
    #expect(try stored == nil)
  }

  // Holds: COUNTER-4
  @Test func `a counter that is missing or went back is reported, and changes nothing`() throws {
    try turnOn()
    let before = try store.state()
    tpm.failure.withLock { $0 = ProtectorFailure(.absent, "gone") }
    #expect(check.run(on: store) == .unknown("gone; make a new counter with: liquid-auth vault counter on"))
    #expect(throws: ControlFailure.self) { try check.change(.accept, in: store, nil) }
    tpm.failure.withLock { $0 = nil }
    tpm.value.withLock { $0 = 5 }
    guard case .unknown(let reason) = check.run(on: store) else {
      Issue.record("it was not found")
      return
    }
    #expect(reason.hasPrefix("the counter is lower than the stored value"))
    #expect(try store.state() == before)
    #expect(CounterFinding.oldCopy(openings: 1).problem?.contains("was opened 1 time;") == true)
    #expect(CounterFinding.newest.problem == nil)
  }
}
