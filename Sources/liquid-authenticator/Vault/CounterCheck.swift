import CTAP2
import ControlProtocol
import CredentialDB
import CryptoPrimitives
import ProcessIO
import ProtectorProtocol
import Recovery

/// The result of the comparison of the opened store with the counter in the TPM.
enum CounterFinding: Sendable, Equatable {
  case newest
  /// The store is an old copy, after which the vault was opened this many times; the last opening may have been
  /// interrupted.
  case oldCopy(openings: UInt64)
  /// The counter cannot be used; the text says why, and what to do.
  case unknown(String)

  var isOldCopy: Bool { if case .oldCopy = self { true } else { false } }

  /// What is wrong and what to do.
  var problem: String? {
    switch self {
    case .newest: nil
    case .oldCopy(let openings):
      "the store is an old copy: after it was made, the vault was opened \(openings) "
        + (openings == 1 ? "time (or that opening was interrupted, for example by a power cut)" : "times")
        + "; put the newest store back, or accept this copy with: liquid-auth vault counter accept"
    case .unknown(let reason): "cannot check whether the store is an old copy: \(reason)"
    }
  }
}

/// Compares the store with the counter in the TPM, at each opening of the store (Recovery §6).
///
/// Each call blocks until `liquid-auth-protector` has answered.
struct CounterCheck: Sendable {
  /// Asks the protector.
  let ask: SlotKeys.Ask
  /// Unix milliseconds.
  let time: @Sendable () -> UInt64

  /// Compares the store with its counter, and increments both if the store is the newest one.
  ///
  /// Otherwise, the PIN is blocked and the persistent token ends, because the owner may have changed both since the copy
  /// was made.
  ///
  /// - Returns: `nil` if the store has no counter, or cannot be read.
  func run(on store: CredentialDB) -> CounterFinding? {
    guard var state = try? store.state(), let counter = state.counter else { return nil }
    let finding: CounterFinding
    do {
      let value = try value(of: counter)
      switch counter.compared(with: value) {
      case .newest:
        try advance(&state, to: value + 1, in: store)
        return .newest
      case .oldCopy(let openings): finding = .oldCopy(openings: openings)
      case .counterWentBack:
        finding = .unknown(
          "the counter is lower than the stored value: the state of the TPM was set back; \(Self.advice)")
      }
    } catch let error as ProtectorFailure {
      finding = .unknown(Self.words(error))
    } catch {
      finding = .unknown("\(error)")
    }
    // If the store cannot be written, no try of the PIN can be counted either, and none is allowed.
    try? block(finding, in: store)
    return finding
  }

  private static let advice = "make a new counter with: liquid-auth vault counter on"

  private static func words(_ failure: ProtectorFailure) -> String {
    guard failure.kind == .absent else { return failure.description }
    return "\(failure); or the store is from before the last \"vault counter on\"; \(advice)"
  }

  private func block(_ finding: CounterFinding, in store: CredentialDB) throws {
    var state = try store.state()
    let found = state
    state.settings.pin?.retries = 0
    state.settings.endPersistentToken()
    if state != found { try store.setState(state) }
    guard case .oldCopy = finding else { return }
    try store.append(
      HistoryEntry(time: time(), site: nil, kind: .findOldStore, outcome: .done, verification: .none))
  }

  /// Makes a change for the owner, whose passphrase was checked.
  ///
  /// A PIN that the finding has blocked gets all its tries again.
  ///
  /// - Returns: the index of the counter that the store does not use any more.
  func change(_ change: ChangeCounter.Change, in store: CredentialDB, _ found: CounterFinding?) throws -> UInt32? {
    var state = try store.state()
    let old = state.counter?.index
    if case .unknown = found { state.settings.pin?.retries = StoredPIN.retries }
    switch change {
    case .accept:
      try accept(&state, in: store)
      return nil
    case _ where found?.isOldCopy == true:
      throw ControlFailure(
        .notAllowed, "the store is an old copy; accept it first, with: liquid-auth vault counter accept")
    case .on(let index, let auth, let value):
      state.counter = StoreCounter(index: index, auth: auth.withUnsafeBytes { Array($0) }, value: value)
    default:
      guard old != nil else { throw ControlFailure(.notAllowed, "the counter is already off") }
      state.counter = nil
    }
    try store.setState(state)
    return old
  }

  /// Makes an old copy the newest store, and gives the PIN all its tries.
  private func accept(_ state: inout StoreState, in store: CredentialDB) throws {
    do {
      guard let counter = state.counter, case let value = try value(of: counter),
        case .oldCopy = counter.compared(with: value)
      else { throw ControlFailure(.notAllowed, "the store is not an old copy: there is nothing to accept") }
      state.settings.pin?.retries = StoredPIN.retries
      try advance(&state, to: value + 1, in: store)
    } catch let error as ProtectorFailure {
      throw ControlFailure(.unavailable, Self.words(error))
    }
  }

  // MARK: The counter

  /// Increments the counter, and then writes the value durably.
  ///
  /// In the other order, a copy that is made between the two steps would become the newest store after another copy was
  /// opened. If the process ends in between, the store counts as an old copy, which the owner can accept.
  private func advance(_ state: inout StoreState, to value: UInt64, in store: CredentialDB) throws {
    guard let counter = state.counter else { return }
    let counted: UInt64
    do {
      counted = try self.value(of: counter, incremented: true)
    } catch {
      // The program can have ended after the increment, before its answer.
      counted = try self.value(of: counter)
      guard counted == value else { throw error }
    }
    guard counted == value else { throw ProtectorFailure(.failed, "another program has incremented the counter") }
    state.counter?.value = value
    try store.setState(state)
  }

  private func value(of counter: StoreCounter, incremented: Bool = false) throws(ProtectorFailure) -> UInt64 {
    let auth = counter.auth.withUnsafeBytes(SecretBytes.init(copying:))
    let request = ProtectorRequest(
      .get, type: ProtectorRequest.counterType, data: counter.index.bigEndianBytes + [incremented ? 1 : 0], pin: auth)
    let value = try ask(request, Cancellation(), {}).get().data.reduce(0) { $0 << 8 | UInt64($1) }
    guard value < .max else { throw .malformed(.protector) }
    return value
  }
}
