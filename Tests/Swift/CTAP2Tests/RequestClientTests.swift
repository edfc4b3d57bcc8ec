import CBOR
import Recovery
import Synchronization
import Testing

@testable import CTAP2

private struct NamedClient: RequestClient {
  let name: String
}

/// A person and a vault that note the client of each call.
private final class NotingPorts: UserInteraction, KeySource {
  let canVerify = false
  let verificationTriesLeft = 8
  private let vault: TestKeySource
  private let list = Mutex<[String]>([])
  var calls: [String] { list.withLock { $0 } }

  init(_ vault: TestKeySource) { self.vault = vault }

  var current: OpenVault? { vault.current }
  var reported: ReportedSettings { vault.reported }

  private func note(_ call: String, _ client: (any RequestClient)?) {
    let name = (client as? NamedClient)?.name ?? "nobody"
    list.withLock { $0.append("\(call) for \(name)") }
  }

  func open(
    for reason: UnlockReason?, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> OpenVault {
    note("open", client)
    return try await vault.open(for: reason, from: client)
  }

  func confirm(
    _ prompt: UserPrompt, verification: Bool, from client: (any RequestClient)?
  ) async throws(UserInteractionError) -> CTAP2.Confirmation {
    note("confirm", client)
    return CTAP2.Confirmation(userVerified: verification)
  }

  func refuse(_ prompt: UserPrompt, from client: (any RequestClient)?) async -> UserInteractionError {
    note("refuse", client)
    return .declined
  }
}

@Suite struct RequestClientTests {
  @Test func `the ports and the report get the client of each request, and not that of the one before`() async throws {
    let store = ObservedStore(state: StoreState(storeID: [UInt8](repeating: 7, count: 16)))
    let ports = NotingPorts(TestKeySource(store: store, isOpen: false))
    let reports = Reports()
    var authenticator = Authenticator(
      keySource: ports, interaction: ports, extensions: [], randomness: SeededGenerator(), now: { .zero },
      wallClock: { 0 }, report: { reports.append($0) })
    let message = [0x01] + CBOREncoder.encode(.map(Requests.makeCredential()))
    func context(_ client: NamedClient?) -> RequestContext {
      RequestContext(channel: 1, poweredUpAt: .zero, client: client)
    }
    _ = await authenticator.respond(to: message, in: context(NamedClient(name: "a")))
    _ = await authenticator.respond(to: message, in: context(NamedClient(name: "b")))
    _ = await authenticator.respond(to: message, in: context(nil))
    // A call of the program that is no message, such as a wallet's.
    let vault = try #require(authenticator.currentVault)
    authenticator.client = NamedClient(name: "w")
    let wallet = authenticator
    try await wallet.reported("sign", .signMessage, of: nil) {
      () async throws(CTAPError) -> (Void, HistoryEntry.Verification) in
      let consent = try await wallet.agreement(to: UserPrompt(purpose: .select), with: vault)
      return ((), consent.verification)
    }
    var state = try store.state()
    try state.policies.set(.deny, of: Requests.rpID)
    try store.setState(state)
    _ = await authenticator.respond(to: message, in: context(NamedClient(name: "c")))
    #expect(
      ports.calls == [
        "open for a", "confirm for a", "confirm for b", "confirm for nobody", "confirm for w", "refuse for c",
      ])
    #expect(reports.all.map { ($0.client as? NamedClient)?.name } == ["a", "b", nil, "w", "c"])
  }

  @Test func `contexts are compared by the number of the client and the times`() {
    let context = RequestContext(channel: 1, poweredUpAt: .zero, client: NamedClient(name: "a"))
    #expect(context == RequestContext(channel: 1, poweredUpAt: .zero, client: NamedClient(name: "b")))
    #expect(context != RequestContext(channel: 2, poweredUpAt: .zero, client: NamedClient(name: "a")))
    #expect(context != RequestContext(channel: 1, poweredUpAt: .zero, pluggedInAt: .seconds(1)))
    #expect(context != RequestContext(channel: 1, poweredUpAt: .seconds(1), pluggedInAt: .zero))
  }
}
