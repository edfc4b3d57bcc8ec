import CTAP2
import CTAPHID
import CryptoPrimitives
import DeterministicKeys
import Glibc
import Recovery

/// A whole security key in this process: reports in, reports out, the same parts that the authenticator runs.
struct DemoDevice {
  /// Gets a line for each thing that a user would see.
  typealias Output = @Sendable (String) -> Void

  private var machine: CTAPHIDStateMachine
  private var authenticator: Authenticator
  private var instant: Int64 = 0

  /// Makes a key for a phrase, with an empty store.
  init(phrase: BIP39Phrase, report: @escaping Output) throws(CryptoError) {
    let keys = CredentialKeys(mainKey: try MainKey.derive(from: phrase))
    let vault = OpenVault(
      keys: keys, ed25519Root: try BIP32Ed25519.root(from: phrase), store: InMemoryCredentialStore(keys: keys))
    authenticator = Authenticator(
      keySource: OpenKeySource(vault), interaction: DemoPerson(report: report), extensions: [CredProtect.self],
      randomness: SystemRandomNumberGenerator(), now: { .zero }, wallClock: unixMilliseconds, report: { _ in })
    machine = CTAPHIDStateMachine(
      identity: DeviceIdentity(capabilities: [.wink, .cbor, .nmsg]), firstChannel: 1)
  }

  /// Takes one report from the host, and returns those that answer it.
  mutating func receive(_ report: Report) async -> [Report] {
    instant += 1
    var sent: [Report] = []
    for action in machine.receive(report, at: Instant(nanoseconds: instant)) {
      switch action {
      case .send(let report): sent.append(report)
      case .dispatch(let request):
        let context = RequestContext(channel: UInt64(request.channel.rawValue), poweredUpAt: .zero)
        let answer = await authenticator.respond(to: request.payload, in: context)
        for case .send(let report) in machine.respond(answer, to: request.transaction) { sent.append(report) }
      case .cancel, .wink: break  // the demo's client does neither
      }
    }
    return sent
  }
}

/// Answers prompts in the user's place, and reports each one.
///
/// It protects only a phrase that the demo has just made.
private struct DemoPerson: UserInteraction {
  let report: DemoDevice.Output

  var canVerify: Bool { true }
  var verificationTriesLeft: Int { 8 }

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    let what =
      switch prompt.purpose {
      case .register: "register"
      case .alreadyRegistered: "confirm that there is a passkey already"
      case .signIn: "sign in"
      case .select: "select this key"
      case .setPIN: "set a PIN"
      case .registerSecondFactor: "make a second factor"
      case .signInSecondFactor: "sign in with a second factor"
      case .authorize: "let a program continue"
      case .change: "change the settings"
      case .reset: "reset"
      case .wallet, .export:
        // The demo has no wallet and no control socket.
        throw .declined
      }
    let verified = verification ? ", verified" : ""
    report("the demo agrees in your place\(verified): \(what) at \(prompt.rpID ?? "this key")")
    return Confirmation(userVerified: verification)
  }
}
