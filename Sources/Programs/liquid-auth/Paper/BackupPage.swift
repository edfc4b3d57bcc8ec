import Recovery

/// The page of `liquid-auth backup --paper`: a small backup as QR codes, and blanks for the words of the phrase.
struct BackupPage {
  /// The fingerprint of the phrase, 4 bytes.
  let fingerprint: [UInt8]
  /// The day on which the page is made: `2026-11-21`.
  let date: String
  let selection: BackupSelection
  /// At most ``BackupCodes/maximumCount``.
  let codes: [QRCode]

  /// Makes the codes of a selection.
  ///
  /// - Throws: what ``BackupCodes/texts(of:)`` throws; `full` if a part does not fit into a code.
  init(of selection: BackupSelection, fingerprint: [UInt8], date: String) throws(RecoveryError) {
    (self.selection, self.fingerprint, self.date) = (selection, fingerprint, date)
    let texts = try BackupCodes.texts(of: selection.file)
    codes = texts.compactMap(QRCode.init)
    guard codes.count == texts.count else {
      throw RecoveryError(.full, "a part of the backup does not fit into a QR code")
    }
  }

  /// What is not on the page, in the order of ``BackupSelection``: passkeys, the number of removals, the large blobs.
  ///
  /// - Parameter names: how many passkeys are named; the others are counted.
  func rest(naming names: Int) -> String? {
    guard !selection.isComplete else { return nil }
    var items = selection.leftOut.prefix(names).map { passkey in
      passkey.rpID.printable.shortened + (passkey.name.map { " (\($0.printable.shortened))" } ?? "")
    }
    let others = selection.leftOut.count - items.count
    if others > 0 { items.append(items.isEmpty ? count(others, "passkey") : count(others, "other passkey")) }
    if selection.leftOutRemovals > 0 { items.append(count(selection.leftOutRemovals, "removal")) }
    if selection.leavesOutLargeBlobs { items.append("the large blobs") }
    return "Not on this page: \(items.joined(separator: ", "))."
  }
}

extension String {
  /// At most 40 characters.
  fileprivate var shortened: String { count > 40 ? prefix(37) + "..." : self }
}

// MARK: - Layout

extension BackupPage {
  private static let margin: Float = 40
  private static let textSize: Float = 9.5
  private static let smallSize: Float = 8
  private static let leading: Float = 1.3
  private static let codesInARow = 3
  /// The side of a code with its quiet zone.
  ///
  /// A module of the largest code is 0.47 mm wide.
  private static let codeSize: Float = 167
  /// The height of the fold above the words.
  private static let fold: Float = 222
  private static let (words, wordsInAColumn) = (24, 6)
  /// The distance between two blanks, for handwriting.
  private static let blankHeight: Float = 22
  /// The most passkeys that the page tries to name.
  private static let maximumNames = 60

  private static var width: Float { PDFPage.width - 2 * margin }

  private var introduction: [(text: String, font: PDFPage.Font)] {
    let removals = selection.removals > 0 ? " and \(count(selection.removals, "removal"))" : ""
    let content = "\(count(selection.passkeys, "passkey"))\(removals) in \(count(codes.count, "code"))"
    return [
      (
        "Made on \(date) (UTC). Fingerprint of the phrase: \(fingerprint.hexadecimal). This page has \(content).",
        .regular
      ),
      (
        "With your recovery phrase, or enough shares of it, this page brings back your passkeys. Without the phrase, nobody "
          + "can read the codes. Anyone who has both can use your passkeys.", .regular
      ),
      ("To bring the passkeys back:", .bold),
      (
        "1. On a new computer, install liquid-auth, run: liquid-auth setup, and type the words of the phrase, or of its "
          + "shares.", .regular
      ),
      (
        "2. Take a sharp picture of the codes, or several pictures that show each code at least once. Do not take a picture "
          + "of the words.", .regular
      ),
      ("3. Run: liquid-auth restore --image PICTURE (or with several: --image PICTURE PICTURE)", .regular),
    ]
  }

  /// The page as a PDF document.
  func pdf() throws(CommandFailure) -> [UInt8] {
    let page = try PDFPage(title: "Backup of passkeys")
    var y = PDFPage.height - Self.margin - 12
    page.write("Backup of passkeys", .bold, size: 16, at: Self.margin, y)
    y -= 8
    for (text, font) in introduction { y = write(text, font, size: Self.textSize, on: page, below: y) - 2 }
    y = drawCodes(on: page, below: y)
    drawRest(on: page, below: y)
    drawBlanks(on: page)
    return try page.bytes()
  }

  /// Writes a text over the whole width.
  ///
  /// - Returns: the baseline of its last line.
  private func write(
    _ text: String, _ font: PDFPage.Font = .regular, size: Float, on page: borrowing PDFPage, below top: Float
  ) -> Float {
    var y = top
    for line in page.lines(of: text, font, size: size, width: Self.width) {
      y -= size * Self.leading
      page.write(line, font, size: size, at: Self.margin, y)
    }
    return y
  }

  private func drawCodes(on page: borrowing PDFPage, below top: Float) -> Float {
    let distance = Self.width / Float(Self.codesInARow)
    let height = Self.codeSize + Self.smallSize + 4
    for (index, code) in codes.enumerated() {
      let x = Self.margin + Float(index % Self.codesInARow) * distance + (distance - Self.codeSize) / 2
      let y = top - 2 - Float(index / Self.codesInARow) * height
      page.draw(code, at: x, y, size: Self.codeSize)
      page.write(
        "Code \(index + 1) of \(codes.count)", size: Self.smallSize, at: x + Self.codeSize / 2 - 20,
        y - Self.codeSize - Self.smallSize + 2)
    }
    let rows = (codes.count + Self.codesInARow - 1) / Self.codesInARow
    return top - 2 - Float(rows) * height
  }

  /// Names as many of the left-out passkeys as there is room for.
  private func drawRest(on page: borrowing PDFPage, below top: Float) {
    let room = Int((top - 4 - Self.fold - Self.smallSize) / (Self.smallSize * Self.leading))
    var names = min(selection.leftOut.count, Self.maximumNames)
    while let text = rest(naming: names) {
      let lines = page.lines(of: text, size: Self.smallSize, width: Self.width)
      if lines.count <= room || names == 0 {
        _ = write(text, size: Self.smallSize, on: page, below: top - 4)
        return
      }
      names -= 1
    }
  }

  private func drawBlanks(on page: borrowing PDFPage) {
    page.line(from: Self.margin, to: PDFPage.width - Self.margin, at: Self.fold, isDashed: true)
    var y = write(
      "Fold the page here before you take a picture.", size: Self.smallSize, on: page, below: Self.fold)
    y = write("The words of your recovery phrase", .bold, size: Self.textSize, on: page, below: y - 3)
    y = write(
      "Write the 12 to 24 words here by hand, or keep them on another paper. If you have shares, leave the blanks empty. "
        + "A page with the words on it gives access to all passkeys: keep it where nobody else can find it.",
      size: Self.textSize, on: page, below: y - 1)
    let columns = Self.words / Self.wordsInAColumn
    let width = Self.width / Float(columns)
    for index in 0..<Self.words {
      let x = Self.margin + Float(index / Self.wordsInAColumn) * width
      let line = y - 5 - Float(index % Self.wordsInAColumn + 1) * Self.blankHeight
      page.write("\(index + 1)", size: Self.textSize, at: x, line + 2)
      page.line(from: x + 16, to: x + width - 12, at: line)
    }
  }
}
