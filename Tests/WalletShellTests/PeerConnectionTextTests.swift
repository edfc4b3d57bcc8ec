import LiquidAuth
import Testing

@testable import liquid_auth_wallet

struct PeerConnectionTextTests {
  @Test func `a candidate is a line there and a value here`() {
    let value = "candidate:1 1 UDP 2015363327 192.0.2.2 52287 typ host"
    #expect(CandidateLine.attribute(value) == "a=" + value)
    #expect(CandidateLine.attribute("a=" + value) == "a=" + value)
    #expect(CandidateLine.value("a=" + value) == value)
    #expect(CandidateLine.value(value) == value)
  }

  @Test func `each media section has its tag, or none`() {
    let lines = [
      "v=0", "a=mid:none", "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:application0", "m=audio",
    ]
    #expect(CandidateLine.mediaTags(in: lines.joined(separator: "\r\n")) == ["application0", ""])
    #expect(CandidateLine.mediaTags(in: lines.joined(separator: "\n")) == ["application0", ""])
    #expect(CandidateLine.mediaTags(in: "") == [])
  }

  @Test(arguments: [
    ("stun:stun.example", "stun.example:3478", ICEServerURL.Transport.udp),
    ("STUN:stun.example:19302", "stun.example:19302", .udp),
    ("turn:[2001:db8::1]:80?transport=tcp", "[2001:db8::1]:80", .tcp),
    ("turn:192.0.2.1?transport=udp", "192.0.2.1:3478", .udp),
  ])
  func `addresses of servers are read`(text: String, authority: String, transport: ICEServerURL.Transport) throws {
    let url = try ICEServerURL(text)
    #expect(url.authority == authority)
    #expect(url.transport == transport)
  }

  @Test(arguments: [
    ("", ICEServerURLError.scheme), ("https://a", .scheme), ("stuns:a", .overTLS), ("turns:a?transport=tcp", .overTLS),
    ("stun:", .host), ("stun:a b", .host), ("stun://a", .host), ("turn:u:p@a", .port), ("turn:[2001:db8::1", .host),
    ("stun:a:0", .port), ("stun:a:65536", .port), ("stun:a:", .port), ("stun:a?transport=tcp", .query),
    ("turn:a?transport=sctp", .query),
  ])
  func `addresses of no server are refused`(text: String, error: ICEServerURLError) {
    #expect(throws: error) { try ICEServerURL(text) }
  }

  @Test func `webrtcbin is given the first STUN server, and every TURN server with its user`() {
    let servers = GStreamerServers([
      ICEServer(urls: ["stun:a.example", "stun:b.example"]),
      ICEServer(urls: ["turn:c.example:80?transport=tcp", "turns:d.example"], username: "u@x", credential: "p:/ü%"),
    ])
    #expect(servers.stun == "stun://a.example:3478")
    #expect(servers.turn == ["turn://u%40x:p%3A%2F%C3%BC%25@c.example:80?transport=tcp"])
    #expect(GStreamerServers([]) == GStreamerServers([ICEServer(urls: ["stuns:a"])]))
  }

  @Test func `the servers of the seeds are taken`() {
    let servers = GStreamerServers(defaultICEServers)
    #expect(servers.stun == "stun://stun.l.google.com:19302")
    #expect(servers.turn.count == 3)
  }
}

struct CertificateFingerprintTests {
  /// A certificate of nobody's, and its digest as `openssl x509 -fingerprint -sha256` tells it.
  private static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBeDCCAR2gAwIBAgIUYk9Q1ftQoYqBD5sXMjNgeuMSl+cwCgYIKoZIzj0EAwIw
    ETEPMA0GA1UEAwwGV2ViUlRDMB4XDTI2MTEyMTIyMTUwNVoXDTM2MTExODIyMTUw
    NVowETEPMA0GA1UEAwwGV2ViUlRDMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
    +jAH1u9kWDgeptWmn+sM5pq13XEjrHyy+Kd4jaCA0Prvmneh7CZOgDJ8JODKP2uZ
    tRe2fapNsYNysUVYzcBl5aNTMFEwHQYDVR0OBBYEFNCPyysWXKYYLjaFWixU26fW
    HWxSMB8GA1UdIwQYMBaAFNCPyysWXKYYLjaFWixU26fWHWxSMA8GA1UdEwEB/wQF
    MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAM3umfiCvDXfWjV4rdwQC27wsaFUlhif
    qwiceNX0AYIBAiEA6NcHHoGYoVlk1pqnbi8dCZeX5SnhK4IPoErS+nlEGRs=
    -----END CERTIFICATE-----

    """
  private static let digest =
    "53:61:BE:2B:68:5C:54:63:17:5C:3C:77:EC:62:E5:11:56:EA:32:43:EF:B0:84:CD:13:D6:55:9B:64:14:30:44"

  private static func description(_ lines: [String]) -> String { (["v=0"] + lines + [""]).joined(separator: "\r\n") }

  @Test(arguments: [
    ["a=fingerprint:sha-256 \(digest)"], ["a=fingerprint:SHA-256 \(digest.lowercased())"],
    [
      "a=fingerprint:sha-512 00:11", "a=fingerprint:sha-256 \(digest.replacingFirst("00"))",
      "a=fingerprint:sha-256 \(digest)",
    ],
  ])
  func `a certificate that is named is the peer's`(lines: [String]) {
    #expect(CertificateFingerprint.isNamed(in: Self.description(lines), certificate: Self.certificate))
  }

  @Test(arguments: [
    [], ["a=fingerprint:sha-256 \(digest.replacingFirst("00"))"], ["a=fingerprint:sha-1 \(digest)"],
    ["a=fingerprint:sha-256 \(digest):00"], ["a=fingerprint:sha-256 \(digest.dropLast(3))"],
    ["fingerprint:sha-256 \(digest)"],
  ])
  func `a certificate that is not named is nobody's`(lines: [String]) {
    #expect(!CertificateFingerprint.isNamed(in: Self.description(lines), certificate: Self.certificate))
  }

  @Test func `what is no certificate is nobody's`() {
    let description = Self.description(["a=fingerprint:sha-256 \(Self.digest)"])
    #expect(!CertificateFingerprint.isNamed(in: description, certificate: ""))
  }
}

extension String {
  /// With another first byte.
  fileprivate func replacingFirst(_ digits: String) -> String { digits + dropFirst(2) }
}
