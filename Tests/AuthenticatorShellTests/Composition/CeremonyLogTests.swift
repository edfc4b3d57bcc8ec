import ControlProtocol
import Recovery
import Testing

@testable import CTAP2
@testable import liquid_authenticator

struct CeremonyLogTests {
  func report(_ command: String?, _ rpID: String?, _ error: CTAPError?) -> CommandReport {
    CommandReport(command: command, rpID: rpID, error: error, elapsed: .milliseconds(1234) + .microseconds(900))
  }

  @Test func `a ceremony is one line: command, site, outcome and milliseconds`() {
    #expect(
      CeremonyLog.line(report("authenticatorGetAssertion", "example.com", nil))
        == "authenticatorGetAssertion example.com done, 1234 ms")
    #expect(
      CeremonyLog.line(
        report("authenticatorSelection", nil, CTAPError(.operationDenied, "no", file: "M/F.swift", line: 7)))
        == "authenticatorSelection: no (operationDenied), 1234 ms")
  }

  @Test func `blocked verification is said with what ends it`() {
    #expect(
      CeremonyLog.line(report("authenticatorMakeCredential", "example.com", CTAPError(.verificationBlocked)))
        == "authenticatorMakeCredential example.com: verification is blocked until the vault is unlocked with its "
        + "passphrase (pinBlocked), 1234 ms")
  }

  @Test func `getInfo is logged only when it fails`() {
    #expect(CeremonyLog.line(report(GetInfo.name, nil, nil)) == nil)
    #expect(CeremonyLog.line(report(GetInfo.name, nil, CTAPError(.invalidCBOR, "x"))) != nil)
  }

  @Test func `a question for the tries is logged only when it fails; a token or a change of the PIN always is`() {
    var asked = report(ClientPIN.name, nil, nil)
    #expect(CeremonyLog.line(asked) == nil)
    for kind in [.verify, .changePIN] as [HistoryEntry.Kind] {
      asked.kind = kind
      #expect(CeremonyLog.line(asked) == "authenticatorClientPIN done, 1234 ms")
    }
    #expect(CeremonyLog.line(report(ClientPIN.name, nil, CTAPError(.pinInvalid, "x"))) != nil)
  }

  @Test func `a message without a command is logged only when it is refused`() {
    #expect(CeremonyLog.line(report(nil, nil, nil)) == nil)
    #expect(
      CeremonyLog.line(report(nil, nil, CTAPError(.invalidCommand, "command 6", file: "M/F.swift", line: 7)))
        == "refused: command 6 (invalidCommand)")
  }

  static let transactions = SignTransactions([.init([0x80], isToBeSigned: true)], origin: "https://d.example")
  static let message = SignMessage([0xFF], origin: "https://d.example")

  static let refusals: [(any WalletCommand, ControlFailure, String)] = [
    (transactions, ControlFailure(.cannotBeShown, "secret", transaction: 1), "transaction 2 cannot be shown"),
    (transactions, ControlFailure(.cannotBeShown, "secret"), "it cannot be shown"),
    (
      transactions, ControlFailure(.notOurSigner, "secret", transaction: 0),
      "transaction 1 needs a signature of another account"
    ),
    (transactions, ControlFailure(.wrongGroup, "secret"), "the transactions are not one complete group"),
    (message, ControlFailure(.cannotBeShown, "secret"), "it cannot be shown"),
  ]

  // Holds: WALLET-13
  @Test(arguments: refusals)
  func `a refusal before any prompt is one line without the content`(
    _ request: any WalletCommand, _ failure: ControlFailure, _ reason: String
  ) {
    #expect(
      CeremonyLog.line(request, refusedBeforeQuestion: failure)
        == "sign for a wallet https://d.example refused before a prompt: \(reason)")
  }

  @Test func `a failure that the authenticator reports gets no second line`() {
    #expect(CeremonyLog.line(Self.transactions, refusedBeforeQuestion: ControlFailure(.operationDenied, "")) == nil)
    #expect(CeremonyLog.line(GetAccount(), refusedBeforeQuestion: ControlFailure(.cannotBeShown, "")) == nil)
  }
}
