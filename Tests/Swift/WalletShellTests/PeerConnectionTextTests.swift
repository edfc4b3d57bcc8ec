import LiquidAuth
import Testing

@testable import liquid_auth_wallet

struct PeerConnectionTextTests {
  @Test func `a candidate is converted between line and value`() {
    let value = "candidate:1 1 UDP 2015363327 192.0.2.2 52287 typ host"
    #expect(CandidateLine.attribute(value) == "a=" + value)
    #expect(CandidateLine.attribute("a=" + value) == "a=" + value)
    #expect(CandidateLine.value("a=" + value) == value)
    #expect(CandidateLine.value(value) == value)
  }

  @Test func `each media section has its mid, or none`() {
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
  func `ICE server addresses are read`(text: String, authority: String, transport: ICEServerURL.Transport) throws {
    let url = try ICEServerURL(text)
    #expect(url.authority == authority)
    #expect(url.transport == transport)
  }

  @Test(arguments: [
    ("", scheme), ("https://a", scheme), ("stuns:a", overTLS), ("turns:a?transport=tcp", overTLS), ("stun:", host),
    ("stun:a b", host), ("stun://a", host), ("turn:u:p@a", port), ("turn:[2001:db8::1", host), ("stun:a:0", port),
    ("stun:a:65536", port), ("stun:a:", port), ("stun:a?transport=tcp", query), ("turn:a?transport=sctp", query),
  ])
  func `invalid ICE server addresses are refused`(text: String, reason: String) {
    #expect(throws: WalletFailure(reason)) { try ICEServerURL(text) }
  }

  private static let scheme = "it begins with neither stun: nor turn:"
  private static let overTLS = "STUN and TURN over TLS are not supported; give turn: with ?transport=tcp"
  private static let host = "its host is neither a name nor an address"
  private static let port = "its port is not a number from 1 to 65535"
  private static let query = "only ?transport=udp or ?transport=tcp may follow, and only in turn:"

  @Test func `webrtcbin gets the first STUN server, and every TURN server with its user`() {
    let servers = GStreamerServers([
      ICEServer(urls: ["stun:a.example", "stun:b.example"]),
      ICEServer(urls: ["turn:c.example:80?transport=tcp", "turns:d.example"], username: "u@x", credential: "p:/ü%"),
    ])
    #expect(servers.stun == "stun://a.example:3478")
    #expect(servers.turn == ["turn://u%40x:p%3A%2F%C3%BC%25@c.example:80?transport=tcp"])
    #expect(GStreamerServers([]) == GStreamerServers([ICEServer(urls: ["stuns:a"])]))
  }

  @Test func `the default ICE servers are accepted`() {
    let servers = GStreamerServers(defaultICEServers)
    #expect(servers.stun == "stun://stun.l.google.com:19302")
    #expect(servers.turn.count == 3)
  }
}

struct PeerCertificateTests {
  /// A test certificate, and its digests as `openssl x509 -fingerprint` prints them.
  private static let pem = """
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
  private static let sha256 =
    "sha-256 53:61:BE:2B:68:5C:54:63:17:5C:3C:77:EC:62:E5:11:56:EA:32:43:EF:B0:84:CD:13:D6:55:9B:64:14:30:44"
  private static let sha384 =
    "sha-384 C4:D1:02:52:E6:7B:7F:8F:17:0E:B3:B6:6A:02:A4:C3:02:17:FB:97:42:EF:5B:E1:D1:18:C7:C1:AA:8A:DF:B5:"
    + "6A:A3:25:99:13:85:C4:43:B5:7A:30:A8:B8:73:AB:EF"
  private static let sha1 = "sha-1 A8:D3:5C:1C:6E:76:27:DB:23:7B:D2:62:D0:04:D2:E7:1E:6E:7A:EF"

  private static func answer(_ fingerprints: [String]) -> String {
    (["v=0"] + fingerprints.map { "a=fingerprint:" + $0 } + ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", ""])
      .joined(separator: "\r\n")
  }

  @Test(arguments: [[sha256], [sha384], [sha256, sha384], [sha1, sha256]])
  func `a certificate with a matching fingerprint is accepted`(fingerprints: [String]) throws {
    #expect(try #require(PeerCertificate(pem: Self.pem)).isNamed(inAnswer: Self.answer(fingerprints)))
  }

  // Holds: SIGNAL-8
  @Test(arguments: [
    [], [sha256.replacing("53", with: "54")], [sha1], [sha256, sha384.replacing("C4", with: "C5")],
  ])
  func `a certificate without a matching fingerprint is refused`(fingerprints: [String]) throws {
    #expect(try !#require(PeerCertificate(pem: Self.pem)).isNamed(inAnswer: Self.answer(fingerprints)))
  }

  @Test func `an invalid description or certificate never matches`() throws {
    #expect(try !#require(PeerCertificate(pem: Self.pem)).isNamed(inAnswer: "a=fingerprint:" + Self.sha256))
    #expect(PeerCertificate(pem: "") == nil)
  }
}
