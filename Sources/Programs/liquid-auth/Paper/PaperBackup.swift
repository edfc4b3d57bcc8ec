import CryptoPrimitives
import DisplayText
import Recovery
import StateDirectory

/// `liquid-auth backup --paper`, and `liquid-auth restore --image`.
enum PaperBackup {
  /// Makes a page with as many passkeys as fit, and writes it to a new file.
  static func write(to path: String, at place: PlaceOptions, output: OutputOptions) throws(CommandFailure) {
    let named = NamedFile(path)
    guard try named.stamp() == nil else { throw named.exists }
    try named.checkWritable()
    let vault = try OwnedVault(at: place)
    let start = unixMilliseconds()
    let (page, bytes) = try page(from: vault.makeBackup().file, in: vault, at: start)
    try named.create(bytes)
    let selection = page.selection
    // The status must not count a page that leaves anything out as a backup.
    if selection.isComplete { vault.record(.written, file: BackupFile.digest(of: selection.file), at: start) }
    output.write(
      BackupText.written(page, path, at: place),
      json: [
        "bytes": .number(Int64(selection.file.count)), "codes": .number(Int64(page.codes.count)),
        "passkeys": .number(Int64(selection.passkeys)), "removals": .number(Int64(selection.removals)),
        "leftOut": .array(selection.leftOut.map { ["rpId": .string($0.rpID), "name": JSON($0.name)] }),
        "leftOutRemovals": .number(Int64(selection.leftOutRemovals)),
        "leftOutLargeBlobs": .bool(selection.leavesOutLargeBlobs),
      ])
  }

  /// Makes the page from a complete backup; the selection is sealed with a nonce of its own.
  private static func page(
    from file: [UInt8], in vault: OwnedVault, at time: UInt64
  ) throws(CommandFailure) -> (BackupPage, pdf: [UInt8]) {
    let keys = try vault.keys()
    let page: BackupPage
    do throws(RecoveryError) {
      let selection = try BackupSelection(
        of: BackupReader(file: file, keys: keys), atMost: BackupCodes.maximumFileSize, nonce: randomBytes(24))
      page = try BackupPage(
        of: selection, fingerprint: keys.fingerprint, date: UTCTime(milliseconds: time).date)
    } catch {
      throw CommandFailure("cannot make the page: \(error.description)")
    }
    return (page, try page.pdf())
  }

  /// What to do with a page that is still a PDF file; `nil` for the bytes of another file.
  static func advice(onPDF file: [UInt8], _ path: String) -> String? {
    guard file.starts(with: "%PDF-".utf8) else { return nil }
    let command = "pdftoppm -r 250 -png \(CommandPlace.quoted(path)) page"
    return "it is a PDF file; make a picture of the page with: \(command), and give the picture to restore --image"
  }

  /// Reads a backup from the codes in pictures, in any order.
  ///
  /// - Parameter fault: makes the failure for codes that give no backup, from the reason.
  static func file(
    inPictures paths: [String], fault: (String) -> CommandFailure
  ) throws(CommandFailure) -> [UInt8] {
    var texts: [String] = []
    for path in paths { texts += try PictureCodes().texts(in: path) }
    do { return try BackupCodes.file(from: texts) } catch { throw fault(error.description) }
  }
}

extension BackupText {
  /// What is on a page, and what is not; lines.
  static func written(_ page: BackupPage, _ path: String, at place: PlaceOptions) -> String {
    let selection = page.selection
    let removals = selection.removals > 0 ? " and \(count(selection.removals, "removal"))" : ""
    let content = "\(count(selection.passkeys, "passkey"))\(removals)"
    var lines = ["wrote \(path.printable): \(content) in \(count(page.codes.count, "QR code"))"]
    if !selection.leftOut.isEmpty {
      lines.append("\(count(selection.leftOut.count, "passkey")) not on the page")
      lines += selection.leftOut.map(\.line)
    }
    if selection.leftOutRemovals > 0 {
      lines.append("\(count(selection.leftOutRemovals, "removal")) not on the page")
    }
    if selection.leavesOutLargeBlobs { lines.append("the large blobs are not on the page") }
    if !selection.isComplete {
      lines.append("for a backup of everything, run: liquid-auth backup FILE\(place.arguments)")
    }
    return lines.joined(separator: "\n")
  }
}
