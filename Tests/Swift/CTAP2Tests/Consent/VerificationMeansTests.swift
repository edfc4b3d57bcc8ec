import CBOR
import Recovery
import Testing

@testable import CTAP2

/// Returns what verified, as the authenticator tells it to extensions.
private struct Means: AuthenticatorExtension, ExtensionProcessing {
  static let identifier = "means"

  static func makeCredential(
    _ input: CBORValue, _ request: MakeCredential.Request, with pinUVAuth: inout PINUVAuthState
  ) throws(CTAPError) -> (any ExtensionProcessing)? { Means() }

  func output(_ ceremony: ExtensionCeremony, consent: borrowing UserConsent) throws(CTAPError) -> CBORValue? {
    .unsigned(UInt64(consent.verification.rawValue))
  }
}

extension Answer {
  /// The output of ``Means``.
  fileprivate var means: CBORValue? { data?.extensions?["means"] }
}

/// What verified the person goes with the answer to the prompt, into the history and to extensions.
@Suite struct VerificationMeansTests {
  private static let registering = Requests.registering(["means": true])

  // Holds: RECORD-13
  @Test(arguments: [HistoryEntry.Verification.passphrase, .fingerprint, .pam])
  func `the history says what verified each request`(_ means: HistoryEntry.Verification) async throws {
    var world = TestWorld()
    let platform = try TestPlatform(.two)
    world.person.will(
      .verify(by: means), .verify(by: means), .verify(by: means), .verify(by: means), .verify(by: means),
      .verify(by: means))
    let pin = try await platform.setPIN("1234", in: &world)
    #expect(await world.makeCredential(Requests.makeCredential(rk: true, uv: true)).status == .success)
    #expect(await world.getAssertion(Requests.getAssertion(uv: true)).status == .success)
    let token = try await platform.askTokenByVerification(.credentialManagement, in: &world)
    #expect([pin.status, token.status] == [.success, .success])
    let vault = try #require(world.authenticator.currentVault)
    _ = try await world.authenticator.agreement(toExportOf: nil, from: vault)
    #expect(await world.send([0x07]).status == .success)
    let entries = world.reports.all.compactMap { $0.historyEntry(at: 7) }
    #expect(entries.map(\.kind) == [.changePIN, .register, .signIn, .verify, .exportPasskeys, .reset])
    #expect(entries.allSatisfy { $0.verification == means })
  }

  // Holds: RECORD-13
  @Test func `an extension gets what verified the request`() async throws {
    var world = TestWorld(extensions: [Means.self])
    world.person.will(.verify(by: .fingerprint))
    #expect(await world.makeCredential(Requests.makeCredential(uv: true, changes: Self.registering)).means == 4)
    #expect(await world.makeCredential(Requests.makeCredential(changes: Self.registering)).means == 0)
    let platform = try TestPlatform(.two)
    let token = try platform.token(
      try await platform.askTokenByVerification(.makeCredential, rpID: Requests.rpID, in: &world))
    let changes = Self.registering + token.makeCredential()
    #expect(await world.makeCredential(Requests.makeCredential(changes: changes)).means == 3)

    // A passphrase that opened the vault for this request.
    world = TestWorld(isOpen: false, extensions: [Means.self])
    world.keySource.askPerson()
    #expect(await world.makeCredential(Requests.makeCredential(uv: true, changes: Self.registering)).means == 1)
    #expect(world.person.shown.map(\.verification) == [false])
  }
}
