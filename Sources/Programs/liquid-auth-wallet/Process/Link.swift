import ControlClient
import ControlProtocol
import Glibc
import Hybrid
import Keyri
import LiquidAuth
import ProcessIO

/// The source of a link.
struct LinkSource {
  /// A link, or `-` for standard input.
  let link: String?
  /// The path of a picture.
  let image: String?

  /// Reads the link, and removes surrounding white space from copying.
  func read() async throws(WalletFailure) -> String {
    let text = try await found().trimmed
    guard !text.isEmpty else {
      throw WalletFailure("there is no link; copy the one that the page shows, and try again", code: .mistake)
    }
    return String(text)
  }

  private func found() async throws(WalletFailure) -> String {
    if let image { return try await QRCodeReader().text(in: image) }
    if let link, link != "-" { return link }
    return await Self.lineOfStandardInput() ?? ""
  }

  private static func lineOfStandardInput() async -> String? {
    await InputLine.read(from: STDIN_FILENO)
  }
}

/// The kind of a link, which selects the command, judged by its beginning.
enum LinkKind {
  /// A dApp's link, `liquid://`.
  case dApp
  /// The link in a browser's QR code for phones, `FIDO:/`.
  case browser
  /// The link of a Keyri login, `https://NAME.onekey.to`.
  case keyri

  /// `nil` for any other text.
  init?(of text: String) {
    let lowercased = text.lowercased()
    if lowercased.hasPrefix(LiquidURI.scheme) {
      self = .dApp
    } else if lowercased.hasPrefix(FIDOURI.scheme.lowercased()) {
      self = .browser
    } else if (try? KeyriLink(text, otherOrigins: [])) != nil {
      self = .keyri
    } else {
      return nil
    }
  }

  /// The failure of a command that needs another kind of link.
  var isAnother: WalletFailure {
    switch self {
    case .dApp:
      WalletFailure(Problem("this is a dApp's link", hint: "open it", with: ["liquid-auth", "connect"]))
    case .browser:
      WalletFailure(
        Problem(
          "this is the FIDO:/ link of a browser", hint: "if it is on another computer, answer it",
          with: ["liquid-auth", "answer"]))
    case .keyri:
      WalletFailure(
        Problem("this is the link of a Keyri login", hint: "open it", with: ["liquid-auth", "keyri", "qr"]))
    }
  }
}

/// A `FIDO:/` link, which a wallet cannot open.
struct BrowserLink {
  /// The bytes that a pipe accepts at once: PIPE_BUF.
  private static let maximumSize = 4096

  private let text: String

  init(_ text: String) { self.text = text }

  /// Replaces this process with `liquid-auth link`, which explains the link; returns only the failure to do so.
  ///
  /// The link contains a secret, so it goes through standard input: others on this machine can read a command line.
  func explain() -> WalletFailure {
    let line = Array((text + "\n").utf8)
    // Writing to the empty pipe cannot block.
    guard line.count <= Self.maximumSize, let ends = try? Descriptor.pipe(), Descriptor.write(line, to: ends.write),
      dup2(ends.read, STDIN_FILENO) == STDIN_FILENO
    else { return LinkKind.browser.isAnother }
    let program = OwnProgram.path(of: "liquid-auth") ?? "liquid-auth"
    _ = OwnProgram.takeOver(program, [program, "link"])
    return LinkKind.browser.isAnother
  }
}
