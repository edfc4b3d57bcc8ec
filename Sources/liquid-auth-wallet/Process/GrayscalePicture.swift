import CPNG

/// A picture in shades of gray, row by row from the top: 0 is black, 255 is white.
struct GrayscalePicture: Equatable {
  let width: Int
  let height: Int
  let shades: [UInt8]
}

// MARK: - What helps a reader of QR codes

extension GrayscalePicture {
  /// The same with white around it, a sixteenth of the longer side but 10 pixels at least.
  var bordered: GrayscalePicture {
    let border = max(10, max(width, height) / 16)
    let side = [UInt8](repeating: .max, count: border)
    let edge = [UInt8](repeating: .max, count: border * (width + 2 * border))
    var framed = edge
    for row in 0..<height { framed += side + shades[row * width..<(row + 1) * width] + side }
    return GrayscalePicture(width: width + 2 * border, height: height + 2 * border, shades: framed + edge)
  }

  /// The same in black and white: what is darker than 150 is black.
  var thresholded: GrayscalePicture {
    GrayscalePicture(width: width, height: height, shades: shades.map { $0 < 150 ? 0 : .max })
  }

  /// The picture as a file: Netpbm's PGM, the binary form (P5).
  var pgm: [UInt8] { Array("P5 \(width) \(height) 255\n".utf8) + shades }
}

// MARK: - PNG

extension GrayscalePicture {
  /// How many pixels a side has at most.
  static let maximumSide = 1 << 13

  /// Reads PNG (ISO/IEC 15948) by libpng, with white behind what is transparent; `nil` for anything else, and for a side of
  /// more than ``maximumSide`` pixels.
  init?(png: [UInt8]) {
    var image = png_image()
    image.version = png_uint_32(PNG_IMAGE_VERSION)
    defer { png_image_free(&image) }
    guard png_image_begin_read_from_memory(&image, png, png.count) != 0 else { return nil }
    (width, height) = (Int(image.width), Int(image.height))
    guard 1...Self.maximumSide ~= width, 1...Self.maximumSide ~= height else { return nil }
    image.format = png_uint_32(PNG_FORMAT_GRAY)
    var shades = [UInt8](repeating: 0, count: width * height)
    var white = png_color(red: .max, green: .max, blue: .max)
    guard png_image_finish_read(&image, &white, &shades, 0, nil) != 0 else { return nil }
    self.shades = shades
  }
}
