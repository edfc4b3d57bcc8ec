import CZlib

/// A picture in shades of gray, row by row from the top: 0 is black, 255 is white.
struct GrayscalePicture: Equatable {
  let width: Int
  let height: Int
  let shades: [UInt8]
}

// MARK: - Preparation for QR code readers

extension GrayscalePicture {
  /// The picture with a white border of a sixteenth of the longer side, at least 10 pixels.
  var bordered: GrayscalePicture {
    let border = max(10, max(width, height) / 16)
    let side = [UInt8](repeating: .max, count: border)
    let edge = [UInt8](repeating: .max, count: border * (width + 2 * border))
    var framed = edge
    for row in 0..<height { framed += side + shades[row * width..<(row + 1) * width] + side }
    return GrayscalePicture(width: width + 2 * border, height: height + 2 * border, shades: framed + edge)
  }

  /// The picture in black and white: shades below 150 become black.
  var thresholded: GrayscalePicture {
    GrayscalePicture(width: width, height: height, shades: shades.map { $0 < 150 ? 0 : .max })
  }

  /// The picture with black in the place of white.
  var inverted: GrayscalePicture {
    GrayscalePicture(width: width, height: height, shades: shades.map { .max - $0 })
  }

  /// The picture as a file: Netpbm's PGM, the binary form (P5).
  var pgm: [UInt8] { Array("P5 \(width) \(height) 255\n".utf8) + shades }
}

// MARK: - PNG

extension GrayscalePicture {
  /// The most pixels of a side.
  static let maximumSide = 1 << 13
  /// The most bytes of an inflated picture.
  static let maximumBytes = 1 << 27

  /// Reads a PNG picture (ISO/IEC 15948) over white; `nil` if it is malformed or too large.
  ///
  /// Checksums are not verified: zbarimg reads the picture first and verifies them.
  init?(png: [UInt8]) {
    guard let file = PNGFile(png), let shades = file.shades() else { return nil }
    (width, height, self.shades) = (file.width, file.height, shades)
  }
}

/// A parsed PNG file.
private struct PNGFile {
  /// The meaning of a pixel's samples: ISO/IEC 15948, table 11.1.
  private enum Colour: UInt8 {
    case gray = 0
    case rgb = 2
    case indexed = 3
    case grayAlpha = 4
    case rgba = 6

    var samples: Int {
      switch self {
      case .gray, .indexed: 1
      case .grayAlpha: 2
      case .rgb: 3
      case .rgba: 4
      }
    }

    var depths: [Int] {
      switch self {
      case .gray: [1, 2, 4, 8, 16]
      case .indexed: [1, 2, 4, 8]
      case .rgb, .grayAlpha, .rgba: [8, 16]
      }
    }
  }

  /// One pass of an interlaced picture: its first column and row, and the steps to the next.
  private struct Pass {
    let column, row, columns, rows: Int

    /// The size of this pass for a picture of that size.
    func size(_ width: Int, _ height: Int) -> (width: Int, height: Int) {
      (max(0, width - column + columns - 1) / columns, max(0, height - row + rows - 1) / rows)
    }

    static let whole = [Pass(column: 0, row: 0, columns: 1, rows: 1)]
    /// ISO/IEC 15948, 8.2.
    static let adam7 = [
      Pass(column: 0, row: 0, columns: 8, rows: 8), Pass(column: 4, row: 0, columns: 8, rows: 8),
      Pass(column: 0, row: 4, columns: 4, rows: 8), Pass(column: 2, row: 0, columns: 4, rows: 4),
      Pass(column: 0, row: 2, columns: 2, rows: 4), Pass(column: 1, row: 0, columns: 2, rows: 2),
      Pass(column: 0, row: 1, columns: 1, rows: 2),
    ]
  }

  let width: Int
  let height: Int
  private let depth: Int
  private let colour: Colour
  private let passes: [Pass]
  private var palette: [UInt8] = []
  private var transparency: [UInt8] = []
  private var compressed: [UInt8] = []

  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: Self.signature) else { return nil }
    var rest = bytes.dropFirst(Self.signature.count)
    guard let (name, header) = Self.chunk(&rest), name == "IHDR", header.count == 13 else { return nil }
    let fields = Array(header)
    width = Self.number(fields[0..<4])
    height = Self.number(fields[4..<8])
    guard 1...GrayscalePicture.maximumSide ~= width, 1...GrayscalePicture.maximumSide ~= height,
      let colour = Colour(rawValue: fields[9]), colour.depths.contains(Int(fields[8])), fields[10] == 0,
      fields[11] == 0,
      fields[12] < 2
    else { return nil }
    (depth, self.colour, passes) = (Int(fields[8]), colour, fields[12] == 0 ? Pass.whole : Pass.adam7)
    while let (name, content) = Self.chunk(&rest) {
      switch name {
      case "PLTE": palette = Array(content)
      case "tRNS": transparency = Array(content)
      case "IDAT": compressed += content
      case "IEND": return
      default: break
      }
    }
    return nil
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

  /// Removes a chunk; returns its name and content.
  private static func chunk(_ bytes: inout ArraySlice<UInt8>) -> (name: String, content: ArraySlice<UInt8>)? {
    guard bytes.count >= 12 else { return nil }
    let count = number(bytes.prefix(4))
    guard count <= bytes.count - 12 else { return nil }
    let body = bytes.dropFirst(4).prefix(4 + count)
    bytes = bytes.dropFirst(12 + count)
    return (String(decoding: body.prefix(4), as: UTF8.self), body.dropFirst(4))
  }

  private var bitsPerPixel: Int { depth * colour.samples }

  private func rowSize(_ width: Int) -> Int { (width * bitsPerPixel + 7) / 8 }

  /// All pixels' shades over white.
  func shades() -> [UInt8]? {
    guard var rows = expanded() else { return nil }
    var shades = [UInt8](repeating: .max, count: width * height)
    var start = 0
    for pass in passes {
      let (columns, lines) = pass.size(width, height)
      guard columns > 0, lines > 0 else { continue }
      let size = rowSize(columns)
      guard unfilter(&rows, from: start, size: size, count: lines) else { return nil }
      for line in 0..<lines {
        let row = rows[(start + line * (size + 1) + 1)...].prefix(size)
        let target = (pass.row + line * pass.rows) * width + pass.column
        for column in 0..<columns {
          guard let shade = shade(of: column, in: row) else { return nil }
          shades[target + column * pass.columns] = shade
        }
      }
      start += lines * (size + 1)
    }
    return shades
  }

  /// The rows of all passes, each after its filter number: zlib's format (RFC 1950) around RFC 1951.
  private func expanded() -> [UInt8]? {
    let count = passes.reduce(0) { count, pass in
      let (columns, lines) = pass.size(width, height)
      return columns > 0 ? count + lines * (rowSize(columns) + 1) : count
    }
    guard count <= GrayscalePicture.maximumBytes, compressed.count > 6, compressed[0] & 0x0F == 8,
      compressed[1] & 0x20 == 0
    else { return nil }
    let deflated = Array(compressed.dropFirst(2).dropLast(4))
    var isWhole = false
    let rows = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      buffer.initialize(repeating: 0)
      isWhole = zlib_shim_inflate(deflated, deflated.count, buffer.baseAddress, count) == 1
      initialized = count
    }
    return isWhole ? rows : nil
  }

  /// Undoes the filters of one pass's rows: ISO/IEC 15948, 9.2.
  private func unfilter(_ bytes: inout [UInt8], from start: Int, size: Int, count: Int) -> Bool {
    let step = max(1, bitsPerPixel / 8)
    for line in 0..<count {
      let first = start + line * (size + 1) + 1
      let filter = bytes[first - 1]
      guard filter <= 4 else { return false }
      for offset in 0..<size where filter > 0 {
        let place = first + offset
        let left = offset >= step ? bytes[place - step] : 0
        let above = line > 0 ? bytes[place - size - 1] : 0
        let corner = offset >= step && line > 0 ? bytes[place - size - 1 - step] : 0
        switch filter {
        case 1: bytes[place] &+= left
        case 2: bytes[place] &+= above
        case 3: bytes[place] &+= UInt8((Int(left) + Int(above)) / 2)
        default: bytes[place] &+= Self.paeth(Int(left), Int(above), Int(corner))
        }
      }
    }
    return true
  }

  private static func paeth(_ left: Int, _ above: Int, _ corner: Int) -> UInt8 {
    let estimate = left + above - corner
    let (a, b, c) = (abs(estimate - left), abs(estimate - above), abs(estimate - corner))
    return UInt8(a <= b && a <= c ? left : b <= c ? above : corner)
  }

  /// A pixel's shade; `nil` if its index is outside the palette.
  private func shade(of column: Int, in row: ArraySlice<UInt8>) -> UInt8? {
    func sample(_ index: Int) -> Int {
      let position = column * colour.samples + index
      guard depth < 16 else {
        return Int(row[row.startIndex + 2 * position]) << 8 | Int(row[row.startIndex + 2 * position + 1])
      }
      guard depth < 8 else { return Int(row[row.startIndex + position]) }
      let bit = position * depth
      return Int(row[row.startIndex + bit / 8]) >> (8 - depth - bit % 8) & ((1 << depth) - 1)
    }
    let largest = (1 << depth) - 1
    func scaled(_ index: Int) -> Int { sample(index) * 255 / largest }
    // For gray and RGB, tRNS holds the one transparent colour, two bytes per sample.
    func isLeftOut() -> Bool {
      transparency.count == 2 * colour.samples
        && (0..<colour.samples).allSatisfy { Self.number(transparency[2 * $0..<2 * $0 + 2]) == sample($0) }
    }
    switch colour {
    case .gray: return isLeftOut() ? .max : UInt8(scaled(0))
    case .grayAlpha: return Self.shade(scaled(0), scaled(0), scaled(0), alpha: scaled(1))
    case .rgb: return isLeftOut() ? .max : Self.shade(scaled(0), scaled(1), scaled(2), alpha: 255)
    case .rgba: return Self.shade(scaled(0), scaled(1), scaled(2), alpha: scaled(3))
    case .indexed:
      let index = sample(0)
      guard palette.count >= 3 * index + 3 else { return nil }
      let alpha = transparency.indices.contains(index) ? Int(transparency[index]) : 255
      return Self.shade(
        Int(palette[3 * index]), Int(palette[3 * index + 1]), Int(palette[3 * index + 2]), alpha: alpha)
    }
  }

  /// The luma of a colour (ITU-R BT.709) over white.
  private static func shade(_ red: Int, _ green: Int, _ blue: Int, alpha: Int) -> UInt8 {
    let luma = (54 * red + 183 * green + 19 * blue) / 256
    return UInt8((luma * alpha + 255 * (255 - alpha)) / 255)
  }
}
