import ControlProtocol
import Doctor
import Testing
import UHID

@testable import liquid_auth

@Suite struct SetupTextTests {
  @Test func `setup says first why no browser can find a key yet`() {
    #expect(SetupText.obstacle(StatusReportTests.fine, doctor: "liquid-auth doctor") == "")
    let system = SystemFindings(uhid: .absent, groupExists: true, isMember: true, sessionHasGroup: true)
    #expect(
      SetupText.obstacle(system, doctor: "liquid-auth doctor --state-dir /s")
        == """

        Until this is repaired, browsers cannot find a key on this machine:
        - \(StatusReportTests.noDevice)
        To check all parts, run: liquid-auth doctor --state-dir /s
        To see a sign-in without a browser, run: liquid-auth demo

        """)
  }

  @Test func `setup prints a start command that works, and says if browsers do not see the key`() {
    let text = { (unseen: String) in
      """
      Start the authenticator in another terminal, and leave it running:

          liquid-authenticator --state-dir /s
      \(unseen)
      Waiting for it. Ctrl-C ends the set-up; to continue later, run: liquid-auth setup

      """
    }
    var system = StatusReportTests.fine
    let shown = { SetupText.starting(system, by: "liquid-authenticator --state-dir /s", setup: "liquid-auth setup") }
    #expect(system.starting == ["liquid-authenticator"])
    #expect(shown() == text(""))
    for uhid in [UHIDAccess.absent, .forbidden] {
      system.uhid = uhid
      #expect(system.starting == ["liquid-authenticator", "--transport", "pty"])
      #expect(shown() == text("\nBrowsers do not see this key until /dev/uhid can be used.\n"))
    }
  }

  @Test func `without uhid, the last lines of setup say when browsers can see the key`() {
    var status = StatusReportTests.running()
    status.device.transport = "pty"
    let system = SystemFindings(uhid: .absent, groupExists: true, isMember: true, sessionHasGroup: true)
    #expect(
      SetupText.closing(status, system: system, hasSignedIn: false, doctor: "liquid-auth doctor") == """
        Browsers do not see this key. To use it in browsers, start the authenticator without --transport,
        as soon as /dev/uhid can be used.
        """)
  }

  @Test func `setup ends with what is possible, and with what remains to be repaired`() {
    let register = "Register your key at a site with passkeys now, such as https://webauthn.io."
    let unseen = "Browsers do not see this key. To use it in browsers, start the authenticator without --transport."
    let remain = "Problems remain; to see them, run: liquid-auth doctor --state-dir /s"
    let blocked = StatusReportTests.running(problems: [Problem("the PIN is blocked", kind: .pin)])
    var other = StatusReportTests.running()
    other.device.transport = "unix:/k"
    let cases: [(status: AuthenticatorStatus?, skipped: [String], signedIn: [String])] = [
      (StatusReportTests.running(), [register], [register]),
      (StatusReportTests.running(vault: .locked), [register], [register]),
      (blocked, [register, remain], [register, remain]),
      (other, [unseen], [register]),
      (StatusReportTests.running(attached: false), [remain], [register, remain]),
      (
        StatusReportTests.running(vault: .missing, problems: [Problem("there is no vault")]), [remain],
        [register, remain]
      ),
      (
        StatusReportTests.running(vault: .unusable, problems: [Problem("the vault is damaged")]), [remain],
        [register, remain]
      ),
      (nil, [remain], [register, remain]),
    ]
    for (status, skipped, signedIn) in cases {
      for hasSignedIn in [false, true] {
        let text = SetupText.closing(
          status, system: StatusReportTests.fine, hasSignedIn: hasSignedIn, doctor: "liquid-auth doctor --state-dir /s")
        #expect(text == (hasSignedIn ? signedIn : skipped).joined(separator: "\n"))
      }
    }
  }

  @Test func `setup ends with the command for a backup, or with the time of the last one`() {
    var status = StatusReportTests.running()
    let end = { (status: AuthenticatorStatus?) in
      SetupText.recovery(status, backup: "liquid-auth backup FILE --state-dir /s").split(separator: "\n").suffix(2)
    }
    for status in [status, nil] {
      #expect(
        end(status) == ["sign-in without a user name; to make one, run:", "liquid-auth backup FILE --state-dir /s"])
    }
    status.backup.written = 1_795_662_062_000
    #expect(end(status) == ["sign-in without a user name.", "The last backup was made on 2026-11-26 03:01:02 UTC."])
  }

  @Test func `setup says what a pseudo terminal is, and which programs open it`() {
    let unseen = { SetupText.unseen($0, status: "liquid-auth status --state-dir /s") }
    #expect(unseen("unix:/k") == "The authenticator uses unix:/k, which browsers do not see.\n")
    #expect(
      unseen("pty") == """
        The authenticator uses a pseudo terminal (pty), which browsers do not see.
        Programs such as fido2-token open it by its path; to see that, run:
        liquid-auth status --state-dir /s

        """)
  }

  @Test func `without a desktop, setup names a demo that works`() {
    var status = StatusReportTests.running()
    for status in [status, nil] {
      #expect(
        SetupText.withoutDesktop(status)
          == "There is no desktop in this session. On the desktop, run: liquid-auth demo --browser\n")
    }
    status.device.transport = "pty"
    #expect(
      SetupText.withoutDesktop(status)
        == "There is no desktop in this session, and browsers do not see this key.\n"
        + "To see a sign-in without a browser, run: liquid-auth demo\n")
  }
}
