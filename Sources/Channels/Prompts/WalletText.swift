import Assuan
import CTAP2
import DisplayText
import Messages

/// How a wallet's texts are laid out for dialogs.
///
/// The smallest window is pinentry-curses in a terminal of 24 rows and 80 columns. It does not show a text that is too
/// high, and breaks a line that is too wide, without the spaces at its beginning. So lines are broken here, and the
/// rest of a line follows a mark. No foreign text comes where a line of ours begins.
enum WalletText {
  /// The most bytes of one dialog's lines, as Assuan writes them.
  ///
  /// The headline, and the lines about a finger or from PAM, then fit into the same Assuan line of 1000 bytes.
  static let room = 800
  /// The most lines of one dialog, beside headline and empty line, with room for the remark about a wrong passphrase.
  static let height = 14
  /// The most columns of one line without its mark.
  ///
  /// A line of ours that begins without a mark may have two more; a receiver in groups of four characters then fits with
  /// its label. pinentry-curses breaks a line of 76 columns that has a space.
  ///
  /// Two bytes, as Assuan writes them, count as at least one column, so that a line also fits below the longest heading.
  static let width = 73

  /// Some lines of a text, and the number of the part, from 1.
  struct Part: Equatable {
    var lines: [String]
    var number: Int
    /// How many parts there are.
    var count: Int

    /// The question with the number of the part, if there are several.
    func headline(_ question: Message) -> Message {
      count == 1 ? question : Message("\(question) (part \(number) of \(count))")
    }
  }

  /// A foreign text, whole: each of its lines follows a mark, so that none can pose as one of ours, and the rest of a
  /// broken line follows a second one.
  static func quoted(_ text: String) -> [String] {
    text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
      chunks(of: line.map(DisplayText.exact)).enumerated().map { "\($0 == 0 ? ">" : "+") \($1)" }
    }
  }

  /// A line of ours; the rest of a broken line follows a mark.
  static func wrapped(_ line: String) -> [String] {
    let scalars = Array(line.unicodeScalars)
    let pieces = scalars.indices.map { DisplayText.visible(at: $0, in: scalars) }
    return chunks(of: pieces, first: width + 2).enumerated().map { $0 == 0 ? $1 : "+ \($1)" }
  }

  /// Lines of our own words, broken at ``width``.
  static func wrapped(_ lines: [Message], in catalogue: Catalogue) -> [String] {
    catalogue.texts(lines).flatMap(wrapped)
  }

  /// Spreads lines over as many dialogs as they need; none is left out.
  ///
  /// - Parameter heading: the first lines of each of them.
  static func parts(of lines: [String], under heading: [String]) -> NonEmpty<Part> {
    parts(of: pages(of: [lines], under: heading))
  }

  /// Numbers the pages.
  static func parts(of pages: NonEmpty<[String]>) -> NonEmpty<Part> {
    pages.numbered { number, lines in Part(lines: lines, number: number, count: pages.count) }
  }

  /// Spreads blocks of lines over as many dialogs as they need; none is left out.
  ///
  /// A block that would be broken by the end of a page, and fits into a whole one, begins on the next.
  ///
  /// - Parameter heading: the first lines of each of them.
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
  /// - Parameter heading: the lines above them.
  static func summary(
    of blocks: [[String]], closing: [String], under heading: [String], in catalogue: Catalogue
  ) -> [String] {
    var shown = blocks[...]
    while true {
      let left = blocks.count - shown.count
      let words = Message(
        "(\(left) more line in earlier parts)", plural: "(\(left) more lines in earlier parts)", count: left)
      let note = left == 0 ? [] : [catalogue.text(words)]
      let lines = Array(shown.joined()) + note + closing
      if shown.isEmpty || pages(of: [lines], under: heading).count == 1 { return lines }
      shown.removeLast()
    }
  }

  /// How many bytes lines take in a dialog's text, with their ends.
  private static func size(of lines: [String]) -> Int { lines.reduce(0) { $0 + AssuanLine.size(of: $1 + "\n") } }

  /// Joins pieces to lines of ``width`` columns at most, broken after a space that is not too near the beginning; no
  /// pieces are one empty line.
  private static func chunks(of pieces: [String], first: Int = WalletText.width) -> [String] {
    var chunks: [[String]] = [[]]
    var left = first
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

  /// The most columns that a piece takes; characters of two columns begin at U+1100.
  private static func columns(_ piece: String) -> Int {
    let columns = piece.unicodeScalars.reduce(0) { $0 + ($1.value < 0x1100 ? 1 : 2) }
    return max(columns, (AssuanLine.size(of: piece) + 1) / 2)
  }
}
