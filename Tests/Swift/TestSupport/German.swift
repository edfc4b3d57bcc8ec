import Foundation
public import Messages

extension Catalogue {
  /// The German catalogue, which gettext's msgfmt compiles from its source.
  public static func german() throws -> Catalogue { try Catalogue(mo: compiled("Locale/de.po")) }

  /// A compiled catalogue, with gettext's own options.
  ///
  /// - Parameter source: its path below `Sources`.
  public static func compiled(_ source: String, _ options: String...) throws -> [UInt8] {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")
    let (msgfmt, output) = (Process(), Pipe())
    msgfmt.executableURL = URL(filePath: "/usr/bin/env")
    msgfmt.arguments = ["msgfmt"] + options + ["--output-file=-", sources.appending(path: source).path]
    msgfmt.standardOutput = output
    try msgfmt.run()
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    msgfmt.waitUntilExit()
    return Array(bytes)
  }
}
