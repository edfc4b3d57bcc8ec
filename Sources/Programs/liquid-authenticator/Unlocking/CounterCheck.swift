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
  /// The counter cannot be used; why, and what to do.
  case unknown(Problem)

  /// What is wrong and what to do.
  var problem: Problem? {
    var problem: Problem
    switch self {
    case .newest: return nil
    case .oldCopy(let openings):
      problem = Problem(
        "the store is an old copy: after it was made, the vault was opened \(openings) "
          + (openings == 1 ? "time (or that opening was interrupted, for example by a power cut)" : "times"),
        hint: "put the newest store back, or accept this copy", with: CounterCheck.accepting)
    case .unknown(let reason): problem = reason.after("cannot check whether the store is an old copy: ")
    }
    problem.kind = .counter
    return problem
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
  /// - Returns: `nil` if the store has no counter.
  /// - Throws: if the store cannot be read, or the PIN cannot be blocked.
  func run(on store: CredentialDB) throws(RecoveryError) -> CounterFinding? {
    let state = try store.state()
    guard let counter = state.counter else { return nil }
    let finding = finding(counter, state, in: store)
    var entry: HistoryEntry?
    if case .oldCopy = finding {
      entry = HistoryEntry(time: time(), site: nil, kind: .findOldStore, outcome: .done, verification: .none)
    }
    store.expect(entry)
    defer {
      // If this fails, the finding is still in the log.
      if !store.takeBack(), let entry { try? store.append(entry) }
    }
    if finding != .newest { try block(in: store) }
    return finding
  }

  private func finding(_ counter: StoreCounter, _ state: StoreState, in store: CredentialDB) -> CounterFinding {
    do {
      let value = try value(of: counter)
      switch counter.compared(with: value) {
      case .newest:
        try advance(state, to: value + 1, in: store, then: Self.advice, with: Self.renewing)
        return .newest
      case .oldCopy(let openings): return .oldCopy(openings: openings)
      case .counterWentBack:
        return .unknown(
          Problem(
            "the counter is lower than the stored value: the state of the TPM was set back", hint: Self.advice,
            with: Self.renewing))
      }
    } catch let failure as ProtectorFailure {
      return .unknown(Self.problem(failure))
    } catch {
      // The error of the store names its file and what to do.
      return .unknown(ControlFailure(error).problem)
    }
  }

  private static let (advice, renewing) = ("make a new counter", ["liquid-auth", "vault", "counter", "on"])
  fileprivate static let accepting = ["liquid-auth", "vault", "counter", "accept"]

  private static func problem(_ failure: ProtectorFailure) -> Problem {
    guard failure.kind == .absent else { return Problem(failure.reason, hint: failure.hint) }
    return Problem(
      "\(failure); or the store is from before the last \"vault counter on\"", hint: advice, with: renewing)
  }

  private func block(in store: CredentialDB) throws(RecoveryError) {
    let found = try store.state()
    var state = found
    state.settings.pin?.retries = 0
    state.settings.endPersistentToken()
    if state != found { try store.setState(state) }
  }

  /// Makes a change for the owner, whose passphrase was checked.
  ///
  /// The PIN gets all its tries, because the counter may have blocked it.
  ///
  /// - Returns: the index of the counter that the store does not use any more.
  func change(_ change: ChangeCounter.Change, in store: CredentialDB, _ found: CounterFinding?) throws -> UInt32? {
    var state = try store.state()
    let old = state.counter?.index
    if old != nil { state.settings.pin?.retries = StoredPIN.retries }
    if case .accept = change {
      try accept(state, in: store)
      return nil
    }
    if case .oldCopy = found {
      throw ControlFailure(
        .notAllowed, "the store is an old copy", hint: "accept it first, with:", run: Self.accepting)
    }
    switch change {
    case .accept: break
    case .on(let index, let auth, let value):
      state.counter = StoreCounter(index: index, auth: auth, value: value)
    case .off:
      guard old != nil else { throw ControlFailure(.notAllowed, "the counter is already off") }
      state.counter = nil
    }
    try store.setState(state)
    return old
  }

  /// Makes an old copy the newest store, with this state.
  private func accept(_ state: StoreState, in store: CredentialDB) throws {
    do {
      guard let counter = state.counter, case let value = try value(of: counter),
        case .oldCopy = counter.compared(with: value)
      else { throw ControlFailure(.notAllowed, "the store is not an old copy: there is nothing to accept") }
      try advance(state, to: value + 1, in: store, then: "try again", with: Self.accepting)
    } catch let failure as ProtectorFailure {
      throw ControlFailure(.unavailable, Self.problem(failure))
    }
  }

  // MARK: The counter

  /// Increments the counter, and then writes the value durably.
  ///
  /// In the other order, a copy that is made between the two steps would become the newest store after another copy was
  /// opened. If the process ends in between, the store counts as an old copy, which the owner can accept.
  ///
  /// - Parameters:
  ///   - hint: what to do if another authenticator has incremented it, after one of the two is stopped.
  ///   - command: the command that does it.
  private func advance(
    _ state: StoreState, to value: UInt64, in store: CredentialDB, then hint: String, with command: [String]
  ) throws {
    guard let counter = state.counter else { return }
    guard try self.value(of: counter, incremented: true) == value else {
      throw ControlFailure(
        .unavailable, "another authenticator works on a copy of this directory",
        hint: "stop one of them, then \(hint) with:", run: command)
    }
    var state = state
    state.counter?.value = value
    try store.setState(state)
  }

  private func value(of counter: StoreCounter, incremented: Bool = false) throws(ProtectorFailure) -> UInt64 {
    let request = ProtectorRequest(
      .get, type: ProtectorRequest.counterType, data: counter.index.bigEndianBytes + [incremented ? 1 : 0],
      pin: counter.auth)
    let value = try ask(request, Cancellation(), {}).get().data.reduce(0) { $0 << 8 | UInt64($1) }
    guard value < .max else { throw .malformed(.protector) }
    return value
  }
}
