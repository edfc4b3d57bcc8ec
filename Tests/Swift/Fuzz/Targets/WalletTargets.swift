import CryptoPrimitives
import LiquidAuth

/// The configuration of the wallet, and pictures with QR codes.
///
/// The wallet itself is not a part of this program, because it needs libsoup and GStreamer. The directory `Wallet` has symbolic
/// links to the files that read the configuration and pictures.
enum WalletTargets {
  static let all: [Target] = [
    Target(
      "wallet-conf", of: "the configuration file of the wallet", atMost: 2048,
      words: [
        "ice-server = ", "stun:", "turn:", "?transport=tcp", "none", "ca-file = ", "~/", "algod ", "testnet-v1.0",
        "mainnet-v1.0", "keyri-api = ", "keyri ", "network ", " algod ", "tunnel = wss://", "tunnel-number = ",
        "https://", "http://127.0.0.1", "[::1]", ":3478", "\n", " = ", "#",
      ],
      seeds: {
        let (hash, otherHash) = (Base64.encode(Array(0..<32)), Base64.encode(Array(1..<33)))
        return [
          """
          # Ours.
          ice-server = stun:stun.example
            ice-server=turn:[::1]:443?transport=tcp  anna  pass=word#1
          ca-file = ~/a b.pem
          algod testnet-v1.0 = https://node.example/
          algod mainnet-v1.0 = http://127.0.0.1:4001 token
          keyri-api = https://prod.api.keyri.com
          keyri acme = https://app.example.org APP-KEY
          network sandnet-v1 = \(hash)
          network voi = \(otherHash) algod http://127.0.0.1:4002 token
          tunnel = wss://127.0.0.1:4443
          tunnel-number = 257
          """, "ice-server = none\n",
        ].map { Array($0.utf8) }
      }, read: read),
    Target(
      "png", of: "a PNG picture, or the parts of a valid one", atMost: 2048,
      words: ["IHDR", "PLTE", "tRNS", "IDAT", "IEND"],
      seeds: {
        let whole = png(
          width: 3, height: 2, kind: (8, 2), palette: [], transparency: [0, 1, 0, 2, 0, 3],
          rows: [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]])
        return [[0] + whole] + kinds.indices.map { [1, UInt8($0), 4, 3, UInt8($0 & 1), 6, 9, 9, 9, 0, 0, 0, 2, 0, 7] }
      }, read: readPicture),
    Target(
      "picture-size", of: "the beginning of a JPEG, GIF, BMP or WebP picture", atMost: 256,
      words: ["GIF89a", "BM", "RIFF", "WEBP", "VP8 ", "VP8L", "VP8X"],
      seeds: {
        let gif = Array("GIF89a".utf8) + [3, 0, 2, 0]
        let bmp = Array("BM".utf8) + [UInt8](repeating: 0, count: 16) + [3, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF]
        let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xFE, 0, 3, 0x61, 0xFF, 0xFF, 0xC0, 0, 17, 8, 0, 2, 0, 3, 3]
        let webp = ["VP8 ", "VP8L", "VP8X"].map { Array("RIFF    WEBP\($0)".utf8) + [UInt8](repeating: 1, count: 20) }
        return [gif, bmp, jpeg] + webp
      }, read: readSize),
  ]

  private static func read(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    let configuration: WalletConfiguration
    do throws(WalletFailure) {
      configuration = try WalletConfiguration(text, path: "wallet.conf", home: "/home/a")
    } catch {
      expect(error.description.hasPrefix("wallet.conf, line "), "an error without a place: \(error)")
      expect(!error.description.contains("\n"), "an error on two lines")
      return
    }
    if !text.unicodeScalars.contains("\r") {
      let other = try WalletConfiguration(
        text.replacing("\n", with: "\r\n"), path: "wallet.conf", home: "/home/a")
      expect(other == configuration, "with CR and LF it is another configuration")
    }
    for server in configuration.iceServers ?? [] {
      let url = try ICEServerURL(server.urls[0])
      expect((url.kind == .turn) == (server.credential != nil), "a password where none belongs")
      expect(!url.authority.hasSuffix(":0"), "port 0")
    }
    for network in configuration.networks {
      expect(network.genesisHash.count == 32, "a hash of \(network.genesisHash.count) bytes")
      expect(configuration.node(of: network.genesisID) == network.node, "another node")
    }
    expect(configuration.certificateAuthorities?.path.hasPrefix("/") ?? true, "a relative path")
    expect(
      Set(configuration.keyri.all.map(\.linkOrigin)).count == configuration.keyri.all.count, "a service is there twice")
  }
}

// MARK: - Pictures

extension WalletTargets {
  /// Depth and colour type: ISO/IEC 15948, table 11.1.
  private static let kinds: [(depth: Int, colour: UInt8)] = [
    (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2), (1, 3), (2, 3), (4, 3), (8, 3), (8, 4), (16, 4), (8, 6),
    (16, 6),
  ]
  private static let indexed: UInt8 = 3
  /// First column and row, and the steps to the next: ISO/IEC 15948, 8.2.
  private static let passes = [
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
  ]

  /// After an even byte, a whole file; after an odd one, the parts of a picture of a valid form.
  private static func readPicture(_ input: [UInt8]) {
    var choices = Choices(input)
    guard choices.bool() else {
      check(choices.remainder())
      return
    }
    let kind = choices.one(of: kinds)
    let (width, height) = (choices.number(below: 20) + 1, choices.number(below: 20) + 1)
    let isInterlaced = choices.bool()
    let (palette, transparency) = (choices.counted(), choices.counted())
    let samples = [0: 1, 2: 3, 3: 1, 4: 2, 6: 4][kind.colour] ?? 0
    var rows: [[UInt8]] = []
    for (column, row, columns, lines) in isInterlaced ? passes : [(0, 0, 1, 1)] {
      let count = Array(stride(from: column, to: width, by: columns)).count
      guard count > 0 else { continue }
      for _ in stride(from: row, to: height, by: lines) {
        rows.append([choices.byte() % 5] + choices.bytes((count * kind.depth * samples + 7) / 8))
      }
    }
    let file = png(
      width: width, height: height, kind: kind, isInterlaced: isInterlaced, palette: palette,
      transparency: transparency, rows: rows)
    let isRead = check(file)
    expect(isRead || kind.colour == indexed, "a picture of a valid form was refused")
  }

  private static func readSize(_ input: [UInt8]) {
    guard let picture = FramedPicture(of: input, at: "a.jpg") else { return }
    let sides = 1...GrayscalePicture.maximumSide
    expect(sides ~= picture.width && sides ~= picture.height, "\(picture.width) × \(picture.height) pixels")
    expect(FramedPicture(of: input + [0], at: "a.jpg") == picture, "bytes behind the head matter")
  }

  /// Reads a file, and the picture again from a file of our own; returns whether it is a picture.
  @discardableResult
  private static func check(_ file: [UInt8]) -> Bool {
    guard let picture = GrayscalePicture(png: file) else { return false }
    let sides = 1...GrayscalePicture.maximumSide
    expect(sides ~= picture.width && sides ~= picture.height, "\(picture.width) × \(picture.height) pixels")
    expect(picture.shades.count == picture.width * picture.height, "\(picture.shades.count) shades")
    expect(GrayscalePicture(png: file + [0]) == picture, "bytes behind the end matter")
    guard picture.shades.count < 1 << 14 else { return true }
    let rows = stride(from: 0, to: picture.shades.count, by: picture.width).map { start in
      [0] + picture.shades[start..<start + picture.width]
    }
    let again = png(
      width: picture.width, height: picture.height, kind: (8, 0), palette: [], transparency: [], rows: rows)
    expect(GrayscalePicture(png: again) == picture, "another picture")
    let framed = picture.bordered.thresholded
    expect(framed.shades.count == framed.width * framed.height, "a border of another size")
    expect(framed.shades.allSatisfy { $0 == 0 || $0 == .max }, "a shade between black and white")
    expect(picture.inverted.inverted == picture, "another picture after two inversions")
    return true
  }

  /// A file of a picture, with filters before the rows, and without checksums, which are not read.
  private static func png(
    width: Int, height: Int, kind: (depth: Int, colour: UInt8), isInterlaced: Bool = false, palette: [UInt8],
    transparency: [UInt8], rows: [[UInt8]]
  ) -> [UInt8] {
    func number(_ number: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
      number(content.count) + Array(name.utf8) + content + number(0)
    }
    let form = [UInt8(kind.depth), kind.colour, 0, 0, isInterlaced ? 1 : 0]
    // Blocks that are not compressed (RFC 1951, 3.2.4), the last one empty.
    let blocks = rows.flatMap { row in
      let count = [UInt8(row.count & 0xFF), UInt8(row.count >> 8)]
      return [0] + count + count.map { ~$0 } + row
    }
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", number(width) + number(height) + form)
      + (palette.isEmpty ? [] : chunk("PLTE", palette)) + (transparency.isEmpty ? [] : chunk("tRNS", transparency))
      + chunk("IDAT", [0x78, 1] + blocks + [1, 0, 0, 0xFF, 0xFF] + number(0)) + chunk("IEND", [])
  }
}

/// In the place of the wallet's own error, which has more codes and parts.
struct WalletFailure: Error, Equatable, CustomStringConvertible {
  enum Code { case failed, mistake }

  let code: Code
  let description: String

  init(_ description: String, code: Code = .failed) { (self.code, self.description) = (code, description) }
}
