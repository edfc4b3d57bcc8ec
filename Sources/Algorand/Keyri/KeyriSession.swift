import CryptoPrimitives
public import LiquidAuth

/// A pending login of a browser, as Keyri's session API describes it.
///
/// All texts except the origin come from the server, and must be displayed as untrusted.
public struct KeyriSession: Equatable, Sendable {
  /// The session that the link named.
  public let id: String
  /// The origin of the page that shows the code, which requests the login.
  public let widgetOrigin: WebOrigin
  /// The browser that shows the page.
  public let browser: Browser
  /// The user that the browser asks for; often absent.
  public let publicUserID: String?
  /// The server's assessment, if any.
  public let risk: Risk?

  /// Echoed in the answer.
  let hash: String
  /// Echoed in the answer; not used as a salt here.
  let salt: String
  /// The key to which the answer is sealed.
  let browserKey: P256.PublicKey
  /// The name under which the session was requested: a fresh public key in base64, so that sessions cannot be linked.
  let mobileID: String

  /// The browser that shows the code.
  public struct Browser: Equatable, Sendable {
    /// Its name.
    public let name: String?
    /// Its operating system.
    public let os: String?
    /// Its network address.
    public let address: String?
    /// Where that address is, such as `Oakland, US`.
    public let place: String?
    /// The server's warning about the browser.
    public let issue: String?
  }

  /// The server's assessment.
  public struct Risk: Equatable, Sendable {
    /// `deny` must not be confirmed; other values are for the user.
    public let status: String?
    /// The reasons for it.
    public let flags: String?

    /// Whether the server says that the login is to be denied.
    public var isDenied: Bool { status?.lowercased().utf8.elementsEqual("deny".utf8) == true }
  }
}

extension KeyriSession {
  /// Reads the answer of `GET /api/v1/session/{id}`.
  ///
  /// The server's text for the user (`mobileTemplateResponse`) is not read; the other members contain the facts.
  init(_ body: [UInt8], answering link: KeyriLink, mobileID: String) throws(LiquidAuthError) {
    let answer = try KeyriJSON.decode(Answer.self, from: body)
    guard answer.sessionId.utf8.elementsEqual(link.sessionID.utf8) else { throw .otherKeyriSession }
    guard let widgetOrigin = Self.origin(answer.WidgetOrigin) else { throw .keyriAnswer("WidgetOrigin") }
    id = answer.sessionId
    self.widgetOrigin = widgetOrigin
    browser = Browser(
      name: answer.WidgetUserAgent?.browser, os: answer.WidgetUserAgent?.os, address: answer.IPAddressWidget,
      place: answer.riskAnalytics?.geoData?.browser?.text, issue: answer.WidgetUserAgent?.issue)
    publicUserID = answer.publicUserId
    risk = answer.riskAnalytics.map { Risk(status: $0.riskStatus, flags: $0.riskFlagString) }
    (hash, salt) = (answer.__hash, answer.__salt)
    browserKey = try Self.key(answer.browserPublicKey)
    self.mobileID = mobileID
  }

  /// Whether this user may be signed in: the browser asks for no user, or for exactly this one, byte for byte.
  func asks(for email: KeyriEmail) -> Bool {
    guard let publicUserID, !publicUserID.isEmpty else { return true }
    return publicUserID.utf8.elementsEqual(email.text.utf8)
  }

  /// The longest origin that is read, in bytes.
  private static let maximumOriginSize = 1024

  /// Reads a page's origin; a bare `host` or `host:port` means `https:`, and `null` is no origin (RFC 6454 §7.1).
  private static func origin(_ text: String) -> WebOrigin? {
    guard text.utf8.count <= maximumOriginSize, text != "null" else { return nil }
    return try? WebOrigin(text.contains("://") ? text : "https://" + text)
  }

  /// Reads X ‖ Y in base64: RFC 4648 §4, padded, in its only form.
  private static func key(_ text: String) throws(LiquidAuthError) -> P256.PublicKey {
    guard let raw = Base64.decode(text), Base64.encode(raw) == text, raw.count == 2 * P256.fieldSize,
      let key = try? P256.PublicKey(x: Array(raw.prefix(P256.fieldSize)), y: Array(raw.suffix(P256.fieldSize)))
    else { throw .browserKey }
    return key
  }
}

/// The members that are read, with their names on the wire.
private struct Answer: Decodable {
  struct UserAgent: Decodable {
    let os: String?
    let browser: String?
    let issue: String?
  }

  struct Analytics: Decodable {
    let riskStatus: String?
    let riskFlagString: String?
    let geoData: Places?
  }

  struct Places: Decodable {
    let browser: Place?
  }

  struct Place: Decodable {
    let city: String?
    let countryCode: String?

    enum CodingKeys: String, CodingKey {
      case city
      case countryCode = "country_code"
    }

    var text: String? {
      let parts = [city, countryCode].compactMap(\.self).filter { !$0.isEmpty }
      return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
  }

  let sessionId: String
  let WidgetOrigin: String
  let WidgetUserAgent: UserAgent?
  let IPAddressWidget: String?
  let riskAnalytics: Analytics?
  let publicUserId: String?
  let browserPublicKey: String
  let __hash: String
  let __salt: String
}
