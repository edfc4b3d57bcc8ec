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
  /// The store is an old copy, after which the vault was opened this many times.
  case oldCopy(openings: UInt64)
  /// The counter cannot be used; the text says why, and what to do.
  case unknown(String)

  /// What is wrong and what to do.
  var problem: String? {
    switch self {
    case .newest: nil
    case .oldCopy(let openings):
      "the store is an old copy: after it was made, the vault was opened \(openings) \(openings == 1 ? "time" : "times"); "
        + "put the newest store back, or accept this copy with: liquid-auth vault counter accept"
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
  /// In an old copy, the PIN is blocked and the persistent token ends, because the owner may have changed both since the
  /// copy was made.
  ///
  /// - Returns: `nil` if the store has no counter.
  func run(on store: CredentialDB) -> CounterFinding? {
    do {
      var state = try store.state()
      guard let counter = state.counter else { return nil }
      let value = try value(of: counter)
      switch counter.compared(with: value) {
      case .newest:
        try advance(&state, to: value + 1, in: store)
        return .newest
      case .oldCopy(let openings):
        try block(state, in: store)
        return .oldCopy(openings: openings)
      case .counterWentBack:
        return .unknown("the counter is lower than the stored value: the state of the TPM was set back; \(Self.advice)")
      }
    } catch let error as ProtectorFailure {
      return .unknown(Self.words(error))
    } catch {
      return .unknown("\(error)")
    }
  }

  private static let advice = "make a new counter with: liquid-auth vault counter on"

  private static func words(_ failure: ProtectorFailure) -> String {
    failure.description + (failure.kind == .absent ? "; \(advice)" : "")
  }

  private func block(_ state: StoreState, in store: CredentialDB) throws {
    var safe = state
    safe.settings.pin?.retries = 0
    safe.settings.endPersistentToken()
    if safe != state { try store.setState(safe) }
    try store.append(
      HistoryEntry(time: time(), site: nil, kind: .findOldStore, outcome: .done, verification: .none))
  }

  /// Makes a change for the owner, whose passphrase was checked.
  ///
  /// - Returns: the index of the counter that the store does not use any more.
  func change(_ change: ChangeCounter.Change, in store: CredentialDB, _ found: CounterFinding?) throws -> UInt32? {
    var state = try store.state()
    let old = state.counter?.index
    if case .accept = change {
      try accept(&state, in: store)
      return nil
    }
    if case .oldCopy = found {
      throw ControlFailure(
        .notAllowed, "the store is an old copy; accept it first, with: liquid-auth vault counter accept")
    }
    switch change {
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

  /// Writes the next value durably, and then increments the counter.
  ///
  /// If the process ends in between, the store is one ahead of the counter: the next opening accepts this, and increments
  /// the counter.
  private func advance(_ state: inout StoreState, to value: UInt64, in store: CredentialDB) throws {
    if state.counter?.value != value {
      state.counter?.value = value
      try store.setState(state)
    }
    guard let counter = state.counter, try self.value(of: counter, incremented: true) == value else {
      throw ProtectorFailure(.failed, "another program has incremented the counter")
    }
  }

  private func value(of counter: StoreCounter, incremented: Bool = false) throws(ProtectorFailure) -> UInt64 {
    let auth = counter.auth.withUnsafeBytes(SecretBytes.init(copying:))
    let request = ProtectorRequest(
      .get, type: ProtectorRequest.counterType, data: counter.index.bigEndianBytes + [incremented ? 1 : 0], pin: auth)
    return try ask(request, Cancellation(), {}).get().data.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
