/// The origin of a dApp's server: scheme, host and port, in the only spelling that client data use (RFC 6454 §6.1).
///
/// Only origins that nobody on the network can impersonate: `https:`, or `http:` on this machine.
public struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
  /// The schemes that an origin may have.
  public enum Scheme: String, Sendable {
    /// TLS.
    case https
    /// No protection in transit: `localhost`, 127.0.0.0/8 and `[::1]` only.
    case http

    /// The port that `serialized` omits.
    var defaultPort: UInt16 {
      switch self {
      case .https: 443
      case .http: 80
      }
    }
  }

  /// The scheme.
  public let scheme: Scheme
  /// The host in lower case: a name of ASCII letters, digits, hyphens and dots, `127.x.y.z`, or `[::1]`.
  public let host: String
  /// The port; `nil` for the scheme's default.
  public let port: UInt16?
  /// What kind of host it is.
  private let kind: HostKind

  /// Reads the authority, the part between `//` and the path of a URL: RFC 3986 §3.2, without user information.
  public init(scheme: Scheme, authority: some StringProtocol) throws(LiquidAuthError) {
    let authority = Array(authority.utf8)
    guard !authority.contains(UInt8(ascii: "@")) else { throw .origin(.userInformation) }
    guard authority.allSatisfy({ $0 < 0x80 }) else { throw .origin(.notASCII) }
    let hostEnd = Self.endOfHost(authority)
    let host = String(decoding: authority[..<hostEnd], as: UTF8.self).lowercased()
    kind = try HostKind(of: host)
    let port = try Self.port(authority[hostEnd...])
    guard scheme == .https || kind.isLoopback else { throw .origin(.insecure(host)) }
    self.scheme = scheme
    self.host = host
    self.port = port == scheme.defaultPort ? nil : port
  }

  /// Reads an origin as a browser writes it, such as `https://example.com:8443`; no path or slash after it.
  public init(_ text: some StringProtocol) throws(LiquidAuthError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let scheme = Scheme(rawValue: parts[0].lowercased()), parts[1].hasPrefix("//") else {
      throw .origin(.scheme)
    }
    let place = parts[1].dropFirst(2)
    let authority = place.prefix { !"/?#".contains($0) }
    try self.init(scheme: scheme, authority: authority)
    guard authority.endIndex == place.endIndex else { throw .origin(.path) }
  }

  /// `scheme://host`, with `:port` if it is not the default: the `origin` of client data.
  public var serialized: String { "\(scheme.rawValue)://\(authority)" }

  /// `host`, with `:port` if it is not the default.
  public var authority: String { port.map { "\(host):\($0)" } ?? host }

  /// As ``serialized``.
  public var description: String { serialized }

  /// The origin that apps on phones write into client data, for any port of the link: `https://` and the rp.id.
  static func ofRelyingParty(_ rpID: String) throws(LiquidAuthError) -> WebOrigin {
    try WebOrigin(scheme: .https, authority: rpID)
  }

  private static func endOfHost(_ authority: [UInt8]) -> Int {
    guard authority.first == UInt8(ascii: "[") else {
      return authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
    }
    return authority.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 } ?? authority.endIndex
  }

  /// `:` and 1–65535 without a leading zero, or nothing.
  private static func port(_ text: ArraySlice<UInt8>) throws(LiquidAuthError) -> UInt16? {
    if text.isEmpty { return nil }
    let digits = text.dropFirst()
    guard text.first == UInt8(ascii: ":"), digits.first != UInt8(ascii: "0"), digits.allSatisfy(\.isASCIIDigit),
      let port = UInt16(String(decoding: digits, as: UTF8.self))
    else { throw .origin(.port) }
    return port
  }
}

// MARK: - Relying parties

/// The port to the list of public suffixes (publicsuffix.org) that the distribution provides.
public protocol PublicSuffixes: Sendable {
  /// Whether names directly below this one belong to different owners, as below `com`, `co.uk` and `github.io`.
  ///
  /// - Parameter domain: lower case, ASCII, without a dot at its end. A domain without a rule falls under the list's
  ///   rule `*`: a name without a dot is a public suffix.
  func isPublicSuffix(_ domain: String) -> Bool
}

extension WebOrigin {
  /// Checks that this origin may claim a relying party's id: WebAuthn §5.1.3, step 7.
  ///
  /// The id must be the host, or a parent domain of it that is not a public suffix. An address has no parent. The
  /// comparison is by bytes, since the authenticator hashes the server's text.
  public func check(rpID: String, _ publicSuffixes: some PublicSuffixes) throws(LiquidAuthError) {
    if rpID.utf8.elementsEqual(host.utf8) { return }
    guard rpID.utf8.contains(UInt8(ascii: ".")), isBelow(rpID) else { throw .otherSite(rpID, host: host) }
    guard !publicSuffixes.isPublicSuffix(rpID) else { throw .publicSuffix(rpID) }
  }

  /// The most domains that one link looks up in the authenticator: an attacker's host may have up to 127 labels.
  static let maximumParents = 4

  /// The domains above the host that this origin may claim as rp.id, the nearest first, at most ``maximumParents``.
  func claimableParents(_ publicSuffixes: some PublicSuffixes) -> [String] {
    guard kind == .name else { return [] }
    let labels = host.split(separator: ".")
    let parents = (1..<max(labels.count - 1, 1)).lazy.map { labels[$0...].joined(separator: ".") }
    return Array(parents.filter { !publicSuffixes.isPublicSuffix($0) }.prefix(Self.maximumParents))
  }

  /// Whether the host is a DNS name below a domain, compared as bytes.
  func isBelow(_ domain: String) -> Bool {
    guard kind == .name else { return false }
    return (Array(".".utf8) + domain.utf8).elementsEqual(host.utf8.suffix(domain.utf8.count + 1))
  }
}

// MARK: - Hosts

/// The kinds of hosts that differ in trust.
private enum HostKind: Hashable {
  /// A DNS name.
  case name
  /// `localhost`. Names below it count as DNS names: RFC 6761 §6.3 keeps them on this machine, but the C library's
  /// resolver asks the network for them.
  case localhost
  /// 127.0.0.0/8 or `[::1]`.
  case loopbackAddress

  var isLoopback: Bool { self != .name }

  /// Reads a host in lower case.
  init(of host: String) throws(LiquidAuthError) {
    guard !host.isEmpty else { throw .origin(.noHost) }
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    if host == "[::1]" {
      self = .loopbackAddress
    } else if host.hasPrefix("[") {
      throw .origin(.address)
    } else if Self.isAddress(labels) {
      guard Self.isLoopback(labels) else { throw .origin(.address) }
      self = .loopbackAddress
    } else {
      guard host.utf8.count <= 253, labels.allSatisfy(Self.isLabel) else { throw .origin(.host) }
      self = host == "localhost" ? .localhost : .name
    }
  }

  /// Whether resolvers would take this for a number, not a name: URL Standard, "ends in a number checker".
  private static func isAddress(_ labels: [Substring]) -> Bool {
    guard let last = labels.last(where: { !$0.isEmpty }) else { return false }
    return last.hasPrefix("0x") || last.utf8.allSatisfy(\.isASCIIDigit)
  }

  /// Whether four decimal numbers without leading zeros begin with 127: the only unambiguous spelling.
  private static func isLoopback(_ labels: [Substring]) -> Bool {
    labels.count == 4 && labels[0] == "127" && labels.allSatisfy { UInt8($0).map { "\($0)" } == String($0) }
  }

  /// Letters, digits and hyphens (RFC 5890 §2.3.1), 1 to 63 of them; `xn--` encodes other scripts.
  private static func isLabel(_ label: Substring) -> Bool {
    (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
      && label.utf8.allSatisfy { byte in
        byte.isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "-")
      }
  }
}

extension UInt8 {
  /// 0–9 of ASCII.
  var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

// MARK: - Faults

extension WebOrigin {
  /// Why a text is not a trusted origin.
  public enum Fault: Equatable, Sendable {
    /// The text begins with neither `https://` nor `http://`.
    case scheme
    /// A user name or password precedes the host.
    case userInformation
    /// There is no host.
    case noHost
    /// The host is not a DNS name.
    case host
    /// A path, a query or a fragment follows the host and port.
    case path
    /// The host has letters outside ASCII.
    case notASCII
    /// The host is an address other than this machine's own.
    case address
    /// The port is not a number from 1 to 65535.
    case port
    /// `http:` to another machine.
    case insecure(String)
  }
}

extension LiquidAuthError {
  /// The error of a fault in a dApp's link; configuration files have their own errors.
  static func origin(_ fault: WebOrigin.Fault) -> Self {
    let newLink = "ask the dApp for a new link"
    let (reason, hint): (String, String?) =
      switch fault {
      case .scheme: ("an origin begins with https://", nil)
      case .userInformation:
        (
          "there is a user name before the host, as in links that imitate another site",
          "ask the dApp for a new one"
        )
      case .noHost: ("the host is missing", newLink)
      case .host: ("the host is not a valid DNS name", newLink)
      case .path: ("nothing may follow the host and port", newLink)
      case .notASCII:
        (
          "the host has letters outside ASCII, which can look like others",
          "ask the dApp for a link with the host in Punycode (xn--)"
        )
      case .address:
        ("the host is an IP address; a name is required", "ask the dApp for a link with its name")
      case .port: ("the port is not a number from 1 to 65535", newLink)
      case .insecure(let host):
        ("http is only for this machine (http://localhost:PORT), not for \(host)", "use https")
      }
    return Self(.origin(fault), reason, hint: hint)
  }
}
