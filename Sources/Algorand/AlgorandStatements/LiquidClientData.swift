import CryptoPrimitives

/// Client data of the challenge form of `liquid`: Recovery §11.
///
/// The code matches two exact forms instead of parsing JSON, so a duplicate member cannot change the meaning.
struct LiquidClientData {
  /// The challenge between its quotation marks.
  let challengeText: ArraySlice<UInt8>
  /// The origin between its quotation marks.
  let originText: ArraySlice<UInt8>

  /// Reads `{"type":"…","challenge":"…","origin":"…"}`, or the same with `,"crossOrigin":false` before the brace.
  init?(_ clientDataJSON: [UInt8], type: String) {
    var rest = clientDataJSON[...]
    guard rest.drop(prefix: "{\"type\":\"\(type)\",\"challenge\":\""), let challenge = rest.takeUntilQuote(),
      rest.drop(prefix: ",\"origin\":\""), let origin = rest.takeUntilQuote(),
      rest.elementsEqual("}".utf8) || rest.elementsEqual(",\"crossOrigin\":false}".utf8)
    else { return nil }
    challengeText = challenge
    originText = origin
  }

  /// The challenge, 32 bytes; `nil` unless it is 43 characters of canonical base64url.
  var challenge: [UInt8]? {
    guard challengeText.count == 43 else { return nil }
    return Base64URL.decode(challengeText)
  }

  /// The origin if it belongs to the relying party; otherwise `nil`.
  ///
  /// `https://host[:port]` with host = rp.id, or host ending in "." ‖ rp.id where rp.id has a "." itself; or
  /// `http://localhost[:port]` for rp.id "localhost".
  func origin(of rpID: String) -> String? {
    let rpID = Array(rpID.utf8)
    var rest = originText
    if rest.drop(prefix: "http://") {
      guard rpID.elementsEqual("localhost".utf8), rest.drop(prefix: "localhost") else { return nil }
    } else {
      guard rest.drop(prefix: "https://") else { return nil }
      let host = rest.prefix(while: Self.isHostCharacter)
      let isBelow = rpID.contains(UInt8(ascii: ".")) && host.ends(with: [UInt8(ascii: ".")] + rpID)
      guard !host.isEmpty, host.elementsEqual(rpID) || isBelow else { return nil }
      rest = rest[host.endIndex...]
    }
    guard rest.isEmpty || Self.isPort(rest) else { return nil }
    return String(decoding: originText, as: UTF8.self)
  }

  private static func isHostCharacter(_ character: UInt8) -> Bool {
    switch character {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "."):
      true
    default: false
    }
  }

  /// ":" and 1–65535 without a leading zero.
  private static func isPort(_ text: ArraySlice<UInt8>) -> Bool {
    var digits = text
    guard digits.drop(prefix: ":"), (1...5).contains(digits.count), digits.first != UInt8(ascii: "0"),
      digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    else { return false }
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 65_535
  }
}

extension ArraySlice<UInt8> {
  /// Drops a prefix; returns `false`, and changes nothing, if the bytes begin otherwise.
  fileprivate mutating func drop(prefix: String) -> Bool {
    guard starts(with: prefix.utf8) else { return false }
    removeFirst(prefix.utf8.count)
    return true
  }

  /// Removes and returns the text before the next quotation mark; removes the mark too.
  fileprivate mutating func takeUntilQuote() -> ArraySlice<UInt8>? {
    guard let quote = firstIndex(of: UInt8(ascii: "\"")) else { return nil }
    let text = self[..<quote]
    self = self[(quote + 1)...]
    return text
  }

  fileprivate func ends(with suffix: [UInt8]) -> Bool { self.suffix(suffix.count).elementsEqual(suffix) }
}

/// The tags with which Algorand's signed objects begin; a challenge that begins with one is never signed.
///
/// Recovery §11: Algorand's tags, with the multisig and post-quantum ones. One in about 2700 challenges of 32 random
/// bytes begins with a tag of two letters; the server then draws another.
enum LiquidReservedTags {
  static let all: [String] = [
    "appID", "arc", "aB", "aD", "aO", "aP", "aS", "AS", "BH", "B256", "BR", "CR", "GE", "KP", "MA", "MB", "MX",
    "MsigProgram", "MultisigAddr", "NIC", "NIR", "NIV", "NPR", "OT1", "OT2", "PF", "PL", "PQA", "PQK",
    "PQProgram", "Program", "ProgData", "PS", "PK", "SD", "SpecialAddr", "STIB", "spc", "spm", "spp", "sps",
    "spv", "TE", "TG", "TL", "TX", "VO",
  ]

  /// Whether bytes begin with one of the tags.
  static func isPrefix(of bytes: [UInt8]) -> Bool { all.contains { bytes.starts(with: $0.utf8) } }
}
