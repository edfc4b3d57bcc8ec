import ControlProtocol
import HelperProcess
import Prompts
import Recovery
import TestSupport
import Testing

@testable import CTAP2
@testable import liquid_authenticator

struct CeremonyLogTests {
  func report(_ command: String?, _ rpID: String?, _ error: CTAPError?) -> CommandReport {
    CommandReport(command: command, rpID: rpID, error: error, elapsed: .milliseconds(1234) + .microseconds(900))
  }

  @Test func `a ceremony is one line: command, outcome and milliseconds, and the site for debugging`() throws {
    let line = try #require(CeremonyLog.line(report("authenticatorGetAssertion", "example.com", nil)))
    #expect(line.text == "authenticatorGetAssertion done, 1234 ms")
    #expect(line.textWithSite == "authenticatorGetAssertion example.com done, 1234 ms")
    let refused = try #require(
      CeremonyLog.line(
        report("authenticatorSelection", nil, CTAPError(.operationDenied, "no", file: "M/F.swift", line: 7))))
    #expect(refused.text == "authenticatorSelection: no (operationDenied), 1234 ms")
    #expect(refused.textWithSite == refused.text)
  }

  @Test func `a line says that the request came from another computer`() throws {
    var elsewhere = report("authenticatorGetAssertion", "example.com", nil)
    elsewhere.client = RequestOrigin(door: .anotherComputer(process: 7))
    let line = try #require(CeremonyLog.line(elsewhere))
    #expect(line.text == "authenticatorGetAssertion for another computer done, 1234 ms")
    elsewhere.client = RequestOrigin(door: .controlSocket(process: 7))
    #expect(CeremonyLog.line(elsewhere)?.text == "authenticatorGetAssertion done, 1234 ms")
  }

  // Holds: SECRET-4
  @Test func `no line has a site unless the log is for debugging`() throws {
    let site = "secret.example"
    let commands = AuthenticatorCommands.all.map { $0.name } + ["U2F_REGISTER", "show a passkey"]
    let errors = CTAPStatus.allCases.map { CTAPError($0, "no") }
    let reports = commands.flatMap { name in ([nil] + errors).map { report(name, site, $0) } }
    var lines = reports.compactMap(CeremonyLog.line)
    #expect(lines.count == reports.count)
    lines += Self.refusals.compactMap { request, failure, _ in
      CeremonyLog.line(request, refusedBeforeQuestion: failure)
    }
    for (level, has) in [(LogLevelChoice.info, false), (.debug, true)] {
      let written = Lines()
      let log = Log(isJournal: true, level: level, output: written.add)
      for line in lines { log.request(log.text(of: line)) }
      #expect(written.all.count == lines.count)
      for line in written.all {
        #expect((line.contains(site) || line.contains("d.example")) == has && line.hasPrefix("<7>") == has)
      }
    }
    // A text with a site in it by mistake.
    let name = SiteName(site)
    for text in ["\(name)", String(describing: [name]), String(reflecting: name)] { #expect(!text.contains(site)) }
  }

  @Test func `blocked verification is said with what ends it`() {
    #expect(
      CeremonyLog.line(report("authenticatorMakeCredential", "example.com", CTAPError(.verificationBlocked)))?.text
        == "authenticatorMakeCredential: verification is blocked until the vault is unlocked with its "
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
      #expect(CeremonyLog.line(asked)?.text == "authenticatorClientPIN done, 1234 ms")
    }
    #expect(CeremonyLog.line(report(ClientPIN.name, nil, CTAPError(.pinInvalid, "x"))) != nil)
  }

  @Test func `a message without a command is logged only when it is refused`() {
    #expect(CeremonyLog.line(report(nil, nil, nil)) == nil)
    #expect(
      CeremonyLog.line(report(nil, nil, CTAPError(.requestTooLarge, "a long message", file: "M/F.swift", line: 7)))?
        .text
        == "refused: a long message (requestTooLarge)")
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
      CeremonyLog.line(request, refusedBeforeQuestion: failure)?.textWithSite
        == "sign for a wallet https://d.example refused before a prompt: \(reason)")
  }

  @Test func `a failure that the authenticator reports gets no second line`() {
    #expect(CeremonyLog.line(Self.transactions, refusedBeforeQuestion: ControlFailure(.operationDenied, "")) == nil)
    #expect(CeremonyLog.line(GetAccount(), refusedBeforeQuestion: ControlFailure(.cannotBeShown, "")) == nil)
  }
}
