/// The place options of a program, so that the commands in its messages work in the same place.
public struct CommandPlace: Sendable, Equatable {
  private let arguments: String

  /// - Parameters:
  ///   - stateDirectory: the value of `--state-dir`.
  ///   - control: the value of `--control`.
  public init(stateDirectory: String?, control: String?) {
    arguments = [("--state-dir", stateDirectory), ("--control", control)]
      .compactMap { name, path in path.map { " \(name) \(Self.quoted($0))" } }.joined()
  }

  /// Adds the options to a sentence that ends with one of our commands; returns any other sentence unchanged.
  ///
  /// A command is at the end, after a colon or "with", and consists of plain words and numbers:
  /// `…; run: liquid-auth lock`.
  public func completing(_ sentence: String) -> String {
    let words = sentence.split(separator: " ", omittingEmptySubsequences: false)
    let isCommand = words.lastIndex { $0 == "liquid-auth" || $0 == "liquid-authenticator" }.map { index in
      index > 0 && Self.introduces(words[index - 1]) && words[(index + 1)...].allSatisfy(Self.isPlain)
    }
    return isCommand == true ? sentence + arguments : sentence
  }

  private static func introduces(_ word: Substring) -> Bool { word.hasSuffix(":") || word == "with" }

  private static func isPlain(_ word: Substring) -> Bool {
    word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
      default: false
      }
    }
  }

  /// Quotes a path so that a shell reads it as one word.
  public static func quoted(_ path: String) -> String {
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
