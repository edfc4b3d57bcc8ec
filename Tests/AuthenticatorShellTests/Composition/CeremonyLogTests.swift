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
        == "authenticatorSelection no (operationDenied), 1234 ms")
  }

  @Test func `getInfo, which clients ask all the time, is no ceremony`() {
    #expect(CeremonyLog.line(report(GetInfo.name, nil, nil)) == nil)
    #expect(CeremonyLog.line(report(GetInfo.name, nil, CTAPError(.invalidCBOR, "x"))) != nil)
  }

  @Test func `a message that names no command is refused, and the line says why`() {
    #expect(CeremonyLog.line(report(nil, nil, nil)) == nil)
    #expect(
      CeremonyLog.line(report(nil, nil, CTAPError(.invalidCommand, "command 6", file: "M/F.swift", line: 7)))
        == "refused: command 6 (invalidCommand)")
  }
}
