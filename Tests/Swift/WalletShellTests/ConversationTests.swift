import AlgorandTransaction
import DeterministicKeys
import Synchronization
import TestVectors
import Testing

@testable import LiquidAuth
@testable import liquid_auth_wallet

/// A conversation over a channel to a test dApp.
@Suite(.limited) struct ConversationTests {
  // {"id": "1", "reference": "arc0027:sign_message:request", "params": {"message": "hi", "providerId": "p"}}
  private static let signMessage =
    "o2JpZGExaXJlZmVyZW5jZXgcYXJjMDAyNzpzaWduX21lc3NhZ2U6cmVxdWVzdGZwYXJhbXOiZ21lc3NhZ2ViaGlqcHJvdmlkZXJJZGFw"
  // {"id": "1", "reference": "arc0027:discover:request", "params": {}}
  private static let discover = "o2JpZGExaXJlZmVyZW5jZXgYYXJjMDAyNzpkaXNjb3ZlcjpyZXF1ZXN0ZnBhcmFtc6A"

  // {"id": "1", "reference": "arc0027:post_transactions:request", "params": {"stxns": [a payment], "providerId": "p"}}
  private static let postTransactions =
    "o2JpZGExaXJlZmVyZW5jZXghYXJjMDAyNzpwb3N0X3RyYW5zYWN0aW9uczpyZXF1ZXN0ZnBhcmFtc6Jlc3R4bnOBeQE8Z3FOemFX"
    + "ZkVRQU1EQXdNREF3TURBd01EQXdNREF3TURBd01EQXdNREF3TURBd01EQXdNREF3TURBd01EQXdNREF3TURBd01EQXdNREF3TURB"
    + "d01EQXdNREF3TURBd09qZEhodWlhTmhiWFFCbzJabFpjMEQ2S0ptZGdHaloyVnVySFJsYzNSdVpYUXRkakV1TUtKbmFNUWdTR08x"
    + "R0tTenlFN0lFUEl0VHhDQnl3OXg4Rm1uckNEZXhpOS9jT1VKT2lLaWJIWUNvM0pqZHNRZ0FnSUNBZ0lDQWdJQ0FnSUNBZ0lDQWdJ"
    + "Q0FnSUNBZ0lDQWdJQ0FnSUNBZ0tqYzI1a3hDQUJBUUVCQVFFQkFRRUJBUUVCQVFFQkFRRUJBUUVCQVFFQkFRRUJBUUVCQWFSMGVY"
    + "QmxvM0JoZVE9PWpwcm92aWRlcklkYXA"

  private let dApp = DApp()
  private let ends = PeerChannelEnds()
  private let person = Person()
  private let node = Node()
  private let told = Told()

  private func conversation(
    isOnce: Bool = false, signer: (any TransactionSigner)? = nil
  ) -> (Conversation, Provider) {
    ends.attach(dApp)
    return (
      Conversation(
        channel: PeerChannel(ends, maximumOutgoingSize: 10_000), report: { [told] in told.add($0) }, isOnce: isOnce),
      Provider(
        .init(
          name: "ours", account: AlgorandAddress(publicKey: [UInt8](repeating: 1, count: 32)),
          networks: [.init(.testnet, algod: node)], origin: "https://a.example"),
        signer: signer ?? person, randomness: SystemRandomNumberGenerator())
    )
  }

  // Holds: DAPP-15
  @Test func `cancelling during a prompt withdraws it and sends nothing`() async throws {
    let (conversation, provider) = conversation()
    ends.receive(.message(.text(Self.signMessage)))
    ends.receive(.message(.text(Self.discover)))
    let talk = Task { () throws(LiquidAuthError) in try await conversation.run(provider) }
    await person.isAsked()
    talk.cancel()
    #expect(try await talk.value == .asWanted)
    #expect(person.hasWithdrawn)
    #expect(dApp.sent.isEmpty && dApp.isClosed)
  }

  // Holds: DAPP-15
  @Test func `cancelling while idle ends the provider`() async throws {
    let (conversation, provider) = conversation()
    ends.receive(.message(.text(Self.discover)))
    let talk = Task { () throws(LiquidAuthError) in try await conversation.run(provider) }
    await dApp.answers(1)
    talk.cancel()
    #expect(try await talk.value == .asWanted)
    #expect(dApp.isClosed)
  }

  @Test func `a dApp that leaves during a prompt withdraws it`() async throws {
    let (conversation, provider) = conversation()
    ends.receive(.message(.text(Self.signMessage)))
    let talk = Task { () throws(LiquidAuthError) in try await conversation.run(provider) }
    await person.isAsked()
    ends.receive(.channelClosed)
    #expect(try await talk.value == .byDApp)
    #expect(person.hasWithdrawn && dApp.sent.isEmpty)
  }

  // Holds: DAPP-9
  @Test func `posted transactions are reported even if the dApp has left`() async throws {
    let (conversation, provider) = conversation()
    ends.receive(.message(.text(Self.postTransactions)))
    let talk = Task { () throws(LiquidAuthError) in try await conversation.run(provider) }
    await node.isAsked()
    ends.receive(.channelClosed)
    #expect(try await talk.value == .byDApp)
    #expect(told.events == [.signing(.posted(["XOJJHOA2RZQCNPOTXVGM4HMNYIRFVOYCHSN6TAVNTDPOTNFHE74Q"]))])
    #expect(dApp.sent.isEmpty)
  }

  @Test(arguments: [
    (PeerEvent.channelClosed, Optional<String>.none),
    (
      .failed("the dApp opened a channel of its own: ac2-v1"),
      "the connection to the dApp was lost: the dApp opened a channel of its own: ac2-v1"
    ),
  ])
  func `a dApp that leaves at once without a request is reported`(_ event: PeerEvent, _ reason: String?) async {
    let (conversation, provider) = conversation()
    ends.receive(.message("ping"))
    ends.receive(event)
    _ = try? await conversation.run(provider)
    #expect(told.events == [.unanswered(.ping), .leftAtOnce(reason)])
  }

  // Holds: ARC27-3
  @Test func `an invalid binary message is reported and not answered`() async throws {
    let (conversation, provider) = conversation(isOnce: true)
    for junk: PeerMessage in [.binary([]), .binary([0xFF]), .binary(Array("ping".utf8)), "ping"] {
      ends.receive(.message(junk))
    }
    ends.receive(.message(.text(Self.discover)))
    #expect(try await conversation.run(provider) == .asWanted)
    #expect(dApp.sent.count == 1)
    let reasons = told.events.compactMap { if case .unanswered(let frame) = $0 { frame.description } else { nil } }
    #expect(reasons.filter { $0.hasPrefix("a message that is not ARC-27 (") }.count == 3 && reasons.contains("a ping"))
  }

  @Test func `--once ends after one answer`() async throws {
    let (conversation, provider) = conversation(isOnce: true)
    ends.receive(.message(.text(Self.discover)))
    ends.receive(.message(.text(Self.discover)))
    #expect(try await conversation.run(provider) == .asWanted)
    #expect(dApp.sent.count == 1)
  }

  // Holds: DAPP-19
  @Test func `--once fails if the dApp leaves while the answer is made`() async {
    let (conversation, provider) = conversation(isOnce: true)
    ends.receive(.message(.text(Self.postTransactions)))
    let talk = Task { () throws(LiquidAuthError) in try await conversation.run(provider) }
    await node.isAsked()
    ends.receive(.channelClosed)
    await #expect(throws: LiquidAuthError.answerLost) { try await talk.value }
    #expect(dApp.sent.isEmpty)
  }

  // Holds: DAPP-19
  /// It sends too much at once, or one message that is too large.
  @Test(arguments: [true, false])
  func `--once fails by the dApp's fault while the answer is made, and not by its loss`(isTooMuch: Bool) async {
    let (conversation, provider) = conversation(isOnce: true)
    ends.receive(.message(.text(Self.postTransactions)))
    let talk = Task { () throws(LiquidAuthError) in try await conversation.run(provider) }
    await node.isAsked()
    if isTooMuch {
      for _ in 0..<9 { ends.receive(.message(.text(Self.discover))) }
    } else {
      ends.receive(.message(.text(String(repeating: "x", count: PeerChannel.maximumIncomingSize + 1))))
    }
    let fault = isTooMuch ? LiquidAuthError.unread : .incomingTooLarge(size: PeerChannel.maximumIncomingSize + 1)
    await #expect(throws: fault) { try await talk.value }
    #expect(dApp.sent.isEmpty)
  }

  // Holds: DAPP-19
  /// Reader and sender learn of it at the same time.
  @Test(arguments: [PeerEvent.channelClosed, .failed("ICE")])
  func `--once fails if the dApp leaves while the answer waits to be sent`(_ event: PeerEvent) async {
    dApp.fill()
    let (conversation, provider) = conversation(isOnce: true)
    ends.receive(.message(.text(Self.discover)))
    let talk = Task { () throws(LiquidAuthError) in try await conversation.run(provider) }
    await dApp.isAskedForRoom()
    ends.receive(event)
    await #expect(throws: LiquidAuthError.answerLost) { try await talk.value }
    #expect(dApp.sent.isEmpty)
  }

  // Holds: DAPP-10
  @Test(arguments: [
    (PortError.declined, Conversation.Ending.refused(.methodCanceled(.signMessage, reason: "the user refused"))),
    (
      PortError(.declined, "no prompt could be shown"),
      .refused(.methodCanceled(.signMessage, reason: "no prompt could be shown"))
    ),
    (.timedOut, .refused(.methodTimedOut(.signMessage))), (.refused("no vault"), .asWanted),
  ])
  func `--once ends as a refusal if the user refused`(failure: PortError, ending: Conversation.Ending)
    async throws
  {
    let (conversation, provider) = conversation(isOnce: true, signer: Refusing(failure: failure))
    ends.receive(.message(.text(Self.signMessage)))
    #expect(try await conversation.run(provider) == ending)
    #expect(dApp.sent.count == 1, "the dApp is told")
  }
}

/// A peer connection that records sent messages.
private final class DApp: PeerConnection {
  private let state = Mutex((sent: [PeerMessage](), isClosed: false, buffered: 0))
  private let (answers, feed) = AsyncStream.makeStream(of: Void.self)
  private let (looks, looked) = AsyncStream.makeStream(of: Void.self)

  var sent: [PeerMessage] { state.withLock(\.sent) }
  var isClosed: Bool { state.withLock(\.isClosed) }

  /// Waits for this number of messages.
  func answers(_ count: Int) async { for await _ in answers.prefix(count) {} }

  /// From now on, nothing can be sent.
  func fill() { state.withLock { $0.buffered = .max } }

  /// Waits until somebody looks whether there is room.
  func isAskedForRoom() async { for await _ in looks.prefix(1) {} }

  func createOffer() {}
  func setAnswer(_ sdp: String) {}
  func addCandidate(_ candidate: ICECandidate) {}
  func send(_ message: PeerMessage) {
    state.withLock { $0.sent.append(message) }
    feed.yield()
  }
  var bufferedAmount: Int {
    looked.yield()
    return state.withLock(\.buffered)
  }
  func close() { state.withLock { $0.isClosed = true } }
}

/// A node that accepts transactions and answers only when the task is cancelled.
private final class Node: AlgodPort {
  private let (questions, feed) = AsyncStream.makeStream(of: Void.self)

  func isAsked() async { for await _ in questions.prefix(1) {} }

  func post(_ signedTransactions: [UInt8]) async throws(PortError) {
    feed.yield()
    let (never, _) = AsyncStream.makeStream(of: Void.self)
    for await _ in never {}
  }
}

/// A signer that always fails.
private struct Refusing: TransactionSigner {
  let failure: PortError

  func sign(_ transactions: [TransactionToSign], origin: String) async throws(PortError) -> [[UInt8]?] {
    throw failure
  }

  func sign(message: [UInt8], origin: String) async throws(PortError) -> [UInt8] { throw failure }
}

/// The reports, in order.
private final class Told: Sendable {
  private let state = Mutex<[WalletEvent]>([])

  var events: [WalletEvent] { state.withLock(\.self) }

  func add(_ event: WalletEvent) { state.withLock { $0.append(event) } }
}

/// A user who never answers.
private final class Person: TransactionSigner {
  private let withdrawn = Latch()
  private let (questions, feed) = AsyncStream.makeStream(of: Void.self)

  var hasWithdrawn: Bool { withdrawn.isSet }

  func isAsked() async { for await _ in questions.prefix(1) {} }

  func sign(_ transactions: [TransactionToSign], origin: String) async throws(PortError) -> [[UInt8]?] {
    try await [neverAnswer()]
  }

  func sign(message: [UInt8], origin: String) async throws(PortError) -> [UInt8] {
    try await neverAnswer()
  }

  private func neverAnswer() async throws(PortError) -> [UInt8] {
    feed.yield()
    // It ends when its task is cancelled, as a request over the control socket does.
    let (never, _) = AsyncStream.makeStream(of: Void.self)
    for await _ in never {}
    withdrawn.set()
    throw .refused("cancelled")
  }
}
