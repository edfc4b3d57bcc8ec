import AlgorandStatements
import CBOR
import CTAP2
import DeterministicKeys
import LiquidAuth
import Recovery
import Synchronization
import TestSupport
import TestVectors
import Testing

@testable import example_log_in

@Suite struct LocalAuthenticatorTests {
  private static func vault() throws -> OpenVault {
    let keys = try KeysAndRecovery.keys()
    return OpenVault(
      keys: keys, ed25519Root: try KeysAndRecovery.load().input.ed25519Root.hex.secret,
      store: InMemoryCredentialStore(keys: keys))
  }

  private static func authenticator(
    _ keySource: any KeySource, _ person: any UserInteraction = TestPerson()
  ) -> LocalAuthenticator {
    LocalAuthenticator(
      Authenticator(
        keySource: keySource, interaction: person, extensions: [LiquidExtension.self],
        randomness: SystemRandomNumberGenerator(), now: { .seconds(1) }, wallClock: { 1_790_000_000_000 },
        report: { _ in }))
  }

  @Test func `the port returns the account in use and the passkey of phone wallets`() async throws {
    let vectors = try KeysAndRecovery.load().phoneCandidates
    let local = Self.authenticator(OpenKeySource(try Self.vault()))
    #expect(try await local.account() == vectors.address.text)
    let passkey = try await local.walletPasskey(rpID: vectors.rpId.text, host: vectors.rpId.text)
    #expect(passkey == WalletPasskey(credentialID: vectors.ids["0"].bytes, isStored: false))
  }

  /// A vault that cannot be unlocked.
  private struct ClosedKeySource: KeySource {
    let error: UserInteractionError
    let current: OpenVault? = nil
    var reported: ReportedSettings { ReportedSettings() }
    func open(
      for reason: UnlockReason?, from client: (any RequestClient)?
    ) async throws(UserInteractionError) -> OpenVault { throw error }
  }

  @Test(arguments: [
    (UserInteractionError.declined, PortError.declined), (.timedOut, .timedOut),
    (.unavailable, PortError(.declined, "no prompt could be shown, or the vault is not open")),
    (.wrongPassphrase, .refused("the vault stays locked: the passphrase was wrong in every try")),
  ])
  func `a vault that stays locked has its own error`(
    _ error: UserInteractionError, _ expected: PortError
  ) async {
    let local = Self.authenticator(ClosedKeySource(error: error))
    await #expect(throws: expected) { try await local.account() }
    await #expect(throws: expected) { try await local.walletPasskey(rpID: "example.com", host: "example.com") }
  }

  /// A user who answers after `answer()`.
  private final class ThinkingPerson: UserInteraction {
    let canVerify = true
    let verificationTriesLeft = 8
    private let state = Mutex((isAsked: false, mayAnswer: false))

    var isAsked: Bool { state.withLock(\.isAsked) }
    func answer() { state.withLock { $0.mayAnswer = true } }

    func confirm(
      _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
    ) async throws(UserInteractionError) -> CTAP2.Confirmation {
      state.withLock { $0.isAsked = true }
      while !state.withLock(\.mayAnswer) { await Task.yield() }
      return CTAP2.Confirmation(userVerified: verification)
    }
  }

  @Test func `one request is served at a time`() async throws {
    let person = ThinkingPerson()
    let local = Self.authenticator(OpenKeySource(try Self.vault()), person)
    async let first = local.respond(to: [Selection.code])
    while !person.isAsked { await Task.yield() }
    await #expect(throws: PortError.self) { try await local.respond(to: [GetInfo.code]) }
    person.answer()
    #expect(try await first == [0])
    #expect(try await local.respond(to: [GetInfo.code]).first == 0)
  }
}
