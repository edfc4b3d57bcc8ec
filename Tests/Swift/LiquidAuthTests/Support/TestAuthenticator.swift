import AlgorandStatements
import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import LiquidAuth
import Recovery
import Synchronization
import TestSupport
import TestVectors

/// The real authenticator with the phrase of `keys-and-recovery.json`, a store in memory and a test user.
actor TestAuthenticator: AuthenticatorPort {
  /// Changes the answer to a command before it is returned.
  typealias Tampering = @Sendable (_ command: UInt8, inout CBORMap) -> Void

  nonisolated let person: TestPerson
  nonisolated let store: InMemoryCredentialStore
  private let vault: OpenVault
  private var authenticator: Authenticator
  private let tampering: Tampering

  init(
    person: TestPerson = TestPerson(), extensions: [any AuthenticatorExtension.Type] = [LiquidExtension.self],
    tampering: @escaping Tampering = { _, _ in }
  ) throws {
    let input = try KeysAndRecovery.load().input
    self.person = person
    store = InMemoryCredentialStore(keys: CredentialKeys(mainKey: input.mainKey.hex.secret))
    vault = OpenVault(
      keys: CredentialKeys(mainKey: input.mainKey.hex.secret), ed25519Root: input.ed25519Root.hex.secret, store: store)
    authenticator = Authenticator(
      keySource: OpenKeySource(vault), interaction: person, extensions: extensions,
      randomness: SystemRandomNumberGenerator(), now: { .seconds(1) }, wallClock: { 1_790_000_000_000 },
      report: { _ in })
    self.tampering = tampering
  }

  func account() async throws(PortError) -> String {
    do { return try vault.algorandAccount().address.text } catch { throw .refused("\(error)") }
  }

  func walletPasskey(rpID: String, host: String = "") async throws(PortError) -> WalletPasskey {
    let address = Array(try await account().utf8)
    do {
      if case .record(let record) = try store.account(rpIDHash: RPIDHash(rpID: rpID), userID: address) {
        return WalletPasskey(credentialID: record.id, isStored: true)
      }
      let input = try KeysAndRecovery.load().input
      let key = try DeterministicP256.privateKey(
        mainKey: input.mainKey.hex.secret, origin: Array(rpID.utf8), userHandle: address, counter: 0)
      return WalletPasskey(credentialID: SHA256.hash(key.publicKey.raw), isStored: false)
    } catch {
      throw .refused("\(error)")
    }
  }

  func respond(to message: [UInt8]) async throws(PortError) -> [UInt8] {
    var serving = authenticator
    let answer = await serving.respond(to: message, in: RequestContext(channel: 1, poweredUpAt: .zero))
    authenticator = serving
    guard answer.count > 1, let command = message.first,
      var members = (try? CBORDecoder.decode(Array(answer.dropFirst())))?.map
    else { return answer }
    tampering(command, &members)
    return answer.prefix(1) + CBOREncoder.encode(.map(members))
  }
}

/// A user who agrees, or refuses if set to.
final class TestPerson: UserInteraction {
  let canVerify: Bool
  let verificationTriesLeft = 8
  private let refusal: UserInteractionError?
  private let list = Mutex<[UserPrompt]>([])

  init(canVerify: Bool = true, refusing refusal: UserInteractionError? = nil) {
    self.canVerify = canVerify
    self.refusal = refusal
  }

  /// Every prompt so far.
  var prompts: [UserPrompt] { list.withLock { $0 } }

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> Confirmation {
    list.withLock { $0.append(prompt) }
    if let refusal { throw refusal }
    return Confirmation(userVerified: verification)
  }
}

/// The messages sent to an authenticator.
final class MessageLog: Sendable {
  private let list = Mutex<[[UInt8]]>([])

  var all: [[UInt8]] { list.withLock { $0 } }
  func append(_ message: [UInt8]) { list.withLock { $0.append(message) } }
}
