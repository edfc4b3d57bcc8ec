/// Who asks, for servers: RFC 9110 §10.1.5.
///
/// Liquid Auth servers look for an operating system in it: without one they fail, and with "Android" they want the client
/// data of an Android app. It is the same on every machine, so that it tells no more of this one than it must.
public struct UserAgent: Hashable, Sendable {
  /// `LiquidAuthLinux/VERSION (X11; Linux x86_64)`.
  public let text: String

  /// Takes the program's version: digits and dots.
  public init(version: String) {
    precondition(version.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }, "a version is digits and dots")
    text = "LiquidAuthLinux/\(version) (X11; Linux x86_64)"
  }

  /// The field of a request.
  public var header: HTTPHeader { HTTPHeader("User-Agent", text) }
}
