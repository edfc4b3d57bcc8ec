import CHaru

/// A PDF document (ISO 32000-1) of one A4 page.
///
/// All lengths are in points, 1/72 inch; the origin is the lower left corner of the page. The fonts are from the standard 14,
/// which every reader has, in WinAnsiEncoding.
struct PDFPage: ~Copyable {
  enum Font: String {
    case regular = "Helvetica"
    case bold = "Helvetica-Bold"
  }

  /// The size of A4.
  static let (width, height): (Float, Float) = (595.276, 841.89)

  private let document: HPDF_Doc
  private let page: HPDF_Page

  /// Begins a page.
  ///
  /// The title goes into the document's properties.
  init(title: String) throws(CommandFailure) {
    // Without a handler, the first error stays in the document, and the later calls do nothing.
    guard let document = HPDF_New(nil, nil) else { throw Self.failure(0) }
    // This applies only to pages that are added later.
    HPDF_SetCompressionMode(document, UInt32(HPDF_COMP_ALL))
    guard let page = HPDF_AddPage(document) else {
      HPDF_Free(document)
      throw Self.failure(0)
    }
    (self.document, self.page) = (document, page)
    HPDF_Page_SetSize(page, HPDF_PAGE_SIZE_A4, HPDF_PAGE_PORTRAIT)
    HPDF_SetInfoAttr(document, HPDF_INFO_TITLE, title)
  }

  deinit { HPDF_Free(document) }

  /// The bytes of the document.
  ///
  /// - Throws: a failure if anything that was drawn before failed.
  func bytes() throws(CommandFailure) -> [UInt8] {
    HPDF_SaveToStream(document)
    var count = HPDF_GetStreamSize(document)
    var bytes = [UInt8](repeating: 0, count: Int(count))
    HPDF_ReadFromStream(document, &bytes, &count)
    let error = HPDF_GetError(document)
    guard error == UInt(HPDF_OK), !bytes.isEmpty, Int(count) == bytes.count else { throw Self.failure(error) }
    return bytes
  }

  private static func failure(_ error: HPDF_STATUS) -> CommandFailure {
    CommandFailure("the PDF cannot be made: error \(String(error, radix: 16)) of libharu; nothing was written")
  }
}

// MARK: - Drawing

extension PDFPage {
  /// Writes one line of text; its baseline begins at this point.
  func write(_ text: String, _ font: Font = .regular, size: Float, at x: Float, _ y: Float) {
    select(font, size)
    HPDF_Page_BeginText(page)
    HPDF_Page_TextOut(page, x, y, Self.encoded(text))
    HPDF_Page_EndText(page)
  }

  /// Breaks a text between words into lines of at most this width.
  ///
  /// A wider word gets a line of its own.
  func lines(of text: String, _ font: Font = .regular, size: Float, width: Float) -> [String] {
    select(font, size)
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, HPDF_Page_TextWidth(page, Self.encoded("\(last) \(word)")) <= width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }

  /// Fills the dark modules of a QR code in black, within a square with this upper left corner.
  ///
  /// The square includes the quiet zone. All modules are one path, so that a viewer that smooths edges leaves no gaps.
  func draw(_ code: QRCode, at x: Float, _ y: Float, size: Float) {
    let module = size / Float(code.modules.count + 2 * QRCode.quietZone)
    for (row, modules) in code.modules.enumerated() {
      var column = 0
      while column < modules.count {
        let end = modules[column...].firstIndex(of: !modules[column]) ?? modules.count
        if modules[column] {
          HPDF_Page_Rectangle(
            page, x + Float(column + QRCode.quietZone) * module,
            y - Float(row + 1 + QRCode.quietZone) * module, Float(end - column) * module, module)
        }
        column = end
      }
    }
    HPDF_Page_Fill(page)
  }

  /// Draws a thin horizontal line.
  func line(from x: Float, to end: Float, at y: Float, isDashed: Bool = false) {
    let dashes: [HPDF_UINT16] = [3]
    HPDF_Page_SetDash(page, dashes, isDashed ? 1 : 0, 0)
    HPDF_Page_SetLineWidth(page, 0.5)
    HPDF_Page_MoveTo(page, x, y)
    HPDF_Page_LineTo(page, end, y)
    HPDF_Page_Stroke(page)
  }

  private func select(_ font: Font, _ size: Float) {
    HPDF_Page_SetFontAndSize(page, HPDF_GetFont(document, font.rawValue, "WinAnsiEncoding"), size)
  }

  /// The text in WinAnsiEncoding.
  ///
  /// Characters other than printable ASCII and Latin-1 become `\u{…}`.
  static func encoded(_ text: String) -> [CChar] {
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x20...0x7E, 0xA1...0xAC, 0xAE...0xFF: bytes.append(UInt8(scalar.value))
      default: bytes += Array("\\u{\(String(scalar.value, radix: 16, uppercase: true))}".utf8)
      }
    }
    return bytes.map(CChar.init(bitPattern:)) + [0]
  }
}
