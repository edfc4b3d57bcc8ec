import ControlProtocol
import Doctor
import Testing
import UHID

@Suite struct SystemFindingsTests {
  static let forbidden: [(groupExists: Bool, isMember: Bool, sessionHasGroup: Bool, remedy: String)] = [
    (false, false, false, "in the clone, install the udev rule with: scripts/run"),
    (true, false, false, "sudo usermod --append --groups liquid-auth \"$USER\""),
    (true, true, false, "log in again and start with: liquid-authenticator"),
    (true, true, true, "sudo udevadm control --reload"),
  ]

  @Test(arguments: forbidden)
  func `each reason for a forbidden device has its own remedy`(
    _ groupExists: Bool, _ isMember: Bool, _ sessionHasGroup: Bool, _ remedy: String
  ) {
    let findings = SystemFindings(
      uhid: .forbidden, groupExists: groupExists, isMember: isMember, sessionHasGroup: sessionHasGroup)
    #expect(findings.uhidProblem?.text.contains(remedy) == true)
  }

  @Test func `with systemd the remedy is the broker, whatever the groups`() {
    for hasGroup in [false, true] {
      let findings = SystemFindings(
        uhid: .forbidden, groupExists: true, isMember: hasGroup, sessionHasGroup: hasGroup, hasSystemd: true)
      #expect(findings.uhidProblem?.text.contains("usermod") == false)
      #expect(
        findings.uhidProblem?.remedy
          == Remedy(["sudo", "systemctl", "enable", "--now", "liquid-auth-broker.socket"]))
    }
  }

  @Test func `a usable device is not a problem, whatever the groups`() {
    #expect(
      SystemFindings(uhid: .usable, groupExists: false, isMember: false, sessionHasGroup: false).uhidProblem == nil)
  }
}
