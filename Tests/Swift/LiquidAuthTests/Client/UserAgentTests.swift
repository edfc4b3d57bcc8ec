import Testing

@testable import LiquidAuth

@Suite struct UserAgentTests {
  // Holds: PEERSIGNIN-14
  @Test func `the user agent names an operating system and no phone`() {
    let header = UserAgent(version: "0.4.1").header
    #expect(header == HTTPHeader("User-Agent", "LiquidAuthLinux/0.4.1 (X11; Linux x86_64)"))
    #expect(!header.value.contains("Android"))
  }
}
