import CryptoPrimitives
import TestVectors
import Testing

@Suite struct Base64URLTests {
  /// RFC 4648 §10 without padding, and the two characters that differ from base64.
  @Test(arguments: [
    ("", ""), ("66", "Zg"), ("666f", "Zm8"), ("666f6f", "Zm9v"), ("666f6f62", "Zm9vYg"), ("666f6f6261", "Zm9vYmE"),
    ("666f6f626172", "Zm9vYmFy"), ("fb", "-w"), ("ff", "_w"), ("00000000", "AAAAAA"),
  ])
  func `bytes are encoded and decoded`(_ hex: String, _ text: String) throws {
    let bytes = try #require(Hex(hex)).bytes
    #expect(Base64URL.encode(bytes) == text)
    #expect(Base64URL.decode(Array(text.utf8)) == bytes)
  }

  @Test(arguments: ["A", "AAAAA", "Zg=", "Zg==", "Zh", "Zm9", "+w", "/w", "Zg\n", " Zg", "Z g", "Zm\u{E9}", "-x"])
  func `any other text is refused`(_ text: String) {
    #expect(Base64URL.decode(Array(text.utf8)) == nil)
  }

  @Test func `every length is decoded to the same bytes`() {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
      #expect(Base64URL.decode(Array(Base64URL.encode(bytes).utf8)) == bytes)
    }
  }
}
