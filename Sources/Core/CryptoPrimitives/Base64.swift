/// base64 in the two alphabets of RFC 4648.
///
/// Keyri uses the first. ARC-27 specifies it too, but its peers write the other.
package enum Base64 {
  /// Writes bytes with the alphabet of §4 and padding.
  package static func encode(_ bytes: [UInt8]) -> String {
    let text = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    return String(text) + String(repeating: "=", count: (3 - bytes.count % 3) % 3)
  }

  /// Reads either alphabet, not both in one text, with or without padding; `nil` for anything else.
  ///
  /// Like ``Base64URL/decode(_:)``, it refuses unused bits that are not zero.
  package static func decode(_ text: String) -> [UInt8]? {
    var digits = Array(text.utf8)
    let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding == 0 || padding <= 2 && digits.count.isMultiple(of: 4) else { return nil }
    digits.removeLast(padding)
    let isOfURLs = digits.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    return Base64URL.decode(
      isOfURLs
        ? digits
        : digits.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 })
  }
}
