/// The ways in which a program can print a value, and what they reveal.
package enum PrintedForms {
  /// A secret of 94 different printable characters, so that it is found as text, too.
  package static let secret = Hex((0..<94).map { UInt8(33 + $0 * 37 % 94) })

  /// The ways of printing a value that reveal six bytes or more of one of the secrets, and "Encodable" if the value is so;
  /// empty for a type that keeps its secrets.
  package static func leaks(of value: Any, _ secrets: Hex...) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    let printed = [
      "description": String(describing: value), "debugDescription": String(reflecting: value),
      "interpolation": "\(value)", "dump": dumped, "Mirror": reflection(of: value),
    ]
    let revealing = secrets.flatMap(forms)
    let leaks = printed.filter { _, text in
      let numbers = text.split { !$0.isNumber }.joined(separator: " ")
      return revealing.contains { text.contains($0) || " \(numbers) ".contains(" \($0) ") }
    }
    return leaks.keys.sorted() + (value is any Encodable ? ["Encodable"] : [])
  }

  /// Each six bytes of a secret as decimal numbers, as hexadecimal and base64, and as text if they are printable.
  private static func forms(of secret: Hex) -> [String] {
    stride(from: 0, through: secret.bytes.count - 6, by: 6).flatMap { start in
      let piece = Array(secret.bytes[start..<start + 6])
      let hexadecimal = Hex(piece).description
      let isText = piece.allSatisfy { (0x21..<0x7F).contains($0) }
      return [
        piece.map(String.init).joined(separator: " "), hexadecimal, hexadecimal.uppercased(), base64(piece),
      ] + (isText ? [String(decoding: piece, as: UTF8.self)] : [])
    }
  }

  private static func base64(_ piece: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    let bits = piece.reduce(0) { $0 << 8 | UInt64($1) }
    return String((0..<8).map { digits[Int(bits >> UInt64(42 - 6 * $0) & 63)] })
  }

  /// All parts of a value, as reflection shows them.
  private static func reflection(of value: Any) -> String {
    var seen: Set<ObjectIdentifier> = []
    return reflection(of: value, &seen)
  }

  private static func reflection(of value: Any, _ seen: inout Set<ObjectIdentifier>) -> String {
    if type(of: value) is AnyClass, !seen.insert(ObjectIdentifier(value as AnyObject)).inserted { return "" }
    var text = String(reflecting: value)
    var mirror: Mirror? = Mirror(reflecting: value)
    while let one = mirror {
      for child in one.children { text += "\n\(child.label ?? "") " + reflection(of: child.value, &seen) }
      mirror = one.superclassMirror
    }
    return text
  }
}
