/// The cookies of one sign-in at one server: the necessary part of RFC 6265.
///
/// The server's session holds challenge and account, so every step, and the web socket after them, must send the
/// cookie. A jar belongs to one origin and is never stored. A cookie is sent to that host only, whatever domain it
/// names. `Secure` is always satisfied: an origin is either https or on this machine.
public struct CookieJar: Equatable, Sendable {
  /// One cookie.
  private struct Cookie: Equatable {
    let name: String
    let value: String
    let path: String
  }

  /// The most cookies that a server can set; RFC 6265 §6.1 requires 50.
  static let maximumCount = 50
  /// The most bytes of a cookie with its attributes; RFC 6265 §6.1 requires 4096.
  static let maximumSize = 4096

  private let origin: WebOrigin
  /// In order of creation.
  private var cookies: [Cookie] = []

  /// Makes an empty jar for one server.
  public init(origin: WebOrigin) { self.origin = origin }

  /// The header field for a request to this path; `nil` if no cookie applies.
  public func header(forPath path: String) -> HTTPHeader? {
    let sent = cookies.enumerated().filter { Self.matches(path, cookiePath: $0.element.path) }
      .sorted { ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset) }
    guard !sent.isEmpty else { return nil }
    return HTTPHeader("Cookie", sent.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; "))
  }

  /// Sets and removes the cookies of a response to a request for this path: RFC 6265 §5.2, §5.3.
  public mutating func store(_ response: HTTPResponse, forPath path: String) {
    let now = response.header("Date").flatMap(CookieDate.init)
    for field in response.headers where field.isNamed("Set-Cookie") { store(field.value, path: path, now: now) }
  }

  private mutating func store(_ text: String, path requestPath: String, now: CookieDate?) {
    guard text.utf8.count <= Self.maximumSize, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return }
    let parts = text.split(separator: ";", omittingEmptySubsequences: false).map { Self.pair($0) }
    guard let (name, value) = parts.first, let value, !name.isEmpty else { return }
    let attributes = Attributes(parts.dropFirst())
    guard attributes.domain.map(isOurs) ?? true else { return }

    let cookie = Cookie(name: name, value: value, path: attributes.path ?? Self.defaultPath(of: requestPath))
    let known = cookies.firstIndex { $0.name == cookie.name && $0.path == cookie.path }
    switch (known, attributes.isOver(at: now)) {
    case (let index?, true): cookies.remove(at: index)
    case (let index?, false): cookies[index] = cookie
    case (nil, true): break
    case (nil, false): if cookies.count < Self.maximumCount { cookies.append(cookie) }
    }
  }

  /// Whether the host belongs to a cookie's domain: RFC 6265 §5.1.3.
  private func isOurs(_ domain: String) -> Bool {
    let domain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
    return origin.host.utf8.elementsEqual(domain.utf8) || origin.isBelow(domain)
  }

  /// RFC 6265 §5.1.4: the request's path up to its last slash.
  private static func defaultPath(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// RFC 6265 §5.1.4: the same path, or one below it.
  private static func matches(_ path: String, cookiePath: String) -> Bool {
    guard path.utf8.starts(with: cookiePath.utf8) else { return false }
    let rest = path.utf8.dropFirst(cookiePath.utf8.count)
    return rest.isEmpty || cookiePath.hasSuffix("/") || rest.first == UInt8(ascii: "/")
  }

  /// `name=value` without surrounding white space; the value is `nil` without a `=`.
  private static func pair(_ text: Substring) -> (name: String, value: String?) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    return (trimmed(parts[0]), parts.count > 1 ? trimmed(parts[1]) : nil)
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}

extension CookieJar: CustomStringConvertible, CustomReflectable {
  /// The server and the number of cookies only: a session cookie in a log would give the session away.
  public var description: String { "cookies of \(origin): \(cookies.count)" }

  /// No children: a dump shows no more than ``description``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The attributes of a cookie; the last of duplicates counts.
private struct Attributes {
  var domain: String?
  var path: String?
  var maxAge: Int?
  var expires: CookieDate?

  init(_ pairs: some Sequence<(name: String, value: String?)>) {
    for (name, value) in pairs {
      guard let value else { continue }
      switch name.lowercased() {
      case "domain": domain = value.isEmpty ? nil : value.lowercased()
      case "path": path = value.hasPrefix("/") ? value : nil
      case "max-age": maxAge = Int(value) ?? maxAge
      case "expires": expires = CookieDate(value) ?? expires
      default: break
      }
    }
  }

  /// Whether the cookie is to be removed: Max-Age is 0 or less, or, without it, Expires is not after the response's own
  /// Date.
  ///
  /// No clock is read. A cookie that expires later is kept: the sign-in ends before that.
  func isOver(at now: CookieDate?) -> Bool {
    if let maxAge { return maxAge <= 0 }
    guard let expires, let now else { return false }
    return expires <= now
  }
}

/// A date of RFC 6265 §5.1.1, for comparison only.
private struct CookieDate: Comparable {
  /// Year, month from 1, day, hour, minute, second.
  private let parts: [Int]

  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Reads a day, a month, a year of four digits and hh:mm:ss, in any order, as HTTP and its ancestors write them.
  init?(_ text: String) {
    var (time, day, month, year): ([Int]?, Int?, Int?, Int?)
    for token in text.lowercased().split(whereSeparator: { $0 == " " || $0 == "-" || $0 == "," }) {
      let clock = token.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
      if clock.count == 3 {
        time = time ?? clock.compactMap { $0 }
      } else if let number = Int(token) {
        if token.count == 4 { year = year ?? number } else { day = day ?? number }
      } else {
        month = month ?? Self.months.firstIndex { token.hasPrefix($0) }.map { $0 + 1 }
      }
    }
    guard let time, time.count == 3, let day, let month, let year else { return nil }
    parts = [year, month, day] + time
  }

  static func < (left: CookieDate, right: CookieDate) -> Bool { left.parts.lexicographicallyPrecedes(right.parts) }
}
