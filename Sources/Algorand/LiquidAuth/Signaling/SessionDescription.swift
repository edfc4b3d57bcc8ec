/// The checks of a session description before it reaches the peer connection: RFC 8866, RFC 8841.
///
/// The library behind ``PeerConnectionPort`` reads the rest. No honest peer sends what is refused here.
struct SessionDescription: Equatable, Sendable {
  /// The most bytes of a description.
  static let maximumSize = 32 * 1024
  /// The limit of a peer that announces none: RFC 8841 §6.
  static let defaultMaximumMessageSize = 64 * 1024

  /// The text as received.
  let text: String
  /// The number of media sections.
  let sectionCount: Int
  /// The most bytes of one message that its sender accepts: `a=max-message-size`; `Int.max` for 0, no limit.
  let maximumMessageSize: Int
  /// The fingerprints of the sender's certificate for the data channel.
  let fingerprints: CertificateFingerprints

  /// Reads a description.
  ///
  /// It must have one data channel section that is not rejected (port 0), and a fingerprint of a certificate in that
  /// section or else at session level.
  init(_ text: String) throws(LiquidAuthError) {
    guard text.utf8.count <= Self.maximumSize else { throw .longAnswer }
    let lines = try Self.lines(of: text)
    let starts = lines.indices.filter { lines[$0].hasPrefix("m=") }
    let head = lines[..<(starts.first ?? lines.endIndex)]
    let channels = zip(starts, starts.dropFirst() + [lines.endIndex])
      .map { lines[$0..<$1] }.filter { Self.isDataChannel($0.first ?? "") }
    guard let channel = channels.first, channels.count == 1 else { throw .noDataChannel }
    let own = Self.values(of: "a=fingerprint:", in: channel)
    fingerprints = try CertificateFingerprints(own.isEmpty ? Self.values(of: "a=fingerprint:", in: head) : own)
    self.text = text
    sectionCount = starts.count
    maximumMessageSize = try Self.maximumMessageSize(in: channel)
  }

  /// Lines end in CRLF or LF and are visible ASCII, as WebRTC writes them.
  private static func lines(of text: String) throws(LiquidAuthError) -> [Substring] {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
      Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
    }
    guard lines.allSatisfy({ $0.utf8.allSatisfy { (0x20...0x7e).contains($0) } }), lines.first == "v=0" else {
      throw .malformedAnswer
    }
    return lines
  }

  /// `m=application 9 UDP/DTLS/SCTP webrtc-datachannel`, over TCP as well: RFC 8841 §4.
  private static func isDataChannel(_ line: Substring) -> Bool {
    let fields = line.split(separator: " ", omittingEmptySubsequences: false)
    return fields.count == 4 && fields[0] == "m=application" && fields[1] != "0"
      && ["UDP/DTLS/SCTP", "TCP/DTLS/SCTP"].contains(fields[2]) && fields[3] == "webrtc-datachannel"
  }

  private static func maximumMessageSize(in section: ArraySlice<Substring>) throws(LiquidAuthError) -> Int {
    guard let value = values(of: "a=max-message-size:", in: section).first else { return defaultMaximumMessageSize }
    guard let size = Int(value), size >= 0 else { throw .malformedAnswer }
    return size == 0 ? .max : size
  }

  private static func values(of attribute: String, in lines: ArraySlice<Substring>) -> [Substring] {
    lines.filter { $0.hasPrefix(attribute) }.map { $0.dropFirst(attribute.count) }
  }
}

extension LiquidAuthError {
  private static func unusableAnswer(_ what: String) -> Self {
    Self("the dApp's answer cannot be used: \(what)", hint: newLink)
  }

  /// The answer has more than 32 KiB.
  static let longAnswer = unusableAnswer("it has more than \(SessionDescription.maximumSize) bytes")
  /// The answer is not lines of visible ASCII that begin with `v=0`, or has an invalid number.
  static let malformedAnswer = unusableAnswer("it is malformed")
  /// The answer has no data channel section, more than one, or a rejected one.
  static let noDataChannel = unusableAnswer("it accepts no data channel")
  /// The answer has no fingerprint of a certificate, so the peer could not be identified.
  static let noFingerprint = unusableAnswer(
    "it has no fingerprint of a certificate by SHA-256, SHA-384 or SHA-512")
  /// All fingerprints use a weak hash function.
  static func weakFingerprint(_ name: String) -> Self {
    unusableAnswer(
      "its certificate's fingerprint uses \(name), which is too weak; SHA-256, SHA-384 or SHA-512 is needed")
  }
  /// The answer and the offer have different numbers of media sections.
  static let otherSections = unusableAnswer("it does not match the offer")
  /// The answer claims another type.
  static let noAnswer = unusableAnswer("it is not an answer")
}
