extension Catalogue {
  /// The names of the catalogues for the user's locale, in the order in which gettext looks for them; none for English.
  ///
  /// The locale is the value of `LC_ALL`, `LC_MESSAGES` or `LANG`: the first that is set. Unless it is `C` or `POSIX`,
  /// a list of locales in `LANGUAGE` replaces it. A name is `language_COUNTRY@modifier`; shorter names follow.
  ///
  /// - Parameter environment: returns the value of a variable.
  public static func names(environment: (String) -> String?) -> [String] {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(environment).first { !$0.isEmpty }
    guard let locale, !["C", "POSIX"].contains(language(of: locale)) else { return [] }
    let list = environment("LANGUAGE").flatMap { $0.isEmpty ? nil : $0 } ?? locale
    var names: [String] = []
    for entry in list.split(separator: ":").map(String.init) {
      // The texts in the code are English: what follows English in the list is not used.
      guard !isEnglish(entry) else { break }
      for name in shorterNames(entry) where !names.contains(name) { names.append(name) }
    }
    return names
  }

  private static func language(of locale: String) -> Substring { locale.prefix { !"_.@".contains($0) } }

  private static func isEnglish(_ locale: String) -> Bool { ["en", "C", "POSIX"].contains(language(of: locale)) }

  /// The name without its character set, then with fewer parts; none if it could lead out of the directory of catalogues.
  private static func shorterNames(_ locale: String) -> [String] {
    let isPlain = locale.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "."),
        UInt8(ascii: "-"):
        true
      default: false
      }
    }
    let parts = locale.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    let modifier = parts.count == 2 ? "@\(parts[1])" : ""
    let place = parts[0].prefix { $0 != "." }
    let language = language(of: locale)
    guard isPlain, !language.isEmpty, !modifier.contains(".") else { return [] }
    return [place + modifier, language + modifier, place, language].map(String.init)
  }
}
