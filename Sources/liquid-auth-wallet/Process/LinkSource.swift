import ControlClient
import Glibc
import NIOPosix

/// Where a link comes from.
struct LinkSource {
  /// A link, or `-` for standard input.
  let link: String?
  /// A picture.
  let image: String?

  /// The link.
  func read() async throws(WalletFailure) -> String {
    if let image { return try await QRCodeReader().text(in: image) }
    if let link, link != "-" { return link }
    guard let line = await Self.lineOfStandardInput(), !line.isEmpty else {
      throw WalletFailure("there is no link on standard input")
    }
    return line
  }

  private static func lineOfStandardInput() async -> String? {
    guard let input = InputLine(from: STDIN_FILENO) else { return nil }
    defer { input.close() }
    return await withTaskCancellationHandler {
      (try? await NIOThreadPool.singleton.runIfActive { input.read() }) ?? nil
    } onCancel: {
      input.giveUp()
    }
  }
}

extension String {
  /// Whether it is the link with which a browser invites a phone.
  var isOfBrowsers: Bool { lowercased().hasPrefix("fido:/") }
}

/// A `FIDO:/` link, which is not for a wallet.
struct BrowserLink {
  private let text: String

  init(_ text: String) { self.text = text }

  /// Has `liquid-auth link` explain it in this process's place; the failure to do so.
  func explain() -> WalletFailure {
    let program = OwnDirectory.path(of: "liquid-auth") ?? "liquid-auth"
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup("link"), strdup(text), nil]
    StopSignals.release()
    execvp(program, arguments)
    return WalletFailure("this is a browser's FIDO:/ link and not a dApp's; see: liquid-auth link")
  }
}
