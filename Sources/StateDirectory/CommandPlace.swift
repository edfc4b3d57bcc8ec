/// Where a program was told to work, so that a command which it tells people to type works there too.
public struct CommandPlace: Sendable, Equatable {
  private let arguments: String

  /// - Parameters:
  ///   - stateDirectory: what `--state-dir` gave.
  ///   - control: what `--control` gave.
  public init(stateDirectory: String?, control: String?) {
    arguments = [("--state-dir", stateDirectory), ("--control", control)]
      .compactMap { name, path in path.map { " \(name) \(Self.quoted($0))" } }.joined()
  }

  /// A sentence that ends with one of our commands, with the options behind it; any other as it is.
  ///
  /// A command ends a sentence behind a colon or "with", and consists of plain words: `…; run: liquid-auth lock`.
  public func completing(_ sentence: String) -> String {
    let words = sentence.split(separator: " ", omittingEmptySubsequences: false)
    let isCommand = words.lastIndex { $0 == "liquid-auth" || $0 == "liquid-authenticator" }.map { index in
      index > 0 && Self.introduces(words[index - 1]) && words[(index + 1)...].allSatisfy(Self.isPlain)
    }
    return isCommand == true ? sentence + arguments : sentence
  }

  private static func introduces(_ word: Substring) -> Bool { word.hasSuffix(":") || word == "with" }

  private static func isPlain(_ word: Substring) -> Bool {
    word.utf8.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || $0 == UInt8(ascii: "-") }
  }

  /// As a shell takes it for one word.
  private static func quoted(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "-")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    if isPlain, !path.isEmpty { return path }
    return "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
