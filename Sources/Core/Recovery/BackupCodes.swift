import CryptoPrimitives

/// A small backup file as texts of QR codes on one page (Recovery §9).
///
/// The text of a code is `LIQUID1/<digest>/<number>/<count>/<part>`. All of its characters are in the alphanumeric mode of
/// QR codes.
public enum BackupCodes {
  /// The most codes of a page.
  public static let maximumCount = 6
  /// The most bytes of the file in one code.
  ///
  /// The text then has 1,446 characters. A code of version 25 with error correction M holds 1,451.
  public static let maximumPartSize = 950
  /// The most bytes of a file, 5,700.
  public static let maximumFileSize = maximumCount * maximumPartSize

  /// The number of bytes of the file's SHA-256 in each code.
  static let digestSize = 4
  private static let name = "LIQUID"
  private static let version = "1"

  /// The texts of the codes for a file, in order; the parts differ by at most one byte.
  ///
  /// - Throws: `full` if the file has more than ``maximumFileSize`` bytes; `malformed` if it has none.
  public static func texts(of file: [UInt8]) throws(RecoveryError) -> [String] {
    guard !file.isEmpty else { throw RecoveryError(.malformed, "the backup is empty") }
    guard file.count <= maximumFileSize else {
      throw RecoveryError(.full, "a page can hold a backup of at most \(maximumFileSize) bytes")
    }
    let count = (file.count + maximumPartSize - 1) / maximumPartSize
    let digest = digest(of: file)
    return (0..<count).map { index in
      let part = file[file.count * index / count..<file.count * (index + 1) / count]
      return "\(name)\(version)/\(digest)/\(index + 1)/\(count)/\(Base45.encode(part))"
    }
  }

  /// Puts a file together from the texts of QR codes.
  ///
  /// - Parameter texts: in any order, with repetitions. Texts of other codes are ignored.
  /// - Throws: `newerVersion`; `malformed` if there is no code of a backup, if a code is damaged, if codes are missing, which
  ///   are named by their numbers, if two codes contradict each other, or if they are from two pages.
  public static func file(from texts: some Sequence<String>) throws(RecoveryError) -> [UInt8] {
    var codes: [Code] = []
    for text in texts {
      guard let code = try Code(text), !codes.contains(code) else { continue }
      if let first = codes.first, (code.digest, code.count) != (first.digest, first.count) {
        throw RecoveryError(.malformed, "the codes are from two pages", hint: "restore one page at a time")
      }
      guard !codes.contains(where: { $0.number == code.number }) else {
        throw RecoveryError(.malformed, "code \(code.number) was read in two ways", hint: "take new pictures")
      }
      codes.append(code)
    }
    guard let first = codes.first else { throw Self.notFound }
    let missing = (1...first.count).filter { number in !codes.contains { $0.number == number } }
    guard missing.isEmpty else { throw Self.missing(missing, of: first.count) }
    let file = codes.sorted { $0.number < $1.number }.flatMap(\.part)
    guard Array(digest(of: file).utf8) == first.digest else {
      throw RecoveryError(.malformed, "the codes do not belong together", hint: "take new pictures")
    }
    return file
  }

  private static func missing(_ numbers: [Int], of count: Int) -> RecoveryError {
    let names = numbers.map(String.init)
    let list = (names.dropLast(2) + [names.suffix(2).joined(separator: " and ")]).joined(separator: ", ")
    let verb = numbers.count == 1 ? "code \(list) of \(count) was" : "codes \(list) of \(count) were"
    return RecoveryError(
      .malformed, "\(verb) not found",
      hint: "take a sharper picture, and also give that one; each picture can show a part of the page")
  }

  private static let notFound = RecoveryError(
    .malformed, "no code of a backup was found", hint: "take a sharper picture of the codes")

  /// LEFT(SHA-256(file), 4) in upper-case hexadecimal digits.
  private static func digest(of file: [UInt8]) -> String {
    BackupFile.digest(of: file).prefix(digestSize).map { byte in
      let digits = String(byte, radix: 16, uppercase: true)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }

  /// One code of a page.
  private struct Code: Equatable {
    /// 8 characters.
    let digest: [UInt8]
    /// From 1.
    let number: Int
    let count: Int
    let part: [UInt8]

    /// Reads the text of a code; `nil` if it is not one of a backup.
    init?(_ text: String) throws(RecoveryError) {
      let fields = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 4, omittingEmptySubsequences: false)
      guard fields.count > 1, fields[0].starts(with: BackupCodes.name.utf8),
        Self.digits(fields[0].dropFirst(BackupCodes.name.utf8.count), 1...4) != nil
      else { return nil }
      guard fields[0].elementsEqual((BackupCodes.name + BackupCodes.version).utf8) else {
        throw RecoveryError(.newerVersion, "the page was made by a newer version", hint: "use a newer liquid-auth")
      }
      guard fields.count == 5, fields[1].count == 2 * BackupCodes.digestSize,
        let number = Self.digits(fields[2], 1...1),
        let count = Self.digits(fields[3], 1...1), 1...BackupCodes.maximumCount ~= count, 1...count ~= number,
        let part = Base45.decode(fields[4]), 1...BackupCodes.maximumPartSize ~= part.count
      else { throw RecoveryError(.malformed, "a code of the backup is damaged", hint: "take new pictures") }
      (digest, self.number, self.count, self.part) = (Array(fields[1]), number, count, part)
    }

    /// Reads a number with this many decimal digits.
    private static func digits(_ text: Substring.UTF8View, _ length: ClosedRange<Int>) -> Int? {
      guard length ~= text.count, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
  }
}
