import Glibc
import Testing

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

  @Test func `the error for an invalid socket path names the path`() {
    for path in ["", "/" + String(repeating: "x", count: 107)] {
      let error = #expect(throws: ControlClientError.self) { try ControlClient(path, onPrompt: {}).connect() }
      #expect(error?.description.contains("has 1 to 107 bytes: \(path); ") == true)
    }
  }
}
