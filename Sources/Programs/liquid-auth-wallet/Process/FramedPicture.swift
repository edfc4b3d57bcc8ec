/// A picture that ImageMagick reads, on a background and with a border: a drawing in its language MVG, which names the
/// file.
///
/// So this program need not decode JPEG, GIF, BMP and WebP. It reads only the size, from the first bytes.
struct FramedPicture: Equatable {
  let width: Int
  let height: Int
  private let path: String

  /// Reads the size of a JPEG, GIF, BMP or WebP picture; `nil` for another format, a size of 0 or more than 8192, and for a
  /// path with characters that could have a meaning in the drawing.
  init?(of bytes: [UInt8], at path: String) {
    guard path.utf8.allSatisfy(Self.isPlain), let (width, height) = Self.size(of: bytes),
      1...GrayscalePicture.maximumSide ~= width, 1...GrayscalePicture.maximumSide ~= height
    else { return nil }
    (self.width, self.height) = (width, height)
    // As for the command line: a hyphen at the beginning is not an option.
    self.path = path.hasPrefix("/") ? path : "./" + path
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "/._-+ ".utf8.contains(byte)
    }
  }

  /// The drawing over a colour, with a border of a sixteenth of the longer side, at least 10 pixels.
  func drawing(over colour: String) -> [UInt8] {
    let border = max(10, max(width, height) / 16)
    let (right, bottom) = (width + 2 * border, height + 2 * border)
    return Array(
      """
      viewbox 0 0 \(right) \(bottom)
      fill \(colour)
      rectangle 0,0 \(right),\(bottom)
      image over \(border),\(border) 0,0 "\(path)"

      """.utf8)
  }

  // MARK: Sizes

  private static func size(of bytes: [UInt8]) -> (Int, Int)? {
    func little(_ place: Int, _ count: Int) -> Int? {
      guard place + count <= bytes.count else { return nil }
      return (0..<count).reversed().reduce(0) { $0 << 8 | Int(bytes[place + $1]) }
    }
    func pair(_ first: Int?, _ second: Int?) -> (Int, Int)? {
      guard let first, let second else { return nil }
      return (first, second)
    }
    if bytes.starts(with: "GIF8".utf8) { return pair(little(6, 2), little(8, 2)) }
    if bytes.starts(with: "BM".utf8) {
      // A negative height means rows from the top.
      return pair(little(18, 4), little(22, 4).map { Int(abs(Int64(Int32(truncatingIfNeeded: $0)))) })
    }
    if bytes.starts(with: [0xFF, 0xD8]) { return sizeOfJPEG(bytes) }
    guard bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) else { return nil }
    let chunk = bytes.dropFirst(12).prefix(4)
    // RFC 9649: extended, lossless, and lossy.
    if chunk.elementsEqual("VP8X".utf8) { return pair(little(24, 3).map { $0 + 1 }, little(27, 3).map { $0 + 1 }) }
    if chunk.elementsEqual("VP8L".utf8) {
      return little(21, 4).map { (($0 & 0x3FFF) + 1, ($0 >> 14 & 0x3FFF) + 1) }
    }
    guard chunk.elementsEqual("VP8 ".utf8) else { return nil }
    return pair(little(26, 2).map { $0 & 0x3FFF }, little(28, 2).map { $0 & 0x3FFF })
  }

  /// The size in the frame header (ITU-T T.81, B.2.2), after any other segments.
  private static func sizeOfJPEG(_ bytes: [UInt8]) -> (Int, Int)? {
    var place = 2
    while place + 9 <= bytes.count, bytes[place] == 0xFF {
      let marker = bytes[place + 1]
      if marker == 0xFF {
        place += 1
        continue
      }
      func number(_ offset: Int) -> Int { Int(bytes[place + offset]) << 8 | Int(bytes[place + offset + 1]) }
      if 0xC0...0xCF ~= marker, ![0xC4, 0xC8, 0xCC].contains(marker) { return (number(7), number(5)) }
      place += 2 + number(2)
    }
    return nil
  }
}
