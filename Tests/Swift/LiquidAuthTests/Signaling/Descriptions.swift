@testable import LiquidAuth

/// Session descriptions as browsers write them.
enum Descriptions {
  static let fingerprint =
    "a=fingerprint:sha-256 " + [String](repeating: "A7", count: 32).joined(separator: ":")

  static let offer = description(setup: "actpass")
  static let answer = description(setup: "active")

  static func description(setup: String, further: [String] = ["a=max-message-size:262144"]) -> String {
    lines(
      [
        "v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
        "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "c=IN IP4 0.0.0.0", "a=ice-ufrag:uS2k",
        "a=ice-pwd:Qx3mTnTqZ2v0aW1yKoLpRsTu", fingerprint, "a=setup:\(setup)", "a=mid:0", "a=sctp-port:5000",
      ] + further)
  }

  static func lines(_ lines: [String]) -> String { lines.map { $0 + "\r\n" }.joined() }

  static func candidate(_ number: Int) -> ICECandidate {
    ICECandidate(
      candidate: "candidate:\(number) 1 udp 2113937151 127.0.0.1 \(50_000 + number) typ host", sdpMid: "0",
      sdpMLineIndex: 0)
  }
}
