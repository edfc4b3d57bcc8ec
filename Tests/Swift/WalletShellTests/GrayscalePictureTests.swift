import Testing

@testable import liquid_auth_wallet

/// A PNG file (ISO/IEC 15948).
struct PNG {
  /// The chunks in order.
  var chunks: [(name: String, content: [UInt8])]

  /// A picture with the given rows in one uncompressed block; a filter number precedes each row.
  init(
    _ width: UInt8, _ height: UInt8, depth: UInt8, colour: UInt8, interlaced: UInt8 = 0, palette: [UInt8]? = nil,
    transparency: [UInt8]? = nil, rows: [UInt8]
  ) {
    let count = [UInt8(rows.count & 0xFF), UInt8(rows.count >> 8)]
    chunks = [("IHDR", [0, 0, 0, width, 0, 0, 0, height, depth, colour, 0, 0, interlaced])]
    if let palette { chunks.append(("PLTE", palette)) }
    if let transparency { chunks.append(("tRNS", transparency)) }
    chunks.append(("IDAT", [0x78, 0x01, 0x01] + count + count.map { ~$0 } + rows + [0, 0, 0, 0]))
    chunks.append(("IEND", []))
  }

  var bytes: [UInt8] {
    chunks.reduce([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { bytes, chunk in
      let count = chunk.content.count
      return bytes + [0, 0, UInt8(count >> 8), UInt8(count & 0xFF)] + Array(chunk.name.utf8) + chunk.content + [
        0, 0, 0, 0,
      ]
    }
  }
}

struct GrayscalePictureTests {
  private static let pictures: [(what: String, png: PNG, shades: [UInt8])] = [
    (
      "1 bit of gray", PNG(9, 1, depth: 1, colour: 0, rows: [0, 0b1010_0000, 0x80]), [255, 0, 255, 0, 0, 0, 0, 0, 255]
    ),
    ("2 bits of gray", PNG(4, 1, depth: 2, colour: 0, rows: [0, 0b0001_1011]), [0, 85, 170, 255]),
    ("4 bits of gray", PNG(2, 1, depth: 4, colour: 0, rows: [0, 0x0F]), [0, 255]),
    ("8 bits of gray", PNG(2, 2, depth: 8, colour: 0, rows: [0, 1, 2, 0, 3, 4]), [1, 2, 3, 4]),
    ("16 bits of gray", PNG(2, 1, depth: 16, colour: 0, rows: [0, 0x80, 0, 0xFF, 0xFF]), [127, 255]),
    (
      "gray with one transparent shade",
      PNG(2, 1, depth: 8, colour: 0, transparency: [0, 7], rows: [0, 7, 8]), [255, 8]
    ),
    (
      "red, green and blue", PNG(3, 1, depth: 8, colour: 2, rows: [0, 255, 0, 0, 0, 255, 0, 0, 0, 255]), [53, 182, 18]
    ),
    (
      "RGB with one transparent colour",
      PNG(2, 1, depth: 8, colour: 2, transparency: [0, 1, 0, 2, 0, 3], rows: [0, 1, 2, 3, 1, 2, 2]), [255, 1]
    ),
    (
      "a palette with transparent entries",
      PNG(
        4, 1, depth: 2, colour: 3, palette: [0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 80, 80], transparency: [0, 128],
        rows: [0, 0b0001_1011]), [255, 127, 0, 80]
    ),
    ("gray and transparency", PNG(3, 1, depth: 8, colour: 4, rows: [0, 0, 255, 0, 0, 100, 51]), [0, 255, 224]),
    (
      "16 bits of each colour and transparency",
      PNG(1, 1, depth: 16, colour: 6, rows: [0, 0, 0, 0, 0, 0, 0, 0, 0]), [255]
    ),
    (
      "colours under full transparency",
      PNG(2, 1, depth: 8, colour: 6, rows: [0, 0x99, 0x66, 0xFF, 0xFF, 0, 0, 0, 0]), [124, 255]
    ),
    (
      "each filter",
      PNG(
        3, 5, depth: 8, colour: 0,
        rows: [0, 10, 20, 30, 1, 1, 1, 1, 2, 1, 1, 1, 3, 1, 1, 1, 4, 1, 1, 1]),
      [10, 20, 30, 1, 2, 3, 2, 3, 4, 2, 3, 4, 3, 4, 5]
    ),
    (
      "seven passes, of which two are empty",
      PNG(
        4, 4, depth: 8, colour: 0, interlaced: 1,
        rows: [0, 1, 0, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0, 9, 10, 11, 12, 0, 13, 14, 15, 16]),
      [1, 5, 2, 6, 9, 10, 11, 12, 3, 7, 4, 8, 13, 14, 15, 16]
    ),
  ]

  // Holds: INPUT-9
  @Test(arguments: pictures.indices)
  func `a picture of each kind is read over white`(index: Int) {
    let (what, png, shades) = Self.pictures[index]
    #expect(GrayscalePicture(png: png.bytes)?.shades == shades, "\(what)")
  }

  @Test func `compressed data may be in several chunks`() throws {
    var png = PNG(2, 2, depth: 8, colour: 0, rows: [0, 1, 2, 0, 3, 4])
    let data = png.chunks.remove(at: 1).content
    png.chunks.insert(contentsOf: data.map { ("IDAT", [$0]) }, at: 1)
    png.chunks.insert(("tEXt", [1, 2, 3]), at: 1)
    #expect(GrayscalePicture(png: png.bytes) == GrayscalePicture(width: 2, height: 2, shades: [1, 2, 3, 4]))
  }

  // Holds: INPUT-10
  @Test(arguments: [
    ("no pixels", PNG(0, 1, depth: 8, colour: 0, rows: [])),
    ("a colour type that there is not", PNG(1, 1, depth: 8, colour: 5, rows: [0, 1])),
    ("a depth that its colours do not have", PNG(1, 1, depth: 4, colour: 2, rows: [0, 1, 2])),
    ("an unknown interlace method", PNG(1, 1, depth: 8, colour: 0, interlaced: 2, rows: [0, 1])),
    ("an unknown filter type", PNG(1, 1, depth: 8, colour: 0, rows: [5, 1])),
    ("a row too few", PNG(1, 2, depth: 8, colour: 0, rows: [0, 1])),
    ("a row too many", PNG(1, 1, depth: 8, colour: 0, rows: [0, 1, 0, 2])),
    ("a colour beyond the palette", PNG(1, 1, depth: 8, colour: 3, palette: [0, 0, 0], rows: [0, 1])),
    ("no palette", PNG(1, 1, depth: 8, colour: 3, rows: [0, 0])),
  ])
  func `a malformed picture is refused`(what: String, png: PNG) {
    #expect(GrayscalePicture(png: png.bytes) == nil, "\(what)")
  }

  // Holds: INPUT-10
  @Test func `a picture with a huge size is refused`() {
    for size: [UInt8] in [
      [0, 0, 0x20, 0x01, 0, 0, 0, 1], [0, 0, 0, 1, 1, 0, 0, 0], [UInt8](repeating: 0xFF, count: 8),
    ] {
      var png = PNG(1, 1, depth: 1, colour: 0, rows: [0, 0])
      png.chunks[0].content.replaceSubrange(0..<8, with: size)
      #expect(GrayscalePicture(png: png.bytes) == nil)
    }
  }

  // Holds: INPUT-10
  @Test(arguments: pictures.indices)
  func `a truncated picture is refused, and no changed byte crashes the reader`(index: Int) {
    let bytes = Self.pictures[index].png.bytes
    for count in bytes.indices { #expect(GrayscalePicture(png: Array(bytes.prefix(count))) == nil) }
    for place in bytes.indices {
      for change: UInt8 in [1, 0x80, 0xFF] {
        var changed = bytes
        changed[place] ^= change
        if let picture = GrayscalePicture(png: changed) {
          #expect(picture.shades.count == picture.width * picture.height)
        }
      }
    }
  }

  @Test func `the picture gets a white border, and values below 150 become black`() {
    let picture = GrayscalePicture(width: 2, height: 1, shades: [149, 150]).bordered
    let blank = [UInt8](repeating: 255, count: 22 * 10 + 10)
    #expect(picture == GrayscalePicture(width: 22, height: 21, shades: blank + [149, 150] + blank))
    #expect(picture.thresholded.shades == blank + [0, 255] + blank)
    #expect(picture.pgm.starts(with: Array("P5 22 21 255\n".utf8)) && picture.pgm.count == 13 + 22 * 21)
    let wide = GrayscalePicture(width: 320, height: 1, shades: [UInt8](repeating: 0, count: 320)).bordered
    #expect(wide.width == 360 && wide.height == 41)
  }
}
