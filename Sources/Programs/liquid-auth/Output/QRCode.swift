import CQREncode

/// A QR code (ISO/IEC 18004) of a text, to be drawn with characters.
struct QRCode {
  /// How many light modules the standard requires around the code.
  static let quietZone = 4

  /// Rows of modules, `true` for dark; without the quiet zone.
  let modules: [[Bool]]

  /// Encodes a text in the smallest code that survives the loss of 15 % of it; `nil` if the text is empty or too long.
  init?(_ text: String) {
    guard let code = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1) else { return nil }
    defer { QRcode_free(code) }
    let width = Int(code.pointee.width)
    // The lowest bit of each byte is the module.
    modules = (0..<width).map { row in (0..<width).map { code.pointee.data[row * width + $0] & 1 == 1 } }
  }

  /// The code with its quiet zone, two rows of modules for each line; dark modules are half blocks.
  var lines: [String] {
    let size = modules.count + 2 * Self.quietZone
    return stride(from: 0, to: size, by: 2).map { row in
      String((0..<size).map { Self.block(upper: isDark(row, $0), lower: isDark(row + 1, $0)) })
    }
  }

  /// The lines in black on white, whatever the terminal's own colours are: SGR 30 and 107, and back.
  var coloured: [String] { lines.map { "\u{1B}[30;107m\($0)\u{1B}[0m" } }

  private func isDark(_ row: Int, _ column: Int) -> Bool {
    let (row, column) = (row - Self.quietZone, column - Self.quietZone)
    return modules.indices.contains(row) && modules.indices.contains(column) && modules[row][column]
  }

  private static func block(upper: Bool, lower: Bool) -> Character {
    switch (upper, lower) {
    case (true, true): "█"
    case (true, false): "▀"
    case (false, true): "▄"
    case (false, false): " "
    }
  }
}
