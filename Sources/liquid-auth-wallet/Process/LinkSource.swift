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
    let program = OwnDirectory.path.map { $0 + "/liquid-auth" } ?? "liquid-auth"
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup("link"), strdup(text), nil]
    StopSignals.release()
    execvp(program, arguments)
    return WalletFailure("this is a browser's FIDO:/ link and not a dApp's; see: liquid-auth link")
  }
}

/// Where this program lies, and others of ours beside it.
enum OwnDirectory {
  /// `nil` where the system does not say.
  static var path: String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    guard count > 0 else { return nil }
    let path = String(decoding: buffer.prefix(count), as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) }
  }
}
