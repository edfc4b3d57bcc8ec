import ControlProtocol
import Glibc
import Testing
import UHID

@testable import ControlClient

struct ControlClientTests {
  // Holds: CONTROL-10
  @Test func `a peer of another user is refused, even root`() throws {
    var ends: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    defer { ends.forEach { close($0) } }
    try ControlClient.checkPeer(of: ends[0], "/run/c", expected: geteuid())
    let error = #expect(throws: ControlClientError.self) {
      try ControlClient.checkPeer(of: ends[0], "/run/c", expected: geteuid() + 1)
    }
    #expect(
      error?.description
        == "user \(geteuid()) listens at /run/c, not you; do not trust it, and give another path with --control")
  }

  @Test func `the command that starts the authenticator works, whether or not /dev/uhid can be used`() {
    let stopped = "the authenticator is not running (no program listens at /run/c); "
    for (uhid, hint) in [
      (UHIDAccess.usable, "start it with: liquid-authenticator"),
      (.absent, "while /dev/uhid cannot be used, start it with: liquid-authenticator --transport pty"),
      (.forbidden, "while /dev/uhid cannot be used, start it with: liquid-authenticator --transport pty"),
    ] {
      let problem = ControlClient.notRunning(at: "/run/c", uhid)
      #expect(problem.text == stopped + hint)
      #expect(problem.remedy == Remedy(ControlClient.starting(uhid)))
    }
  }

  @Test func `the error for an invalid socket path names the path`() {
    for path in ["", "/" + String(repeating: "x", count: 107)] {
      let error = #expect(throws: ControlClientError.self) { try ControlClient(path, onPrompt: {}).connect() }
      #expect(error?.description.contains("has 1 to 107 bytes: \(path); ") == true)
    }
  }
}
