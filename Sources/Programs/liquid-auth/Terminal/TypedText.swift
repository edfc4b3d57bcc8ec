/// The text of a PIN or a passphrase, as dialogs and platforms send it: UTF-8 in NFC.
///
/// The text never becomes a `String`.
enum TypedText {
  /// Calls `body` with each code point.
  ///
  /// - Returns: whether NFC changes nothing; `nil` if the bytes are not UTF-8.
  static func read(_ bytes: UnsafeRawBufferPointer, _ body: (Unicode.Scalar) -> Void) -> Bool? {
    var (parser, iterator, isComposed) = (Unicode.UTF8.ForwardParser(), bytes.makeIterator(), true)
    var (before, letter) = (Unicode.CanonicalCombiningClass.notReordered, nil as Unicode.Scalar?)
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded):
        let scalar = Unicode.UTF8.decode(encoded)
        let order = scalar.properties.canonicalCombiningClass
        let isOrdered = order == .notReordered || before <= order
        // D115 of the Unicode Standard.
        let isBlocked = before != .notReordered && before >= order
        if !isOrdered || scalar.properties.isFullCompositionExclusion || !isBlocked && joins(scalar, to: letter) {
          isComposed = false
        }
        if order == .notReordered { letter = scalar }
        before = order
        body(scalar)
      case .emptyInput: return isComposed
      case .error: return nil
      }
    }
  }

  /// Whether NFC makes one letter of a letter and a mark or letter that follows, if no mark between them blocks it.
  private static func joins(_ scalar: Unicode.Scalar, to letter: Unicode.Scalar?) -> Bool {
    guard let letter else { return false }
    // NFC takes letters apart, and puts a mark before those of a higher class: "à" and a dot below begin with "ạ".
    var first = UInt64(letter.value)
    let order = scalar.properties.canonicalCombiningClass
    while order != .notReordered, let pair = CanonicalCompositions.all.first(where: { $0 & 0xFFFFF == first }),
      let mark = Unicode.Scalar(UInt32(pair >> 20 & 0xFFFFF)), mark.properties.canonicalCombiningClass > order
    {
      first = pair >> 40
    }
    switch (first, scalar.value) {
    case (0x1100...0x1112, 0x1161...0x1175): return true
    case (0xAC00...0xD7A3, 0x11A8...0x11C2): return (first - 0xAC00) % 28 == 0
    case (_, let second): return CanonicalCompositions.all.contains { $0 >> 20 == first << 20 | UInt64(second) }
    }
  }
}
