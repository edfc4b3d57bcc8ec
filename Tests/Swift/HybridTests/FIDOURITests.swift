import CryptoPrimitives
import TestVectors
import Testing

@testable import Hybrid

@Suite struct FIDOURITests {
  @Test func `bytes are decoded from digits`() throws {
    for vector in try Vector("fido-uri").digits.array {
      #expect(try Base10.decode(vector.digits.text.utf8) == vector["bytes"].bytes, "\(vector.digits.text)")
    }
  }

  @Test func `every field of a browser's link is read`() throws {
    let links = try Vector("fido-uri").uris.array
    #expect(links.count == 3)
    for link in links {
      let read = try FIDOURI(link.uri.text)
      #expect(try FIDOURI("fido:/" + link.uri.text.dropFirst(6)) == read, "lower case is the same")
      let map = link["map"]
      #expect(Hex(read.clientKey.compressed) == map["0"].hex)
      #expect(read.knownTunnelServices == map["2"].optional?.integer())
      #expect(read.created == map["3"].optional?.integer())
      #expect(read.supportsLinking == map["4"].optional?.isTrue)
      #expect(read.hint?.rawValue == map["5"].optional?.text)
      #expect(read.supportsNonDiscoverable == nil && read.channels == [0])
    }
  }

  // Key 6 of CTAP 2.2 is a boolean, and that of CTAP 2.3 an array.
  @Test func `links of CTAP 2.2 and 2.3 are read, with their channels`() throws {
    let links = try Vector("fido-uri").channels.array
    #expect(links.count == 8)
    for link in links {
      let read = try FIDOURI(link.uri.text)
      let channels: [UInt64] = link.channels.array.map { $0.integer() }
      #expect(read.channels == channels, "\(link.uri.text)")
      #expect(read.supportsNonDiscoverable == link.nonDiscoverable.optional?.isTrue, "\(link.uri.text)")
    }
  }

  @Test func `an invalid link is refused`() throws {
    for vector in try Vector("fido-uri").invalid.array {
      #expect(throws: HybridError.self, "\(vector.uri.text): \(vector.why.text)") { try FIDOURI(vector.uri.text) }
    }
  }

  @Test(arguments: [
    ("FIDO:", HybridError.noLink), ("", .noLink), ("liquid://example.com", .noLink),
    ("ＦIDO:/000", .noLink), ("f\u{131}do:/000", .noLink),
    ("FIDO:/00a", .digits), ("FIDO:/0 0", .digits), ("FIDO:/-01", .digits), ("FIDO:/٠٠٠", .digits),
    ("FIDO:/256", .digits), ("FIDO:/72057594037927936", .digits), ("FIDO:/", .content),
    ("FIDO:/160", .content),
    ("FIDO:/000000", .digits),
  ])
  func `each fault has its error`(_ text: String, _ error: HybridError) {
    #expect(throws: error) { try FIDOURI(text) }
  }

  @Test(arguments: [
    // The smallest link has key and secret alone. Unknown members and hints are ignored.
    (1, "a2005821" + "02" + zeros(32) + "0150" + zeros(16), true),
    (2, "a4005821" + "03" + zeros(32) + "0150" + zeros(16) + "056278780a" + "01", true),
    // Another kind of point, a secret that is too short or too long, a missing part, another type.
    (3, "a2005821" + "04" + zeros(32) + "0150" + zeros(16), false),
    (4, "a2005820" + zeros(32) + "0150" + zeros(16), false),
    (5, "a2005821" + "02" + zeros(32) + "014f" + zeros(15), false),
    (6, "a2005821" + "02" + zeros(32) + "0151" + zeros(17), false),
    (7, "a1005821" + "02" + zeros(32), false), (8, "a10150" + zeros(16), false),
    (9, "a3005821" + "02" + zeros(32) + "0150" + zeros(16) + "0301", true),
    // A member of another type is as if it were absent.
    (10, "a3005821" + "02" + zeros(32) + "0150" + zeros(16) + "03f5", true),
    (11, "a3005821" + "02" + zeros(32) + "0150" + zeros(16) + "0401", true),
    (14, "a3005821" + "02" + zeros(32) + "0150" + zeros(16) + "0601", true),
    // Bytes after the map; not canonical.
    (12, "a2005821" + "02" + zeros(32) + "0150" + zeros(16) + "00", false),
    (13, "a20150" + zeros(16) + "005821" + "02" + zeros(32), false),
  ])
  func `key and secret are required, and have their types`(
    _ number: Int, _ map: String, _ isRead: Bool
  ) throws {
    let text = FIDOURI.scheme + Self.digits(of: try #require(Hex(map)).bytes)
    if isRead {
      #expect(try FIDOURI(text).hint == nil)
    } else {
      #expect(throws: HybridError.content) { try FIDOURI(text) }
    }
  }

  private static func zeros(_ count: Int) -> String { String(repeating: "00", count: count) }

  /// The digits of bytes, as browsers write them.
  private static func digits(of bytes: [UInt8]) -> String {
    stride(from: 0, to: bytes.count, by: 7).map { start in
      let chunk = bytes[start..<min(start + 7, bytes.count)]
      let value = chunk.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      let width = [0, 3, 5, 8, 10, 13, 15, 17][chunk.count]
      let text = String(value)
      return String(repeating: "0", count: width - text.count) + text
    }.joined()
  }
}
