import AlgorandStatements
import CBOR
import Synchronization
import TestSupport

@testable import CTAP2
@testable import Recovery

/// A person who agrees to everything, unless the input says otherwise.
final class Person: UserInteraction {
  private struct Script {
    var refusal: UserInteractionError?
    var meanwhile: (@Sendable () -> Void)?
    var agreements = 0
  }

  let canVerify: Bool
  let verificationTriesLeft = 8
  private let script = Mutex(Script())

  init(canVerify: Bool) { self.canVerify = canVerify }

  /// How often the person agreed.
  var agreements: Int { script.withLock { $0.agreements } }

  /// Does not agree to the next prompt.
  func refuses(with error: UserInteractionError) { script.withLock { $0.refusal = error } }

  /// While the next prompt is open, this happens.
  func finds(_ event: @escaping @Sendable () -> Void) { script.withLock { $0.meanwhile = event } }

  /// Answers a prompt, also that of the vault.
  fileprivate func answer() throws(UserInteractionError) {
    let (refusal, meanwhile) = script.withLock { script in
      defer { (script.refusal, script.meanwhile) = (nil, nil) }
      return (script.refusal, script.meanwhile)
    }
    meanwhile?()
    if let refusal { throw refusal }
  }

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    try answer()
    script.withLock { $0.agreements += 1 }
    return Confirmation(userVerified: verification)
  }
}

/// A vault that is open, until the input locks it; then the person opens it.
final class PersonsVault: KeySource {
  private struct State {
    var open: OpenVault?
    var openings = 0
  }

  private let store: InMemoryCredentialStore
  private let person: Person
  private let state: Mutex<State>

  init(_ store: InMemoryCredentialStore, of person: Person) {
    (self.store, self.person) = (store, person)
    state = Mutex(State(open: Self.vault(store)))
  }

  private static func vault(_ store: InMemoryCredentialStore) -> OpenVault {
    OpenVault(keys: TestPhrase.keys, ed25519Root: TestPhrase.ed25519Root, store: store)
  }

  var current: OpenVault? { state.withLock { $0.open } }
  var reported: ReportedSettings { (try? store.state().settings.reported) ?? ReportedSettings() }
  /// How often the person opened it.
  var openings: Int { state.withLock { $0.openings } }

  func lock() { state.withLock { $0.open = nil } }

  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault {
    try person.answer()
    let vault = Self.vault(store)
    state.withLock { $0 = State(open: vault, openings: $0.openings + 1) }
    return vault.openedByPerson
  }
}

/// A clock that the input moves.
final class HandClock: Sendable {
  private let time = Mutex(Duration.seconds(1000))

  var now: Duration { time.withLock { $0 } }
  func advance(by duration: Duration) { time.withLock { $0 += duration } }
}

/// The same random numbers in every run.
struct FixedRandomness: RandomNumberGenerator, Sendable {
  private var state: UInt64 = 0

  mutating func next() -> UInt64 {
    var mixer = SplitMix64(state: state)
    let number = mixer.next()
    state = mixer.state
    return number
  }
}

/// An authenticator with a vault, and a store in memory.
struct World {
  private static let wallClock: UInt64 = 1_790_000_000_000
  /// makeCredential, getAssertion and getNextAssertion.
  private static let ceremonies: Set<UInt8> = [0x01, 0x02, 0x08]

  let store = InMemoryCredentialStore(
    keys: TestPhrase.keys, state: StoreState(storeID: [UInt8](repeating: 7, count: 16)))
  let person: Person
  let vault: PersonsVault
  let clock = HandClock()
  private(set) var authenticator: Authenticator
  var context: RequestContext

  init(canVerify: Bool = true) {
    let clock = clock
    person = Person(canVerify: canVerify)
    vault = PersonsVault(store, of: person)
    authenticator = Authenticator(
      keySource: vault, interaction: person, extensions: SupportedExtensions.all,
      hybridExtensions: SupportedExtensions.hybrid, randomness: FixedRandomness(), now: { clock.now },
      wallClock: { Self.wallClock }, report: { _ in })
    context = RequestContext(channel: 1, poweredUpAt: clock.now)
  }

  /// Sends a message, and checks the form of the answer: a status, alone or before a canonical map.
  ///
  /// - Returns: the status, and the members of the answer.
  mutating func send(_ message: [UInt8]) throws -> (status: CTAPStatus, members: CBORMap) {
    let (before, context) = (authenticator, context)
    let (answer, after) = try wait {
      var authenticator = before
      return (await authenticator.respond(to: message, in: context), authenticator)
    }
    authenticator = after
    guard let status = answer.first.flatMap(CTAPStatus.init(rawValue:)) else {
      fatalError("no known status: \(answer)")
    }
    expect(status == .success || answer.count == 1, "\(status) with \(answer.count - 1) bytes")
    if status == .success, let command = message.first, Self.ceremonies.contains(command) {
      expect(vault.current != nil, "a signature with a locked vault")
    }
    guard answer.count > 1 else { return (status, [:]) }
    guard let members = (try? CBORDecoder.decode(Array(answer.dropFirst())))?.map else {
      fatalError("a response that is no canonical map: \(answer)")
    }
    return (status, members)
  }

  mutating func send(_ command: UInt8, _ members: CBORMap) throws -> (status: CTAPStatus, members: CBORMap) {
    try send([command] + CBOREncoder.encode(.map(members)))
  }

  /// Sends a message of U2F, and checks the form of the answer: it ends with a known status word.
  mutating func send(u2F message: [UInt8], isPresent: Bool) -> [UInt8]? {
    let outcome = authenticator.respond(
      toU2F: message, confirmation: isPresent ? Confirmation(userVerified: false) : nil, in: context)
    guard case .answer(let answer) = outcome else { return nil }
    let isConstant = answer.count == 2 || Authenticator.isVersion(u2F: message)
    expect(isConstant || vault.current != nil, "an answer of U2F with a locked vault")
    let isKnown = answer.count >= 2 && U2FStatus(rawValue: UInt16(bigEndianBytes: answer.suffix(2))) != nil
    expect(isKnown, "no known status word: \(answer)")
    return answer
  }
}
