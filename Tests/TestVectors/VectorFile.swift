public import Foundation

/// One JSON file of `Tests/Vectors`, read by name.
///
/// The files are found from this source file, so that tests run from any working directory.
public struct VectorFile: Sendable {
  /// The file's bytes, as they stand on disk.
  public let data: Data

  /// Reads `Tests/Vectors/NAME.json`.
  ///
  /// - Throws: the file system's error when there is no such file.
  public init(_ name: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    data = try Data(contentsOf: folder.appending(path: "Vectors/\(name).json"))
  }

  /// Decodes the whole file, or what a `Decodable` type names of it.
  public func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try JSONDecoder().decode(type, from: data)
  }
}

/// Bytes written as lower-case or upper-case hexadecimal in a vector file.
public struct Hex: Decodable, Hashable, Sendable, CustomStringConvertible {
  /// The decoded bytes.
  public let bytes: [UInt8]

  /// Wraps bytes that a test computed, for comparison and for a readable failure.
  public init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// Decodes hexadecimal text; `nil` when it has an odd length or another character.
  public init?(_ text: String) {
    let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  /// Decodes a JSON string of hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = Hex(text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not hexadecimal: \(text)")
    }
    self = value
  }

  /// Lower-case hexadecimal.
  public var description: String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
