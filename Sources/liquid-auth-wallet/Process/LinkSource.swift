import Glibc
import NIOPosix

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
    guard let input = InputLine(from: STDIN_FILENO) else { return nil }
    defer { input.close() }
    return await withTaskCancellationHandler {
      (try? await NIOThreadPool.singleton.runIfActive { input.read() }) ?? nil
    } onCancel: {
      input.giveUp()
    }
  }
}
