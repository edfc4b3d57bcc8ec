/// The text of a PIN or a passphrase, as dialogs and platforms send it: UTF-8 in NFC.
///
/// The text never becomes a `String`.
enum TypedText {
  /// Calls `body` with each code point.
  ///
  /// - Returns: whether NFC changes no code point, and may join none to the one before; `nil` if the bytes are not UTF-8.
  static func read(_ bytes: UnsafeRawBufferPointer, _ body: (Unicode.Scalar) -> Void) -> Bool? {
    var (parser, iterator, isComposed) = (Unicode.UTF8.ForwardParser(), bytes.makeIterator(), true)
    var before = Unicode.CanonicalCombiningClass.notReordered
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        let order = scalar.properties.canonicalCombiningClass
        let isOrdered = order == .notReordered || before <= order
        if !isOrdered || mayJoin(scalar) || scalar.properties.isFullCompositionExclusion { isComposed = false }
        before = order
        body(scalar)
      case .emptyInput: return isComposed
      case .error: return nil
      }
    }
  }

  /// Whether NFC can make one letter of the code point and the one before (NFC_Quick_Check=Maybe in UAX #15).
  ///
  /// These are accents, marks of Arabic and Japanese, and parts of Korean syllables. Marks of Thai and Hebrew join nothing.
  private static func mayJoin(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x0300...0x0304, 0x0306...0x030C, 0x030F, 0x0311, 0x0313...0x0314, 0x031B, 0x0323...0x0328, 0x032D...0x032E,
      0x0330...0x0331, 0x0338, 0x0342, 0x0345, 0x0653...0x0655, 0x1161...0x1175, 0x11A8...0x11C2, 0x3099...0x309A:
      true
    default: false
    }
  }
}
