import CTAP2
import DisplayText

/// How a wallet's texts are laid out for dialogs.
///
/// The smallest window is a terminal of 24 rows and 80 columns with pinentry-curses in it. What is too high for it is not
/// shown at all; what is too wide it breaks, without the spaces at the beginning: so we break first, and what goes on
/// stands behind a mark. Nothing that others wrote comes to stand where a line of ours begins.
enum WalletText {
  /// The most bytes of one dialog's lines, as Assuan writes them: with the headline they fit into one line of 1000.
  static let room = 880
  /// The most lines of one dialog, beside headline and empty line, where a wrong passphrase is said as well.
  static let height = 14
  /// The most columns of one line without its mark; an address with its label fits.
  static let width = 70

  /// Some lines of a text, and which part of it they are, in words behind the question.
  struct Part: Equatable {
    var lines: [String]
    var words: String
  }

  /// A text that others wrote, whole: each of its lines behind a mark, so that none can pose as one of ours, and what
  /// goes on in another line behind a second one.
  static func quoted(_ text: String) -> [String] {
    text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
      chunks(of: line.map(DisplayText.exact)).enumerated().map { "\($0 == 0 ? ">" : "+") \($1)" }
    }
  }

  /// A line of ours; what goes on in another line stands behind a mark.
  static func wrapped(_ line: String) -> [String] {
    chunks(of: line.unicodeScalars.map(DisplayText.visible)).enumerated().map { $0 == 0 ? $1 : "+ \($1)" }
  }

  /// Who asks for a signature by the account: the wallet saw that origin, not the authenticator.
  static func dApp(_ origin: String) -> [String] { wrapped("dApp: \(DisplayText.host(origin))") }

  /// Who asks for a signature by an association key.
  static func service(_ service: String) -> [String] { wrapped("Service: \(DisplayText.host(service))") }

  /// Spreads lines over as many dialogs as they need; none is left out.
  ///
  /// - Parameter heading: stands in each of them.
  static func parts(of lines: [String], under heading: [String]) -> NonEmpty<Part> {
    parts(of: pages(of: [lines], under: heading))
  }

  /// Says of pages which part each is.
  static func parts(of pages: NonEmpty<[String]>) -> NonEmpty<Part> {
    pages.numbered { number, lines in
      Part(lines: lines, words: pages.count == 1 ? "" : " (part \(number) of \(pages.count))")
    }
  }

  /// Spreads blocks of lines over as many dialogs as they need; none is left out.
  ///
  /// A block that would be broken by the end of a page, and fits into a whole one, begins on the next.
  ///
  /// - Parameter heading: stands in each of them.
  static func pages(of blocks: [[String]], under heading: [String]) -> NonEmpty<[String]> {
    let room = room - size(of: heading)
    let height = height - heading.count
    var pages = NonEmpty<[String]>(last: [])
    var left = room
    for block in blocks {
      let isBroken = size(of: block) > left || pages.last.count + block.count > height
      if isBroken, !pages.last.isEmpty, size(of: block) <= room, block.count <= height {
        (pages, left) = (NonEmpty(pages.all, last: []), room)
      }
      for line in block {
        if size(of: [line]) > left || pages.last.count == height {
          (pages, left) = (NonEmpty(pages.all, last: []), room)
        }
        left -= size(of: [line])
        pages.last.append(line)
      }
    }
    return pages
  }

  /// One dialog: as many blocks as fit, the number of blocks left out, and then `closing`.
  ///
  /// Use it only for text that earlier dialogs showed in full.
  ///
  /// - Parameter heading: stands above them.
  static func summary(of blocks: [[String]], closing: [String], under heading: [String]) -> [String] {
    var shown = blocks[...]
    while true {
      let left = blocks.count - shown.count
      let note = left == 0 ? [] : ["(\(left) more \(left == 1 ? "line" : "lines") in earlier parts)"]
      let lines = Array(shown.joined()) + note + closing
      if shown.isEmpty || pages(of: [lines], under: heading).count == 1 { return lines }
      shown.removeLast()
    }
  }

  /// How many bytes lines take in a dialog's text, with their ends.
  private static func size(of lines: [String]) -> Int { lines.reduce(0) { $0 + AssuanLine.size(of: $1 + "\n") } }

  /// Joins pieces to lines of ``width`` columns at most, which end behind a space where one is not too near to their
  /// beginning; no pieces are one empty line.
  private static func chunks(of pieces: [String]) -> [String] {
    var chunks: [[String]] = [[]]
    var left = width
    for piece in pieces {
      if columns(piece) > left {
        let line = chunks[chunks.count - 1]
        let space = line.lastIndex(of: " ").map { $0 + 1 } ?? 0
        let end = space > line.count / 4 ? space : line.count
        chunks[chunks.count - 1] = Array(line[..<end])
        chunks.append(Array(line[end...]))
        left = width - line[end...].reduce(0) { $0 + columns($1) }
      }
      chunks[chunks.count - 1].append(piece)
      left -= columns(piece)
    }
    return chunks.map { $0.joined() }
  }

  /// At most so wide; from U+1100 on there are characters of two columns.
  private static func columns(_ piece: String) -> Int {
    piece.unicodeScalars.reduce(0) { $0 + ($1.value < 0x1100 ? 1 : 2) }
  }
}

extension UserPrompt {
  var dAppLines: [String] { WalletText.dApp(origin ?? "") }
}
