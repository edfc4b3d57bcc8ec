import ControlClient
import ControlProtocol
import StateDirectory
import Testing

@testable import LiquidAuth
@testable import liquid_auth_wallet

struct WalletEventTests {
  @Test func `a line begins with milliseconds, and its further lines are indented`() {
    #expect(EventText.line("one", milliseconds: 0) == "      0 ms  one")
    #expect(EventText.line("one\ntwo", milliseconds: 12_345) == "  12345 ms  one\n            two")
  }

  @Test func `foreign text is escaped for the terminal`() {
    let event = WalletEvent.answered(method: "x\u{7}", error: .methodNotSupported("x\u{7}"))
    #expect(event.text?.contains("\u{7}") == false)
  }

  @Test func `the command that ends a failure gets the place options`() {
    let place = CommandPlace(stateDirectory: "/s", control: "/my c")
    let problem = Problem("why", hint: "run:", run: ["liquid-auth", "status"])
    for failure in [
      WalletFailure(problem, code: .refused), WalletFailure(LiquidAuthError.notVerified), WalletFailure(status: 0x28),
    ] {
      let text = "\(failure.description) --state-dir /s --control '/my c'"
      #expect(WalletEvent.failed(failure).completed(by: place) == .failed(WalletFailure(text, code: failure.code)))
    }
    for event in [WalletEvent.prompt, .failed(WalletFailure("why; run: liquid-auth status"))] {
      #expect(event.completed(by: place) == event)
    }
  }

  @Test(arguments: [LinkKind.dApp, .keyri, .browser])
  func `the command for a link of another kind gets the place options`(_ kind: LinkKind) {
    let words = kind.isAnother.description
    let completed = WalletEvent.failed(kind.isAnother).completed(by: CommandPlace(stateDirectory: "/s", control: nil))
    #expect(completed.text == "\(words) --state-dir /s")
  }

  @Test(arguments: [
    (PortError.declined, "the user refused", WalletFailure.Code.refused),
    (.timedOut, "nobody answered the authenticator's prompt", .refused), (.unreachable("why"), "why", .failed),
  ])
  func `a request to the authenticator that fails is a refusal if a person could have agreed`(
    _ error: PortError, _ text: String, _ code: WalletFailure.Code
  ) {
    #expect(WalletFailure(authenticator: error) == WalletFailure(text, code: code))
    let unsigned = (code == .refused ? "nothing was signed: " : "") + text
    #expect(WalletFailure(unsigned: error) == WalletFailure(unsigned, code: code))
  }

  // Holds: ROTATE-9
  @Test(arguments: [(ControlStatus.noVault, ""), (.operationDenied, "nothing was signed: ")])
  func `however long the authenticator's reason is, its command has its place options`(
    _ status: ControlStatus, _ before: String
  ) {
    let long = String(repeating: "a", count: 300)
    let problem = Problem(long, hint: "make one", with: ["liquid-auth", "setup"])
    let place = CommandPlace(stateDirectory: "/\(long)", control: nil)
    let failure = WalletFailure(unsigned: PortError(.refused(ControlFailure(status, problem)), in: place))
    #expect(failure.description == "\(before)\(long); make one with: liquid-auth setup --state-dir /\(long)")
  }

  // Holds: DAPP-17
  @Test(arguments: [
    (
      WalletEvent.link(origin: "https://a.example", requestID: "r\"1"),
      #"{"event": "link", "ms": 7, "origin": "https://a.example", "requestId": "r\"1"}"#
    ),
    (.prompt, #"{"event": "prompt", "ms": 7}"#),
    (.signIn(.askingAuthenticator), #"{"event": "askingAuthenticator", "ms": 7}"#),
    (.signIn(.firstUse(host: "a.example")), #"{"event": "firstUse", "ms": 7, "host": "a.example"}"#),
    (
      .signIn(.waitingForPerson(.registration, rpID: "a.example", address: "AA")),
      #"{"event": "waitingForPerson", "ms": 7, "ceremony": "registration", "rpId": "a.example", "address": "AA"}"#
    ),
    (
      .signedIn(.authentication, rpID: "a.example", address: "AA"),
      #"{"event": "signedIn", "ms": 7, "ceremony": "authentication", "rpId": "a.example", "address": "AA"}"#
    ),
    (.signaling(.stage(.open)), #"{"event": "open", "ms": 7}"#),
    (
      .signaling(.reconnecting(.timedOut, delay: .milliseconds(1500))),
      #"{"event": "reconnecting", "ms": 7, "reason": "it did not answer in time", "delay": 1500}"#
    ),
    (.signaling(.noRelay), #"{"event": "noRelay", "ms": 7}"#),
    (.startingGStreamer, #"{"event": "startingGStreamer", "ms": 7}"#),
    (.signaling(.waiting(.seconds(15))), #"{"event": "waiting", "ms": 7, "seconds": 15}"#),
    (.signaling(.ignoredAnswers(2)), #"{"event": "ignoredAnswers", "ms": 7, "count": 2}"#),
    (
      .answered(method: "discover", error: nil), #"{"event": "answered", "ms": 7, "method": "discover", "error": null}"#
    ),
    (
      .answered(method: "sign_message", error: .methodCanceled(.signMessage, reason: "no prompt could be shown")),
      #"{"event": "answered", "ms": 7, "method": "sign_message", "error": 4001}"#
    ),
    (.signIn(.noCommonPasskey), #"{"event": "noCommonPasskey", "ms": 7}"#),
    (
      .signing(.transactions(1, of: 2)),
      #"{"event": "signing", "ms": 7, "what": "transactions", "count": 1, "of": 2}"#
    ),
    (.signing(.message), #"{"event": "signing", "ms": 7, "what": "message", "count": 1, "of": 1}"#),
    (
      .signing(.signedTransactions(["A", "B"])),
      #"{"event": "signed", "ms": 7, "what": "transactions", "ids": ["A", "B"]}"#
    ),
    (.signing(.signedMessage), #"{"event": "signed", "ms": 7, "what": "message", "ids": []}"#),
    (.signing(.posted(["A"])), #"{"event": "posted", "ms": 7, "ids": ["A"]}"#),
    (.unanswered(.ping), #"{"event": "unanswered", "ms": 7, "reason": "a ping"}"#),
    (.closed(.byDApp), #"{"event": "closed", "ms": 7, "byDApp": true, "reason": "dApp"}"#),
    (.closed(.nobodyReturned), #"{"event": "closed", "ms": 7, "byDApp": true, "reason": "nobodyReturned"}"#),
    (.signaling(.away), #"{"event": "away", "ms": 7}"#),
    (.signaling(.otherSession(devices: 3)), #"{"event": "otherSession", "ms": 7, "devices": 3}"#),
    (
      .failed(WalletFailure("no", code: .timedOut)), #"{"event": "failed", "ms": 7, "reason": "no", "code": 5}"#
    ),
  ])
  func `each event is one line of JSON`(event: WalletEvent, line: String) {
    #expect(event.json(milliseconds: 7) == line)
  }

  @Test func `a ping has no text`() {
    #expect(WalletEvent.unanswered(.ping).text == nil)
    #expect(WalletEvent.unanswered(.notCBOR("it is no map")).text?.hasPrefix("the dApp sent a message that is") == true)
    #expect(WalletEvent.unanswered(.json).text?.hasPrefix("the dApp sent a message in JSON") == true)
  }
}

extension WalletEventTests {
  @Test func `a silent success has no line, and a failure has one`() {
    for method in ["discover", "enable", "disable"] {
      #expect(WalletEvent.answered(method: method, error: nil).text == nil)
      let text = WalletEvent.answered(method: method, error: .networkNotSupported(genesisHash: "x")).text
      #expect(text?.hasPrefix("the dApp asked for \(method), which failed with error 4004: ") == true)
    }
    for method in ["sign_transactions", "sign_message", "post_transactions", "sign_and_post_transactions"] {
      #expect(WalletEvent.answered(method: method, error: nil).text == "answered the dApp's request \(method)")
    }
  }
}

struct SentencesTests {
  private static let place = "in its window or on its terminal"

  // Holds: DAPP-7
  @Test(arguments: [
    (WalletEvent.prompt, "the authenticator is waiting for your answer, \(place)"),
    (
      .signIn(.waitingForPerson(.authentication, rpID: "a.example", address: "AA")),
      "the authenticator asks for your consent at a.example, \(place)"
    ),
    (
      .signIn(.noCommonPasskey),
      "the server and this machine have no passkey in common; registering one"
    ),
    (
      .signing(.transactions(1, of: 1)), "1 transaction is to be signed"
    ),
    (
      .signing(.transactions(2, of: 2)), "2 transactions are to be signed"
    ),
    (
      .signing(.transactions(1, of: 2)),
      "1 of 2 transactions is to be signed"
    ),
    (.signing(.message), "a message is to be signed"),
    (.startingGStreamer, "GStreamer is still starting; the first start takes some seconds"),
    (
      .signaling(.waiting(.seconds(30))),
      "no dApp has answered for 30 s; check that its page is open and was not reloaded"
    ),
    (
      .closed(.byThisSide), "closed the channel; to connect again, reload the dApp's page and take its new link"
    ),
    (.signing(.signedTransactions(["A"])), "signed 1 transaction:\nA"),
    (.signing(.signedTransactions(["A", "B"])), "signed 2 transactions:\nA\nB"),
    (.signing(.signedMessage), "signed a message"),
    (.signing(.posted(["A"])), "posted 1 transaction:\nA"),
    (
      .answered(method: "sign_message", error: .methodCanceled(.signMessage, reason: "no prompt could be shown")),
      "the dApp asked for sign_message, which failed with error 4001: no prompt could be shown"
    ),
    (
      .answered(method: "sign_message", error: .methodTimedOut(.signMessage)),
      "the dApp asked for sign_message, which failed with error 4002: nobody answered the authenticator's prompt"
    ),
    (
      .answered(method: "post_transactions", error: .methodNotSupported("post_transactions")),
      "the dApp asked for post_transactions, which failed with error 4003: no node of the network is configured; name one in "
        + "~/.config/liquid-auth/wallet.conf, such as: algod testnet-v1.0 = https://node.example.org"
    ),
    (
      .answered(method: "dance", error: .methodNotSupported("dance")),
      "the dApp asked for dance, which failed with error 4003: this wallet does not support the method dance"
    ),
  ])
  func `texts name the request, the place and the result`(event: WalletEvent, text: String) {
    #expect(event.text == text)
  }
}

struct FailureCodesTests {
  private static let place = CommandPlace(stateDirectory: "/s", control: nil)

  @Test(arguments: [
    (LiquidAuthError.userCanceled, WalletFailure.Code.refused), (.timedOut, .refused), (.notVerified, .refused),
    (.missingRpID, .failed), (.unknownCredential, .failed),
  ])
  func `a failed sign-in ends with its exit code`(error: LiquidAuthError, code: WalletFailure.Code) {
    #expect(WalletFailure(error).code == code)
  }

  // Holds: DAPPSERVER-7
  @Test(arguments: [LiquidAuthError.unknownCredential, .noCredential(rpID: "a.example")])
  func `a sign-in without a registration names --register`(error: LiquidAuthError) {
    let hint = "the server and this machine have no passkey in common; register one by leaving out --authenticate"
    #expect(WalletFailure(error, ceremony: .authentication, isFirstUse: true) == WalletFailure(hint))
    #expect(WalletFailure(error, ceremony: .authentication, isFirstUse: false) == WalletFailure(error))
    #expect(WalletFailure(error, ceremony: nil, isFirstUse: true) == WalletFailure(error))
  }

  // Holds: DAPP-10
  @Test func `a refused only request of a dApp is a refusal`() {
    #expect(
      WalletFailure(refused: .methodTimedOut(.signMessage))
        == WalletFailure("nothing was signed: nobody answered the authenticator's prompt", code: .refused))
    #expect(
      WalletFailure(refused: .methodCanceled(.signMessage, reason: "no prompt could be shown"))
        == WalletFailure("nothing was signed: no prompt could be shown", code: .refused))
  }

  @Test func `a missing dApp has its own exit code`() {
    #expect(WalletFailure(LiquidAuthError.channelTimedOut(.signalled)).code == .timedOut)
    #expect(WalletFailure(LiquidAuthError.serverLost(.closed)).code == .failed)
    #expect(WalletFailure(LiquidAuthError.flooded).code == .failed)
    #expect(
      WalletFailure(LiquidAuthError.cancelled)
        == WalletFailure("ended by a signal; reload the dApp's page and take its new link", code: .interrupted))
  }

  @Test(arguments: [
    (ControlFailure(.operationDenied, "the user refused"), PortError.declined),
    (ControlFailure(.userActionTimeout, "late"), .timedOut),
    (ControlFailure(.unavailable, "no vault"), .refused("no vault")),
  ])
  func `a refusal of the authenticator keeps its kind`(failure: ControlFailure, expected: PortError) {
    #expect(PortError(.refused(failure), in: Self.place) == expected)
  }

  @Test(arguments: [
    (ControlFailure(.operationDenied, "no prompt"), PortError(.declined, "no prompt")),
    (ControlFailure(.userActionTimeout, ""), .timedOut),
    (ControlFailure(.wrongGroup, "why", group: [1]), .init(.wrongGroup(computed: [1]), "why")),
    (ControlFailure(.notOurSigner, "why", transaction: 3), .init(.notOurSigner(index: 3), "why")),
    (ControlFailure(.cannotBeShown, "why", transaction: 0), .init(.notUnderstood(index: 0), "why")),
    (ControlFailure(.cannotBeShown, "why"), .init(.notUnderstood(index: nil), "why")),
    (
      ControlFailure(.noVault, Problem("no vault", hint: "make one", with: ["liquid-auth", "setup"])),
      .refused("no vault; make one with: liquid-auth setup --state-dir /s")
    ),
  ])
  func `a refusal of the signer keeps its kind`(failure: ControlFailure, expected: PortError) {
    #expect(PortError(.refused(failure), in: Self.place) == expected)
  }

  @Test func `a missing authenticator is not a refusal`() {
    #expect(PortError(.notRunning("gone"), in: Self.place) == .unreachable("gone"))
    let failure = ControlClientError.failed(Problem("gone", hint: "run:", run: ["liquid-auth", "status"]))
    #expect(PortError(failure, in: Self.place) == .unreachable("gone; run: liquid-auth status --state-dir /s"))
  }
}
