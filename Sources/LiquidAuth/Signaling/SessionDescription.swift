/// What must be known of a session description before it reaches the peer connection: RFC 8866, RFC 8841.
///
/// The rest of it is for the library behind ``PeerConnectionPort``. What is refused here no honest peer sends.
struct SessionDescription: Equatable, Sendable {
  /// Bytes of a description that are read.
  static let maximumSize = 32 * 1024
  /// What a peer takes that does not say so: RFC 8841 §6.
  static let defaultMaximumMessageSize = 64 * 1024

  /// The text, as it came.
  let text: String
  /// How many media sections it has.
  let sectionCount: Int
  /// Bytes of one message that its sender takes: `a=max-message-size`; `Int.max` where it is 0, no limit.
  let maximumMessageSize: Int

  /// Reads a description.
  ///
  /// It must have one data channel section that is not rejected (port 0), and in that section or above all of them the
  /// fingerprint of a certificate by SHA-256 (RFC 8122 §5), which every WebRTC peer gives: the one that is compared.
  init(_ text: String) throws(SessionDescriptionError) {
    guard text.utf8.count <= Self.maximumSize else { throw .tooLarge }
    let lines = try Self.lines(of: text)
    let starts = lines.indices.filter { lines[$0].hasPrefix("m=") }
    let head = lines[..<(starts.first ?? lines.endIndex)]
    let channels = zip(starts, starts.dropFirst() + [lines.endIndex])
      .map { lines[$0..<$1] }.filter { Self.isDataChannel($0.first ?? "") }
    guard let channel = channels.first, channels.count == 1 else { throw .noDataChannel }
    guard (head + channel).contains(where: Self.isFingerprint) else { throw .noFingerprint }
    self.text = text
    sectionCount = starts.count
    maximumMessageSize = try Self.maximumMessageSize(in: channel)
  }

  /// Lines end in CRLF or LF and are visible ASCII, as WebRTC writes them.
  private static func lines(of text: String) throws(SessionDescriptionError) -> [Substring] {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
      Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
    }
    guard lines.first == "v=0", lines.allSatisfy({ $0.utf8.allSatisfy { (0x20...0x7e).contains($0) } }) else {
      throw .malformed
    }
    return lines
  }

  /// `m=application 9 UDP/DTLS/SCTP webrtc-datachannel`, over TCP as well: RFC 8841 §4.
  private static func isDataChannel(_ line: Substring) -> Bool {
    let fields = line.split(separator: " ", omittingEmptySubsequences: false)
    return fields.count == 4 && fields[0] == "m=application" && fields[1] != "0"
      && ["UDP/DTLS/SCTP", "TCP/DTLS/SCTP"].contains(fields[2]) && fields[3] == "webrtc-datachannel"
  }

  private static func isFingerprint(_ line: Substring) -> Bool {
    guard let value = Self.value(of: "a=fingerprint:", in: line) else { return false }
    let fields = value.split(separator: " ")
    guard fields.count == 2, fields[0].lowercased() == "sha-256" else { return false }
    let bytes = fields[1].split(separator: ":", omittingEmptySubsequences: false)
    return bytes.count == 32 && bytes.allSatisfy { $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) }
  }

  private static func maximumMessageSize(in section: ArraySlice<Substring>) throws(SessionDescriptionError) -> Int {
    guard let value = section.lazy.compactMap({ Self.value(of: "a=max-message-size:", in: $0) }).first else {
      return defaultMaximumMessageSize
    }
    guard let size = Int(value), size >= 0 else { throw .malformed }
    return size == 0 ? .max : size
  }

  private static func value(of attribute: String, in line: Substring) -> Substring? {
    line.hasPrefix(attribute) ? line.dropFirst(attribute.count) : nil
  }
}

/// Why a session description is refused.
public enum SessionDescriptionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// It has more than 32 KiB.
  case tooLarge
  /// It is no lines of visible ASCII that begin with `v=0`, or a number in it is none.
  case malformed
  /// It has no data channel section, more than one, or one that is rejected.
  case noDataChannel
  /// It has no fingerprint of a certificate by SHA-256: nobody could say who is at the other end.
  case noFingerprint
  /// It has another number of media sections than the offer.
  case otherSections
  /// It is said to be of another type than an answer.
  case noAnswer

  /// What is wrong, as part of a sentence.
  public var description: String {
    switch self {
    case .tooLarge: "it has more than \(SessionDescription.maximumSize) bytes"
    case .malformed: "it is malformed"
    case .noDataChannel: "it takes no data channel"
    case .noFingerprint: "it has no SHA-256 fingerprint of a certificate"
    case .otherSections: "it does not fit the offer"
    case .noAnswer: "it is no answer"
    }
  }
}
