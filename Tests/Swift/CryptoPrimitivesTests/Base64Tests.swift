import CryptoPrimitives
import Testing

/// Tests of RFC 4648 §4, and of texts in either alphabet.
@Suite struct Base64Tests {
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of the standard`(text: String, encoded: String) {
    #expect(Base64.encode(Array(text.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(text.utf8))
    #expect(Base64.decode(encoded.replacing("=", with: "")) == Array(text.utf8), "without padding")
  }

  @Test func `both alphabets are read, and not in one text`() {
    #expect(Base64.encode([0xFB, 0xFF]) == "+/8=")
    #expect(Base64.decode("+/8=") == [0xFB, 0xFF] && Base64.decode("-_8") == [0xFB, 0xFF])
    #expect(Base64.decode("+_8=") == nil)
  }

  @Test(arguments: ["Zg=", "Zg===", "Z", "Zh==", "Zg==\n", "Z g=", "Zm9v====", "=", "Zm=v"])
  func `any other text is refused`(text: String) { #expect(Base64.decode(text) == nil) }
}
