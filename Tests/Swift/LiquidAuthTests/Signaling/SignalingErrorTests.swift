import Testing

@testable import LiquidAuth

struct SignalingErrorTests {
  static let hostile = "\u{1b}[2J\u{202e}\n" + String(repeating: "x", count: 10_000)

  private static let losses: [PortError] = [
    .unreachable(hostile), .refused(status: 503), .closed, .broken(hostile), .timedOut,
  ]

  static let errors: [LiquidAuthError] =
    [
      .untrusted(hostile), .connectionDenied(hostile), .messageTooLarge(size: 2, limit: 1), .flooded,
      LiquidAuthError("a plug-in is missing; install it"), .peerConnectionFailed(hostile), .otherWallet(hostile),
      .cancelled, .malformed("JSON"), .binary, .tooLarge, .longAnswer, .malformedAnswer, .noDataChannel, .noFingerprint,
      .weakFingerprint("md5"), .otherSections, .noAnswer, .channelTimedOut(.linking), .channelTimedOut(.signalled),
      .channelTimedOut(.connecting),
    ] + losses.flatMap { [.serverGone($0), .serverLost($0)] }

  static let channelErrors: [LiquidAuthError] = [
    .channelClosed, .channelLost(hostile), .incomingTooLarge(size: 300_000), .unread,
    .outgoingTooLarge(size: 2, limit: 1),
    .cancelled,
  ]

  @Test(arguments: errors.map(\.description) + channelErrors.map(\.description))
  func `each error is one lower-case line without control characters`(_ text: String) {
    #expect(text.first?.isLowercase == true && !text.hasSuffix("."))
    #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{202e}" })
    #expect(text.count < 400)
  }

  @Test func `all errors have different texts`() {
    #expect(Set(Self.errors.map(\.description)).count == Self.errors.count)
    #expect(Set(Self.channelErrors.map(\.description)).count == Self.channelErrors.count)
  }

  // Holds: SIGNAL-14
  @Test func `an error after a sign-in asks for a new link of the page`() {
    let used: [LiquidAuthError] = [
      .serverGone(.closed), .serverLost(.closed), .noAnswer, .peerConnectionFailed("x"),
      .otherWallet("x"), .channelTimedOut(.linking), .channelTimedOut(.signalled), .channelTimedOut(.connecting),
    ]
    for text in used.map(\.description) + [LiquidAuthError.channelClosed, .channelLost("x")].map(\.description) {
      #expect(text.hasSuffix("reload the dApp's page and take its new link"), "\(text)")
      #expect(!text.contains("link again"))
    }
  }

  @Test func `errors with a workaround name it`() {
    for error in [LiquidAuthError.channelTimedOut(.connecting), .peerConnectionFailed("x")] {
      #expect(error.description.contains("TURN server to wallet.conf"))
    }
  }
}
