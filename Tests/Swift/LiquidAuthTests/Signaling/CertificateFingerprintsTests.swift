import CryptoPrimitives
import Testing

@testable import LiquidAuth

/// Two test certificates, made by OpenSSL 3.0, with their digests as `openssl x509 -fingerprint` prints them.
struct CertificateFingerprintsTests {
  private static let first = der(
    """
    MIIBeDCCAR2gAwIBAgIUYk9Q1ftQoYqBD5sXMjNgeuMSl+cwCgYIKoZIzj0EAwIw\
    ETEPMA0GA1UEAwwGV2ViUlRDMB4XDTI2MTEyMTIyMTUwNVoXDTM2MTExODIyMTUw\
    NVowETEPMA0GA1UEAwwGV2ViUlRDMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\
    +jAH1u9kWDgeptWmn+sM5pq13XEjrHyy+Kd4jaCA0Prvmneh7CZOgDJ8JODKP2uZ\
    tRe2fapNsYNysUVYzcBl5aNTMFEwHQYDVR0OBBYEFNCPyysWXKYYLjaFWixU26fW\
    HWxSMB8GA1UdIwQYMBaAFNCPyysWXKYYLjaFWixU26fWHWxSMA8GA1UdEwEB/wQF\
    MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAM3umfiCvDXfWjV4rdwQC27wsaFUlhif\
    qwiceNX0AYIBAiEA6NcHHoGYoVlk1pqnbi8dCZeX5SnhK4IPoErS+nlEGRs=
    """)
  private static let second = der(
    """
    MIIBdzCCAR2gAwIBAgIUfn6g7TjaIIaKiMcPqi3atcqNfQkwCgYIKoZIzj0EAwMw\
    ETEPMA0GA1UEAwwGV2ViUlRDMB4XDTI2MTEyMjAxMTQwNloXDTM2MTExOTAxMTQw\
    NlowETEPMA0GA1UEAwwGV2ViUlRDMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\
    0VuBOv4d+ZNqZyqUR8iUDBrasixXORlinAfmh6kLmmyjDk07UR00YriLc0hj3CoZ\
    q50xDa98uTaxzOdBmM+PiqNTMFEwHQYDVR0OBBYEFC9xrA8vzbJ+KpSkd7aka6E7\
    pn64MB8GA1UdIwQYMBaAFC9xrA8vzbJ+KpSkd7aka6E7pn64MA8GA1UdEwEB/wQF\
    MAMBAf8wCgYIKoZIzj0EAwMDSAAwRQIgO90FQQL2LT1WxmAqr5hWFeHQDyfZbPHB\
    I3HPbEtTpHwCIQDKqxTHE8nCkvbf1fH8Rd3cP1FR5X3ASifvC49eg+9AzQ==
    """)

  private static let firstBy256 =
    "sha-256 53:61:BE:2B:68:5C:54:63:17:5C:3C:77:EC:62:E5:11:56:EA:32:43:EF:B0:84:CD:13:D6:55:9B:64:14:30:44"
  private static let firstBy384 =
    "sha-384 C4:D1:02:52:E6:7B:7F:8F:17:0E:B3:B6:6A:02:A4:C3:02:17:FB:97:42:EF:5B:E1:D1:18:C7:C1:AA:8A:DF:B5:"
    + "6A:A3:25:99:13:85:C4:43:B5:7A:30:A8:B8:73:AB:EF"
  private static let firstBy512 =
    "sha-512 33:03:4D:18:01:D4:63:DD:45:15:58:07:2B:CB:8E:75:57:2E:B3:7E:64:9E:27:8C:CE:A4:FC:CB:7A:E4:BD:D1:"
    + "F9:56:17:93:9E:77:69:3B:2C:91:2E:6D:1E:14:1F:C0:27:B5:57:88:0D:17:E1:52:29:70:F0:50:68:93:E8:0F"
  private static let firstBySHA1 = "sha-1 A8:D3:5C:1C:6E:76:27:DB:23:7B:D2:62:D0:04:D2:E7:1E:6E:7A:EF"
  private static let firstByMD5 = "md5 1E:CC:E4:13:2D:42:44:A2:BE:62:E6:97:57:8E:49:78"
  private static let firstBy224 =
    "sha-224 87:CC:5B:D5:39:61:39:D9:3C:2D:58:F7:6D:64:78:E7:8E:A1:10:A5:53:9F:5B:12:15:EE:E4:EB"
  private static let secondBy256 =
    "sha-256 B1:05:9E:8C:4C:3C:27:84:52:A3:16:1E:EA:BC:1C:9C:B1:F6:5E:BF:85:DD:5F:75:2C:97:44:41:09:2B:4F:D2"
  private static let secondBy384 =
    "sha-384 CE:A2:07:B0:92:8D:EF:88:86:E8:42:AB:00:F2:C0:FA:AF:A3:AD:16:C0:A4:A2:82:A6:8D:A3:34:68:17:DF:9C:"
    + "E8:16:AD:A4:14:ED:AD:09:D2:31:0D:F2:C1:A5:BA:5A"
  private static let secondBy512 =
    "sha-512 86:43:72:6B:73:8A:81:37:ED:EF:F7:B6:51:DC:CE:55:17:DF:CD:4F:3B:B0:80:01:8C:B7:55:4B:F4:B1:54:D9:"
    + "C6:76:4F:43:D4:B5:E2:A8:7C:3B:2D:43:87:B8:AC:51:2C:E4:B8:BB:58:3D:52:0F:72:1F:16:4E:9D:FC:5A:F6"

  private static func der(_ base64: String) -> [UInt8] { Base64.decode(base64) ?? [] }

  private static func fingerprints(_ values: [String]) throws(LiquidAuthError) -> CertificateFingerprints {
    try CertificateFingerprints(
      in: Descriptions.lines(["v=0", SessionDescriptionTests.channel] + values.map { "a=fingerprint:" + $0 }))
  }

  @Test(arguments: [
    [firstBy256], [firstBy384], [firstBy512], [firstBy256.lowercased()], [firstBy384.uppercased()],
    // Several functions, some of them not accepted or unknown.
    [firstBy512, firstBy256], [firstBy256, firstBy384, firstBy512], [firstByMD5, firstBySHA1, firstBy256],
    ["sha3-256 00", firstBy384],
  ])
  func `a certificate matches by SHA-256, SHA-384 or SHA-512`(_ values: [String]) throws {
    let fingerprints = try Self.fingerprints(values)
    #expect(fingerprints.contains(certificate: Self.first))
    #expect(!fingerprints.contains(certificate: Self.second) && !fingerprints.contains(certificate: []))
    #expect(!fingerprints.contains(certificate: Self.first.dropLast() + [0]))
  }

  @Test(arguments: [
    [firstBy256, secondBy256], [secondBy384, firstBy384], [firstBy512, secondBy512],
    [firstBy256, secondBy256, firstBy512, secondBy512],
  ])
  func `each of several certificates matches`(_ values: [String]) throws {
    let fingerprints = try Self.fingerprints(values)
    #expect(fingerprints.contains(certificate: Self.first) && fingerprints.contains(certificate: Self.second))
  }

  // Holds: SIGNAL-8
  @Test(arguments: [
    [firstBy256, secondBy384], [secondBy512, firstBy384], [firstBy384, firstBy256, secondBy512],
  ])
  func `only fingerprints of the strongest function count`(_ values: [String]) throws {
    let fingerprints = try Self.fingerprints(values)
    #expect(!fingerprints.contains(certificate: Self.first) && fingerprints.contains(certificate: Self.second))
  }

  // Holds: SIGNAL-8
  @Test(arguments: [
    ([firstBySHA1], "sha-1"), ([firstByMD5], "md5"), (["MD2 " + firstByMD5.dropFirst(4)], "md2"),
    ([firstBy224], "sha-224"),
    (["SHA-1 " + firstBySHA1.dropFirst(6)], "sha-1"), ([firstByMD5, firstBySHA1, "sha-256 00"], "md5"),
  ])
  func `a weak function is refused by name`(_ values: [String], _ name: String) {
    let error = #expect(throws: LiquidAuthError.self) { try Self.fingerprints(values) }
    #expect(error == .weakFingerprint(name))
    #expect(
      error?.description
        == "the dApp's answer cannot be used: its certificate's fingerprint uses \(name), which is too weak; SHA-256, SHA-384 "
        + "or SHA-512 is needed; \(LiquidAuthError.newLink)")
  }
}
