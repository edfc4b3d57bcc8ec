import ArgumentParser
import CryptoPrimitives
import DisplayText
import Hybrid
import Keyri
import LiquidAuth

/// `liquid-auth link`: decodes a link that a site shows as a QR code.
struct LinkCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "link",
    abstract: "Explain the FIDO:/ link in a browser's QR code.",
    discussion: """
      A browser shows such a code to invite a phone, over Bluetooth and a server; `liquid-auth answer` takes the \
      phone's place. This command explains the code, and sends nothing. Without LINK, it reads the first line of \
      standard input. It does not print the secret in the link. \
      For the liquid:// links of dApps use `liquid-auth connect`, for Keyri's `liquid-auth keyri qr`.
      """)

  @Argument(help: "The link: FIDO:/ and digits.") var link: String?
  @OptionGroup var output: OutputOptions

  func run() throws {
    let report = FIDOLinkReport(link: try Self.read(link ?? readLine() ?? ""), now: unixMilliseconds())
    output.write(report.text, json: report.json)
  }

  /// Reads a link; ignores white space around it.
  static func read(_ text: String) throws(CommandFailure) -> FIDOURI {
    let text = String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    guard !text.isEmpty else {
      throw CommandFailure("there is no link; give it as an argument, or on standard input", code: .usage)
    }
    do throws(HybridError) {
      return try FIDOURI(text)
    } catch {
      throw CommandFailure(otherLink(text) ?? error.description)
    }
  }

  /// The advice for a link that belongs to another of our commands; `nil` for any other text.
  private static func otherLink(_ text: String) -> String? {
    if text.lowercased().hasPrefix(LiquidURI.scheme) {
      return "this is a dApp's link; open it with: liquid-auth connect"
    }
    guard (try? KeyriLink(text, otherOrigins: [])) != nil else { return nil }
    return "this is the link of a Keyri login; open it with: liquid-auth keyri qr"
  }
}

/// The result of `liquid-auth link` for a FIDO:/ link, before it is text or JSON.
struct FIDOLinkReport: Equatable {
  let link: FIDOURI
  /// Unix milliseconds.
  let now: UInt64

  /// For people.
  var text: String {
    table([
      ["link", "FIDO:/, with which a browser invites a phone (hybrid transport)"],
      ["wanted", wanted],
      ["made", made],
      ["browser's key", link.clientKey.compressed.hexadecimal],
      ["tunnel servers", link.knownTunnelServices.map { "the browser knows \($0) by number" } ?? Self.unspecified],
      ["linking", text(link.supportsLinking, "the browser can remember the phone", "only this once")],
      ["not discoverable", text(link.supportsNonDiscoverable, "is enough for the site", "is not accepted")],
      ["channels", channels],
      ["secret", "present, not shown"],
    ]) + """


      A browser on this machine needs no code: if the site's dialog offers a security key, choose that, and
      liquid-authenticator asks you here. For a browser on another computer: liquid-auth answer
      """
  }

  /// For programs; times are in Unix milliseconds, as everywhere.
  var json: JSON {
    [
      "kind": .string("fido"),
      "hint": JSON(link.hint?.rawValue),
      "created": link.created.map { .number(Int64(clamping: min($0, 1 << 40) * 1000)) } ?? .null,
      "publicKey": .hex(link.clientKey.compressed),
      "knownTunnelServers": link.knownTunnelServices.map { .number(Int64(clamping: $0)) } ?? .null,
      "supportsLinking": link.supportsLinking.map(JSON.bool) ?? .null,
      "supportsNonDiscoverable": link.supportsNonDiscoverable.map(JSON.bool) ?? .null,
      "channels": .array(link.channels.map { .number(Int64(clamping: $0)) }),
    ]
  }

  private static let unspecified = "not specified"

  private var channels: String {
    link.channels.isEmpty
      ? "unknown"
      : link.channels.map { $0 == 0 ? "a server (web socket)" : "Bluetooth (L2CAP)" }.joined(separator: ", ")
  }

  private var wanted: String {
    switch link.hint {
    case .makeCredential: "a new passkey"
    case .getAssertion: "a sign-in"
    case .credentialPresentation: "a digital credential, such as an identity card"
    case .credentialIssuance: "a new digital credential, such as an identity card"
    case nil: "a sign-in (the default)"
    }
  }

  /// When the link was made, and whether that is too long ago: the standard has no limit, but pages do not wait for
  /// long.
  private var made: String {
    guard let seconds = link.created else { return Self.unspecified }
    // A time that no clock shows is invalid.
    guard seconds < 1 << 40 else { return "at an invalid time (\(seconds))" }
    let time = UTCTime(milliseconds: seconds * 1000).text
    let now = now / 1000
    guard seconds <= now else { return "\(time), which is in the future: one of the clocks is wrong" }
    return now - seconds < Self.timeout
      ? "\(time), \(now - seconds) s ago" : "\(time): too long ago, ask the site for a new one"
  }

  /// How long a page can be expected to wait, seconds.
  private static let timeout: UInt64 = 300

  private func text(_ answer: Bool?, _ yes: String, _ no: String) -> String {
    answer.map { $0 ? yes : no } ?? Self.unspecified
  }
}
