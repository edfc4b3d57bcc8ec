import ControlClient
import ControlDoor
import LiquidAuth
import Testing

@testable import liquid_auth_wallet

struct WalletEventTests {
  @Test func `a line has its milliseconds before it, and its rest below it`() {
    #expect(EventText.line("one", milliseconds: 0) == "      0 ms  one")
    #expect(EventText.line("one\ntwo", milliseconds: 12_345) == "  12345 ms  one\n            two")
  }

  @Test func `other people's words act on no terminal`() {
    let event = WalletEvent.answered(method: "x\u{7}", error: .methodNotSupported("x\u{7}"))
    #expect(event.text?.contains("\u{7}") == false)
  }

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
      .signaling(.reconnecting(.silent, delay: .milliseconds(1500))),
      #"{"event": "reconnecting", "ms": 7, "reason": "it is silent", "delay": 1500}"#
    ),
    (.signaling(.ignoredAnswers(2)), #"{"event": "ignoredAnswers", "ms": 7, "count": 2}"#),
    (
      .answered(method: "discover", error: nil), #"{"event": "answered", "ms": 7, "method": "discover", "error": null}"#
    ),
    (
      .answered(method: "sign_message", error: .methodCanceled(.signMessage)),
      #"{"event": "answered", "ms": 7, "method": "sign_message", "error": 4001}"#
    ),
    (.unanswered(.ping), #"{"event": "unanswered", "ms": 7, "reason": "a ping"}"#),
    (.closed(byDApp: true), #"{"event": "closed", "ms": 7, "byDApp": true}"#),
    (
      .failed(WalletFailure("no", code: .timedOut)), #"{"event": "failed", "ms": 7, "reason": "no", "code": 5}"#
    ),
  ])
  func `programs are told each event on one line`(event: WalletEvent, line: String) {
    #expect(event.json(milliseconds: 7) == line)
  }

  @Test func `a ping is nothing to tell a person`() {
    #expect(WalletEvent.unanswered(.ping).text == nil)
    #expect(WalletEvent.unanswered(.json).text?.hasPrefix("the dApp sent a message in JSON") == true)
  }
}

struct FailureCodesTests {
  @Test(arguments: [
    (LiquidAuthError.userCanceled, WalletFailure.Code.refused), (.timedOut, .refused), (.notVerified, .refused),
    (.missingRpID, .failed), (.unknownCredential, .failed),
  ])
  func `a sign-in that failed ends with its code`(error: LiquidAuthError, code: WalletFailure.Code) {
    #expect(WalletFailure(error).code == code)
  }

  @Test func `a dApp that does not come has a code of its own`() {
    #expect(WalletFailure(SignalingError.timedOut(.signalled)).code == .timedOut)
    #expect(WalletFailure(SignalingError.flooded).code == .failed)
  }

  @Test(arguments: [
    (ControlFailure(.operationDenied, "no"), AuthenticatorFailure.declined),
    (ControlFailure(.userActionTimeout, "late"), .timedOut),
    (ControlFailure(.unavailable, "no vault"), .refused("no vault")),
  ])
  func `what the authenticator refuses keeps its kind`(failure: ControlFailure, expected: AuthenticatorFailure) {
    #expect(AuthenticatorFailure(.refused(failure)) == expected)
  }

  @Test(arguments: [
    (ControlFailure(.operationDenied, ""), TransactionSignerFailure.denied),
    (ControlFailure(.userActionTimeout, ""), .timedOut),
    (ControlFailure(.wrongGroup, "", group: [1]), .wrongGroupID(computed: [1])),
    (ControlFailure(.notOurSigner, "", transaction: 3), .notOurSigner(index: 3)),
    (ControlFailure(.cannotBeShown, "why", transaction: 0), .notUnderstood(index: 0, reason: "why")),
    (ControlFailure(.cannotBeShown, "why"), .notUnderstood(index: nil, reason: "why")),
    (ControlFailure(.unavailable, "no vault"), .unavailable("no vault")),
  ])
  func `what the signer refuses keeps its kind`(failure: ControlFailure, expected: TransactionSignerFailure) {
    #expect(TransactionSignerFailure(.refused(failure)) == expected)
  }

  @Test func `an authenticator that does not run is no refusal`() {
    #expect(AuthenticatorFailure(.notRunning("gone")) == .unreachable("gone"))
    #expect(TransactionSignerFailure(.failed("gone")) == .unavailable("gone"))
  }
}
