import TestVectors
import Testing

@testable import liquid_auth

@Suite struct TypedTextTests {
  /// Each pair of code points of which NFC makes one, and each letter with a mark that would go before one of its own.
  // Holds: CONTROL-11
  @Test func `a text is in NFC if NFC changes nothing`() throws {
    let vector = try Vector("nfc")
    for (texts, isComposed) in [(vector.changed.array, false), (vector.kept.array, true)] {
      #expect(texts.count > 2000)
      for text in texts {
        var scalars = String.UnicodeScalarView()
        for point in text.text.split(separator: " ") {
          scalars.append(try #require(UInt32(point, radix: 16).flatMap { Unicode.Scalar($0) }))
        }
        let found = Array(String(scalars).utf8).withUnsafeBytes { bytes in TypedText.read(bytes) { _ in } }
        #expect(found == isComposed, "\(text)")
      }
    }
  }
}
