import AlgorandStatements
import CBOR
import CTAP2
import CryptoPrimitives
import Recovery
import Synchronization
import TestVectors

/// The keys of `keys-and-recovery.json`.
enum TestPhrase {
  private static let input = try? Vector("keys-and-recovery").input

  static let keys = CredentialKeys(mainKey: secret(input?.mainKey.bytes))
  static let ed25519Root = secret(input?.ed25519Root.bytes)

  private static func secret(_ vector: [UInt8]?) -> SecretBytes {
    var bytes = vector ?? []
    return SecretBytes(consuming: &bytes)
  }
}

/// A vault that is open, or opens on request.
final class TestKeySource: KeySource {
  private struct State {
    var open: OpenVault?
    var reasons: [UnlockReason?] = []
    var error: UserInteractionError?
    var asksPerson = false
  }

  private let store: any CredentialStore
  private let state: Mutex<State>

  init(store: any CredentialStore, isOpen: Bool = true) {
    self.store = store
    state = Mutex(State(open: isOpen ? Self.vault(store) : nil))
  }

  private static func vault(_ store: any CredentialStore) -> OpenVault {
    OpenVault(keys: TestPhrase.keys, ed25519Root: TestPhrase.ed25519Root, store: store)
  }

  var current: OpenVault? { state.withLock { $0.open } }

  var reported: ReportedSettings { (try? store.state().settings.reported) ?? ReportedSettings() }

  /// The number of passphrase prompts.
  var openings: Int { reasons.count }

  /// The reasons for the passphrase prompts.
  var reasons: [UnlockReason?] { state.withLock { $0.reasons } }

  func lock(thenFailWith error: UserInteractionError? = nil) {
    state.withLock { state in
      state.open = nil
      state.error = error
    }
  }

  /// From now on, a user types the passphrase to open the vault.
  func askPerson() { state.withLock { $0.asksPerson = true } }

  func unlock() { state.withLock { $0.open = Self.vault(store) } }

  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault {
    try state.withLock { state throws(UserInteractionError) in
      state.reasons.append(reason)
      if let error = state.error { throw error }
      let vault = state.open ?? Self.vault(store)
      state.open = vault
      return state.asksPerson ? vault.openedByPerson : vault
    }
  }
}

/// A clock that the test moves.
final class HandClock: Sendable {
  private let time = Mutex(Duration.seconds(1000))

  var now: Duration { time.withLock { $0 } }
  func advance(by duration: Duration) { time.withLock { $0 += duration } }
}

/// Random numbers that are the same in every run: SplitMix64.
struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64 = 0) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}

/// The answer that a client gets.
struct Answer: Equatable, Sendable, CustomStringConvertible {
  let bytes: [UInt8]

  var status: CTAPStatus? { bytes.first.flatMap(CTAPStatus.init(rawValue:)) }
  /// The response map, decoded strictly.
  var map: CBORMap? { try? CBORDecoder.decode(Array(bytes.dropFirst())).map }
  /// The authenticator data of a registration or sign-in.
  var data: ParsedAuthenticatorData? { map?[2]?.bytes.flatMap(ParsedAuthenticatorData.init) }
  var description: String { Hex(bytes).description }
}

/// An authenticator with its whole environment.
struct TestWorld {
  static let wallClock: UInt64 = 1_790_000_000_000

  let store: ObservedStore
  let person: ScriptedPerson
  let keySource: TestKeySource
  let clock = HandClock()
  let reports = Reports()
  /// The reports whose entries go into the transaction of a change.
  let expected = Reports()
  var authenticator: Authenticator
  var context: RequestContext

  init(
    canVerify: Bool = true, isOpen: Bool = true,
    state: StoreState = StoreState(storeID: [UInt8](repeating: 7, count: 16)),
    extensions: [any AuthenticatorExtension.Type] = SupportedExtensions.all
  ) {
    let clock = clock
    let (reports, expected) = (reports, expected)
    store = ObservedStore(state: state)
    person = ScriptedPerson(canVerify: canVerify)
    keySource = TestKeySource(store: store, isOpen: isOpen)
    context = RequestContext(channel: 1, poweredUpAt: clock.now)
    authenticator = Authenticator(
      keySource: keySource, interaction: person, extensions: extensions,
      hybridExtensions: SupportedExtensions.hybrid, randomness: SeededGenerator(),
      now: { clock.now }, wallClock: { Self.wallClock },
      expect: { report, _ in if let report { expected.append(report) } }, report: { reports.append($0) })
  }

  /// Sends a message on the current channel, or on another.
  mutating func send(_ message: [UInt8], channel: UInt64? = nil) async -> Answer {
    let context = RequestContext(
      channel: channel ?? context.channel, poweredUpAt: context.poweredUpAt, pluggedInAt: context.pluggedInAt,
      isHybrid: context.isHybrid)
    return Answer(bytes: await authenticator.respond(to: message, in: context))
  }

  mutating func send(_ code: UInt8, _ parameters: CBORMap, channel: UInt64? = nil) async -> Answer {
    await send([code] + CBOREncoder.encode(.map(parameters)), channel: channel)
  }

  mutating func makeCredential(_ parameters: CBORMap) async -> Answer { await send(0x01, parameters) }
  mutating func getAssertion(_ parameters: CBORMap) async -> Answer { await send(0x02, parameters) }
  mutating func getNextAssertion(channel: UInt64? = nil) async -> Answer { await send([0x08], channel: channel) }

  /// From now on, requests come by hybrid transports.
  mutating func comesFromAnotherComputer() {
    context = RequestContext(channel: context.channel, poweredUpAt: context.poweredUpAt, isHybrid: true)
  }

  /// Detaches the device and attaches it again.
  mutating func replug() {
    clock.advance(by: .milliseconds(1))
    context = RequestContext(
      channel: context.channel, poweredUpAt: context.poweredUpAt, pluggedInAt: clock.now)
  }

  /// The same as after a start of the authenticator, or a power cycle by the owner.
  mutating func powerCycle() {
    clock.advance(by: .milliseconds(1))
    context = RequestContext(channel: context.channel, poweredUpAt: clock.now)
  }
}

/// The reports for the log.
final class Reports: Sendable {
  private let list = Mutex<[CommandReport]>([])

  var all: [CommandReport] { list.withLock { $0 } }
  func append(_ report: CommandReport) { list.withLock { $0.append(report) } }
}
