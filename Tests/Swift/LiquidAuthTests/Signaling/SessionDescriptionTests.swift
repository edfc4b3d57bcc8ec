import Testing

@testable import LiquidAuth

struct SessionDescriptionTests {
  static let channel = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel"
  static let fingerprint = Descriptions.fingerprint

  @Test func `a browser's description is read`() throws {
    let read = try SessionDescription(Descriptions.answer)
    #expect(read.text == Descriptions.answer)
    #expect(read.sectionCount == 1)
    #expect(read.maximumMessageSize == 262_144)
  }

  @Test func `the channel may be one of several sections, with the fingerprint above them`() throws {
    let read = try SessionDescription(
      Descriptions.lines([
        "v=0", Self.fingerprint, "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:0", Self.channel, "a=mid:1",
      ]))
    #expect(read.sectionCount == 2)
  }

  @Test(arguments: [
    ([], 65_536), (["a=max-message-size:0"], Int.max), (["a=max-message-size:1"], 1),
    (["a=max-message-size:262144", "a=max-message-size:1"], 262_144), (["a=max-message-sizes:1"], 65_536),
  ])
  func `without a limit in the answer, messages have at most 64 KiB`(_ further: [String], _ size: Int) throws {
    let text = Descriptions.description(setup: "active", further: further)
    #expect(try SessionDescription(text).maximumMessageSize == size)
  }

  @Test func `lines may end in LF alone`() throws {
    let text = Descriptions.answer.split(separator: "\r\n").joined(separator: "\n")
    #expect(try SessionDescription(text).sectionCount == 1)
  }

  // Holds: SIGNAL-7
  @Test(arguments: [
    "sha-256", "sha-256 ", "sha-256 " + hex(31), "sha-256 " + hex(33), "sha-256 " + hex(48), "sha-384 " + hex(32),
    "sha-384 " + hex(47), "sha-512 " + hex(32), "sha-512 " + hex(65), "sha-256 " + hex(31) + ":ag",
    "sha-256 " + hex(31) + ":a", "sha-256 " + hex(31) + ":", "sha-256 " + hex(31) + ":+1", "sha-256 " + hex(32) + " x",
    "sha-256  " + hex(32), " sha-256 " + hex(32), "sha256 " + hex(32), "sha-999 " + hex(32), "",
  ])
  func `a malformed fingerprint is not accepted`(_ value: String) {
    #expect(throws: LiquidAuthError.noFingerprint) {
      try SessionDescription(Descriptions.lines(["v=0", Self.channel, "a=fingerprint:\(value)"]))
    }
  }

  // Holds: SIGNAL-8
  @Test func `a fingerprint of the media section overrides those of the session`() throws {
    let above = "a=fingerprint:sha-512 " + Self.hex(64)
    let own = try SessionDescription(Descriptions.lines(["v=0", above, Self.channel, Self.fingerprint])).fingerprints
    #expect(own == (try SessionDescription(Descriptions.answer).fingerprints))
    let common = try SessionDescription(Descriptions.lines(["v=0", above, Self.channel])).fingerprints
    #expect(common.function == .sha512 && common.digests == [[UInt8](repeating: 0xA7, count: 64)])
    #expect(throws: LiquidAuthError.weakFingerprint("md5")) {
      let weak = "a=fingerprint:md5 " + Self.hex(16)
      _ = try SessionDescription(Descriptions.lines(["v=0", Self.fingerprint, Self.channel, weak]))
    }
  }

  @Test func `a fingerprint of another section is ignored`() {
    #expect(throws: LiquidAuthError.noFingerprint) {
      try SessionDescription(
        Descriptions.lines(["v=0", "m=audio 9 UDP/TLS/RTP/SAVPF 111", Self.fingerprint, Self.channel]))
    }
  }

  // Holds: SIGNAL-7
  @Test(arguments: [
    [], ["m=audio 9 UDP/TLS/RTP/SAVPF 111"], ["m=application 0 UDP/DTLS/SCTP webrtc-datachannel"],
    ["m=application 9 DTLS/SCTP 5000"], ["m=application 9 UDP/DTLS/SCTP"],
    ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel x"], ["m=application  9 UDP/DTLS/SCTP webrtc-datachannel"],
    ["m=video 9 UDP/DTLS/SCTP webrtc-datachannel"], [" \(channel)"], [channel, channel],
  ])
  func `there must be exactly one data channel section`(_ sections: [String]) {
    #expect(throws: LiquidAuthError.noDataChannel) {
      try SessionDescription(Descriptions.lines(["v=0", Self.fingerprint] + sections))
    }
  }

  // Holds: SIGNAL-7
  @Test(arguments: [
    "", "\r\n", "v=1\r\n", "V=0\r\n", " v=0\r\n", "o=-\r\nv=0\r\n", "{\"sdp\":\"v=0\"}", "v=0\r\ns=\u{0}\r\n",
    "v=0\r\ns=\u{1b}[2J\r\n", "v=0\r\ns=é\r\n", "v=0\rm=\r\n", "v=0\u{2028}",
  ])
  func `text other than lines of visible ASCII is malformed`(_ text: String) {
    #expect(throws: LiquidAuthError.malformedAnswer) { try SessionDescription(text) }
  }

  @Test(arguments: ["", "x", "-1", "1 ", "9223372036854775808", "0x10"])
  func `a size that is not a number is malformed`(_ size: String) {
    #expect(throws: LiquidAuthError.malformedAnswer) {
      try SessionDescription(Descriptions.description(setup: "active", further: ["a=max-message-size:\(size)"]))
    }
  }

  @Test func `a description of 32 KiB is read; one byte more is refused`() throws {
    let rest = SessionDescription.maximumSize - Descriptions.answer.utf8.count - "a=\r\n".utf8.count
    let text = Descriptions.answer + "a=" + String(repeating: "x", count: rest) + "\r\n"
    #expect(try SessionDescription(text).text.utf8.count == 32_768)
    #expect(throws: LiquidAuthError.longAnswer) { try SessionDescription(text + "x") }
  }

  private static func hex(_ count: Int) -> String {
    [String](repeating: "a7", count: count).joined(separator: ":")
  }
}
