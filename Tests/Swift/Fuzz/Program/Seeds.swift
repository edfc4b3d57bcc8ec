import Foundation

@testable import FuzzTargets

extension Target {
  /// Writes the seeds into a folder and the words into a dictionary beside it, and prints the size of the longest input.
  func writeSeeds(to folder: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (number, seed) in try seeds().enumerated() where seed.count <= maximumSize {
      try Data(seed).write(to: folder.appending(path: "seed-\(number)"))
    }
    let lines = words.map { "\"\(Self.escaped($0))\"\n" }
    try Data(lines.joined().utf8).write(to: URL(filePath: folder.path + ".dict"))
    print(maximumSize)
  }

  /// A word in the form of libFuzzer's dictionaries: all but printable ASCII as `\xHH`.
  private static func escaped(_ word: String) -> String {
    word.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): "\\\(UnicodeScalar(byte))"
      case 0x20...0x7E: "\(UnicodeScalar(byte))"
      default: "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }.joined()
  }
}
