import CryptoPrimitives
import LiquidAuth

/// STUN and TURN servers in webrtcbin's form: URIs with two slashes, with user and password for TURN servers.
struct GStreamerServers: Equatable {
  /// The first STUN server; webrtcbin uses only one.
  let stun: String?
  /// All TURN servers.
  let turn: [String]

  init(_ servers: [ICEServer]) {
    var (stun, turn): (String?, [String]) = (nil, [])
    for server in servers {
      for url in server.urls {
        guard let url = try? ICEServerURL(url) else { continue }
        switch url.kind {
        case .stun: stun = stun ?? "stun://\(url.authority)"
        case .turn:
          let user = "\(Self.encoded(server.username ?? "")):\(Self.encoded(server.credential ?? ""))"
          turn.append("turn://\(user)@\(url.authority)?transport=\(url.transport.rawValue)")
        }
      }
    }
    (self.stun, self.turn) = (stun, turn)
  }

  /// Percent-encodes all but the unreserved characters of RFC 3986.
  static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        String(UnicodeScalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}

/// Conversion of candidates between WebRTC's form, `candidate:…`, and GStreamer's, a line of a session description: RFC
/// 8839 §5.1.
enum CandidateLine {
  private static let prefix = "a="

  /// The line: `a=candidate:…`.
  static func attribute(_ candidate: String) -> String {
    candidate.hasPrefix(prefix) ? candidate : prefix + candidate
  }

  /// The value: `candidate:…`.
  static func value(_ line: String) -> String {
    line.hasPrefix(prefix) ? String(line.dropFirst(prefix.count)) : line
  }

  /// The identification tags of a description's media sections in order, empty if there is none: RFC 5888 §4.
  static func mediaTags(in description: String) -> [String] {
    var tags: [String] = []
    for line in description.split(whereSeparator: \.isNewline) {
      if line.hasPrefix("m=") { tags.append("") }
      if line.hasPrefix("a=mid:"), !tags.isEmpty { tags[tags.count - 1] = String(line.dropFirst("a=mid:".count)) }
    }
    return tags
  }
}

/// The certificate that a peer presented in its DTLS handshake.
struct PeerCertificate {
  private let der: [UInt8]

  /// Reads PEM: the first certificate (RFC 7468 §5).
  init?(pem: String) {
    let lines = pem.split(whereSeparator: \.isNewline)
    guard let first = lines.firstIndex(of: "-----BEGIN CERTIFICATE-----"),
      let last = lines[first...].firstIndex(of: "-----END CERTIFICATE-----"),
      let der = Base64.decode(lines[(first + 1)..<last].joined()), !der.isEmpty
    else { return nil }
    self.der = der
  }

  /// Whether a session description names it, as RFC 8122 §6.2 requires of every peer.
  func isNamed(inAnswer description: String) -> Bool {
    (try? CertificateFingerprints(in: description))?.contains(certificate: der) ?? false
  }
}
