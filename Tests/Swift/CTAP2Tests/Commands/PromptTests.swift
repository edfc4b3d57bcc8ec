import CBOR
import Messages
import TestSupport
import Testing

@testable import CTAP2

/// The properties of a prompt, and the extras that extensions add to it.
@Suite struct PromptTests {
  static let transactions = UserPrompt.TransactionTexts(
    each: NonEmpty(last: .init(kind: Message(verbatim: "payment"), lines: [], isToBeSigned: true)), isGroup: false,
    common: [], inShort: []
  )
  static let purposes: [(UserPrompt.Purpose, Bool)] = [
    (.register, false), (.alreadyRegistered, false), (.signIn, false), (.setPIN, true), (.registerSecondFactor, false),
    (.signInSecondFactor, false), (.select, false), (.reset(importedPasskeys: 0), true), (.wallet(.showPasskey), false),
    (.wallet(.signTransactions(transactions)), true), (.wallet(.signMessage("a")), true),
    (.wallet(.signAssociation(publicUserID: "a", data: "b", service: "c")), false),
    (.wallet(.rememberDApp(replaces: false)), true), (.wallet(.useDApp), true),
    (.authorize(.makeCredential), false), (.authorize([.makeCredential, .getAssertion]), false),
    (.authorize(.persistentCredentialManagementReadOnly), false), (.authorize(.credentialManagement), true),
    (.authorize([.getAssertion, .largeBlobWrite]), true), (.authorize(.authenticatorConfiguration), true),
  ]

  // Holds: PERSON-6
  @Test(arguments: purposes.indices)
  func `an OK counts at once unless something is destroyed, set or signed`(_ index: Int) {
    let (purpose, needsReading) = Self.purposes[index]
    #expect(UserPrompt(purpose: purpose).needsReading == needsReading)
    #expect(UserPrompt(purpose: purpose, algorandAddress: "A").needsReading)
  }

  private static func salts(_ world: inout TestWorld) async throws -> CBORValue {
    .map(try await TestPlatform(.two).saltInput([UInt8](repeating: 7, count: 32), in: &world))
  }

  // Holds: PERSON-8
  @Test func `a prompt lists the extras of the extensions`() async throws {
    var world = TestWorld()
    let salts = try await Self.salts(&world)
    let registered: [(CBORValue, UserPrompt.Extras)] = [
      (["hmac-secret": true], []), (["hmac-secret": true, "hmac-secret-mc": salts], .secret),
      (["largeBlobKey": true], .largeBlobKey), (["thirdPartyPayment": true], .payment),
      (["thirdPartyPayment": false, "credBlob": .bytes([1]), "credProtect": 2], []),
      (
        ["hmac-secret": true, "hmac-secret-mc": salts, "largeBlobKey": true, "thirdPartyPayment": true],
        [.secret, .largeBlobKey, .payment]
      ),
    ]
    for (input, extras) in registered {
      let answer = await world.makeCredential(Requests.makeCredential(rk: true, uv: true, changes: [(6, input)]))
      #expect(answer.status == .success)
      #expect(world.person.shown.last?.prompt.extras == extras, "\(input)")
    }
    // The last registration has all of these extensions.
    let signedIn: [(CBORValue, UserPrompt.Extras)] = [
      (["hmac-secret": salts], .secret), (["largeBlobKey": true], .largeBlobKey),
      (["thirdPartyPayment": true], .payment),
      (["thirdPartyPayment": false, "credBlob": true], []),
      (["hmac-secret": salts, "largeBlobKey": true, "thirdPartyPayment": true], [.secret, .largeBlobKey, .payment]),
    ]
    for (input, extras) in signedIn {
      let answer = await world.getAssertion(Requests.getAssertion(uv: true, changes: [(4, input)]))
      #expect(answer.status == .success)
      #expect(world.person.shown.last?.prompt.extras == extras, "\(input)")
    }
  }

  @Test(arguments: [UserPrompt.Extras.secret, .largeBlobKey, .payment])
  func `a prompt with extras needs reading`(_ extras: UserPrompt.Extras) {
    var prompt = UserPrompt(purpose: .signIn, rpID: "a")
    #expect(!prompt.needsReading)
    prompt.extras = extras
    #expect(prompt.needsReading)
  }

  // Holds: PERSON-8
  @Test func `a prompt does not list a large-blob key that the credential does not have`() async throws {
    var world = TestWorld()
    _ = try await world.register()
    let answer = await world.getAssertion(Requests.getAssertion(uv: true, changes: [(4, ["largeBlobKey": true])]))
    #expect(answer.status == .success)
    #expect(world.person.shown.last?.prompt.extras == [])
  }

  // Holds: PERSON-8
  @Test func `extras are prompted for even with a token`() async throws {
    var world = TestWorld()
    let salts = try await Self.salts(&world)
    let inputs: [(CBORValue, Int)] = [
      (["thirdPartyPayment": true], 1), (["hmac-secret": salts], 1), (["largeBlobKey": true], 1),
      (["credBlob": true], 0),
    ]
    let registered = await world.makeCredential(
      Requests.makeCredential(rk: true, uv: true, changes: [(6, ["hmac-secret": true, "largeBlobKey": true])]))
    #expect(registered.status == .success)
    for (input, dialogs) in inputs {
      let platform = try TestPlatform(.two)
      let answer = try await platform.askTokenByVerification(.getAssertion, rpID: Requests.rpID, in: &world)
      let token = try platform.token(answer)
      let shown = world.person.shown.count
      let signedIn = await world.getAssertion(Requests.getAssertion(changes: token.getAssertion() + [(4, input)]))
      #expect(signedIn.status == .success)
      #expect(world.person.shown.count == shown + dialogs, "\(input)")
    }
  }
}
