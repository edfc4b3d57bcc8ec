import CryptoPrimitives
import Foundation
import Hybrid
import TestVectors

@testable import DisplayText
@testable import Keyri
@testable import LiquidAuth

/// Links and origins, and the texts of others that are shown.
enum LinkTargets {
  static let all: [Target] = [
    Target(
      "liquid-link", of: "a liquid:// link", atMost: 600,
      words: [
        "liquid://", "http://", "https://", "localhost", "127.0.0.1", "[::1]", "requestId=", "%C3%A9", "/?", "&", "#",
      ],
      seeds: {
        [
          "liquid://example.com/?requestId=019097ff-bb8c-7d2a-8c5f-1b0f7d0c7b1a",
          "LIQUID://http://localhost:3000/?a=b&requestId=%41+1", "liquid://example.com?requestId=1e21",
          "liquid:example.com?requestId=1", "liquid://example.com/auth/?requestId=1",
          "liquid://example.com/019097ff-bb8c-7d2a-8c5f-1b0f7d0c7b1a",
        ].map { Array($0.utf8) }
      }, read: readLiquidLink),
    Target(
      "fido-link", of: "a FIDO:/ link", atMost: 800, words: ["FIDO:/"],
      seeds: { try Vector("fido-uri").uris.array.map { Array($0.uri.text.utf8) } }, read: readFIDOLink),
    Target(
      "keyri-link", of: "a link of Keyri, or an email address", atMost: 600,
      words: ["https://", "onekey.to", "sessionId=", "?", "&", "@"],
      seeds: {
        ["https://acme.onekey.to?sessionId=abc-._~", "https://app.example:8443/?sessionId=1&a=b", "alice@example.com"]
          .map { Array($0.utf8) }
      }, read: readKeyriLink),
    Target(
      "origin", of: "the origin of a server", atMost: 400,
      words: ["https://", "http://", "localhost", "127.0.0.1", "[::1]", "xn--", "0x7f.1", ":443"],
      seeds: {
        ["https://a.b.example.com:8443", "http://127.0.0.1:80", "https://xn--bcher-kva.example"].map { Array($0.utf8) }
      }, read: readOrigin),
    Target(
      "display-text", of: "a text of others that is shown", atMost: 500,
      words: [
        "\u{202E}", "\u{200C}", "\u{200D}", "\u{FE0F}", "\u{94D}", "\u{301}", "\u{1B}[2J", "\\u{41}", "\n", "\"",
        "\u{2800}", "\u{3000}",
      ],
      seeds: {
        [
          "Example \"a\" \\ ö", "a\u{301}\u{301}\u{301}\u{301}\u{301}", "日本語 😀", "\u{628}\u{64E}\u{200C}\u{628}",
          "\u{1F3F3}\u{FE0F}\u{200D}\u{1F308}",
        ].map { Array($0.utf8) }
      },
      read: readText),
  ]

  // MARK: - Links

  private static func readLiquidLink(_ input: [UInt8]) throws {
    guard let link = try? LiquidURI(String(decoding: input, as: UTF8.self)) else { return }
    let id = link.requestID.text.utf8.map { byte in
      byte.isUnreserved ? "\(UnicodeScalar(byte))" : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    let server = (link.origin.scheme == .http ? "http://" : "") + link.origin.authority
    expect(try LiquidURI("liquid://\(server)\(link.path)/?requestId=\(id)") == link, "another link")
    expect(LiquidURI.isPath(link.path), "a path of another form")
    let json = try JSONCoding.encode([link.requestID])
    expect(try JSONCoding.decode([RequestID].self, from: json) == [link.requestID], "another request id")
  }

  private static func readFIDOLink(_ input: [UInt8]) {
    guard let link = try? FIDOURI(String(decoding: input, as: UTF8.self)) else { return }
    expect(input.prefix(6).isEqualIgnoringCase(to: FIDOURI.scheme.utf8), "another scheme")
    expect(link.clientKey.compressed.count == 33, "a key of \(link.clientKey.compressed.count) bytes")
  }

  private static func readKeyriLink(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    let others: Set = [try WebOrigin("https://app.example:8443")]
    if let link = try? KeyriLink(text, otherOrigins: others) {
      let again = try KeyriLink("\(link.origin)?sessionId=\(link.sessionID)", otherOrigins: others)
      expect(again == link, "another link")
    }
    if let email = try? KeyriEmail(text) {
      expect(email.text.utf8.count <= KeyriEmail.maximumSize, "an address of \(email.text.utf8.count) bytes")
    }
  }

  private struct TwoLabels: PublicSuffixes {
    func isPublicSuffix(_ domain: String) -> Bool { !domain.contains(".") }
  }

  private static func readOrigin(_ input: [UInt8]) throws {
    guard let origin = try? WebOrigin(String(decoding: input, as: UTF8.self)) else { return }
    expect(origin.serialized.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "an origin that is not printable")
    expect(try WebOrigin(origin.serialized) == origin, "another origin")
    for rpID in [origin.host] + origin.claimableParents(TwoLabels()) { try origin.check(rpID: rpID, TwoLabels()) }
  }

  // MARK: - Texts

  /// All that is shown is on one line and visible, but for joiners that change the letters beside them; and JSON gives the
  /// text back.
  private static func readText(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    let scalars = Array(text.unicodeScalars)
    let joiners = scalars.indices.count { DisplayText.joins(at: $0, in: scalars) }
    let shown = [
      DisplayText.words(text), DisplayText.line(text), DisplayText.host(text), DisplayText.name(text),
      DisplayText.json(text), text.unicodeScalars.map(DisplayText.exact).joined(),
    ]
    for shown in shown {
      let hidden = shown.unicodeScalars.filter { !DisplayText.isVisible($0) }
      expect(
        hidden.count <= joiners && hidden.allSatisfy { ["\u{200C}", "\u{200D}", "\u{FE0F}"].contains($0) },
        "invisible characters are shown: \(shown.debugDescription)")
    }
    expect(DisplayText.host(text).utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a host that is not ASCII")
    let decoded = try JSONDecoder().decode([String].self, from: Data("[\(DisplayText.json(text))]".utf8))
    expect(decoded.count == 1 && decoded[0].utf8.elementsEqual(text.utf8), "another text: \(decoded)")
  }
}
