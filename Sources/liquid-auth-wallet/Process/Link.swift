import ControlClient
import Glibc
import LiquidAuth
import NIOPosix
import ProcessIO

/// Where a link comes from.
struct LinkSource {
  /// A link, or `-` for standard input.
  let link: String?
  /// A picture.
  let image: String?

  /// The link, without the white space around it that copying brings.
  func read() async throws(WalletFailure) -> String {
    let text = try await found().trimmed
    guard !text.isEmpty else {
      throw WalletFailure("there is no link; copy the one that the page shows, and try again")
    }
    return String(text)
  }

  private func found() async throws(WalletFailure) -> String {
    if let image { return try await QRCodeReader().text(in: image) }
    if let link, link != "-" { return link }
    return await Self.lineOfStandardInput() ?? ""
  }

  private static func lineOfStandardInput() async -> String? {
    await InputLine.read(from: STDIN_FILENO, on: .singleton)
  }
}

/// Which of our commands a link is for, as far as its beginning tells.
enum LinkKind {
  /// A dApp's, `liquid://`.
  case dApp
  /// One with which a browser invites a phone, `FIDO:/`.
  case browser
  /// One of a Keyri login, `https://NAME.onekey.to`.
  case keyri

  /// `nil` for a text that is for none of them.
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

  /// What to say to who gave this kind where another is wanted.
  var isAnother: WalletFailure {
    switch self {
    case .dApp: WalletFailure("this is a dApp's link; open it with: liquid-auth connect")
    case .browser:
      WalletFailure(
        "this is a browser's FIDO:/ link for a phone, and a browser on this machine needs none; see what is in it with: "
          + "liquid-auth link")
    case .keyri: WalletFailure("this is the link of a Keyri login; open it with: liquid-auth keyri qr")
    }
  }
}

/// A `FIDO:/` link, which is not for a wallet.
struct BrowserLink {
  /// Bytes that a pipe takes at once: PIPE_BUF.
  private static let maximumSize = 4096

  private let text: String

  init(_ text: String) { self.text = text }

  /// Has `liquid-auth link` explain it in this process's place; the failure to do so.
  ///
  /// The secret in it goes through standard input: others on this machine can read a command line.
  func explain() -> WalletFailure {
    let line = Array((text + "\n").utf8)
    // A pipe holds more than a link has.
    guard line.count <= Self.maximumSize, let ends = try? Descriptor.pipe(), Descriptor.write(line, to: ends.write),
      dup2(ends.read, STDIN_FILENO) == STDIN_FILENO
    else { return LinkKind.browser.isAnother }
    let program = OwnProgram.path(of: "liquid-auth") ?? "liquid-auth"
    _ = OwnProgram.takeOver(program, [program, "link"])
    return LinkKind.browser.isAnother
  }
}
