import ArgumentParser
import ProcessIO

/// The rule for the id of a relying party on the command line.
///
/// It is a domain, or the id of a program, such as `ssh:Work`, `pam://Host-001` or `com.example.app:key`. A web address,
/// or a part of one, is not: no site would use a key for it.
enum RelyingPartyID {
  /// Returns an id that a browser or a program can send.
  ///
  /// Upper-case letters in a domain become lower case, as in browsers.
  @Sendable static func read(_ text: String) throws(ValidationError) -> String {
    guard !text.isEmpty else { throw ValidationError("give a relying party id, such as example.com or ssh:") }
    guard !text.contains(where: \.isWhitespace), text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw ValidationError(
        "a relying party id has no spaces or control characters; give one such as example.com or ssh:")
    }
    guard !isOfProgram(text) else { return text }
    guard !text.contains(where: { "/:?#@".contains($0) }) else {
      throw ValidationError(
        "this is an address, not a relying party id; give \(domain(of: text) ?? "an id such as example.com or ssh:")")
    }
    guard text.last != "." else { throw ValidationError("a relying party id has no dot at its end") }
    try checkASCII(text)
    // Without a dot, it can be the id of a program that has no scheme.
    return text.contains(".") ? text.lowercased() : text
  }

  /// Reads an id; prints a note if upper-case letters became lower case, because the id of a program can have some.
  @Sendable static func readWithNote(_ text: String) throws(ValidationError) -> String {
    let id = try read(text)
    if let note = Self.note(on: text, readAs: id) { StandardStream.error.write("liquid-auth: \(note)") }
    return id
  }

  static func note(on text: String, readAs id: String) -> String? {
    text == id ? nil : "note: \(text) is read as \(id)"
  }

  /// Browsers send a domain with other letters as ASCII.
  static func checkASCII(_ id: String) throws(ValidationError) {
    guard id.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw ValidationError("the id of a site is ASCII; encode other letters, as in xn--bcher-kva.example")
    }
  }

  /// The domain in a web address, or in a part of one; `nil` if there is none.
  static func domain(of address: String) -> String? {
    let start = address.firstRange(of: "://")?.upperBound ?? address.startIndex
    let authority = address[start...].drop { $0 == "/" }.prefix { !"/?#".contains($0) }
    let host = (authority.split(separator: "@").last ?? "").prefix { $0 != ":" }
    guard let first = host.first, first.isLetter || first.isNumber else { return nil }
    return try? read(String(host))
  }

  /// Whether a text is the id of a program: a scheme (RFC 3986 §3.1) and any text.
  private static func isOfProgram(_ text: String) -> Bool {
    guard let found = text.wholeMatch(of: /([A-Za-z][A-Za-z0-9+.-]*):(.*)/) else { return false }
    // `localhost:3000` is the address of a server, as `example.com:8443` and `example.com:/login` are.
    guard !found.1.contains(".") else { return found.2.wholeMatch(of: /[0-9]*([\/?#].*)?/) == nil }
    return !["http", "https", "localhost"].contains(found.1.lowercased()) && found.2 != "//"
  }
}
