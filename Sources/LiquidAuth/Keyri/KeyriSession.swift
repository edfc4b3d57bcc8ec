import CryptoPrimitives

/// A login that a browser waits for, as Keyri's session API describes it: what a person must know before an answer.
///
/// All texts but the origin are the server's words, to be shown like any text of a stranger.
public struct KeyriSession: Equatable, Sendable {
  /// The session that the link named.
  public let id: String
  /// The origin of the page that shows the code: who is asking.
  public let widgetOrigin: WebOrigin
  /// The browser that shows the page.
  public let browser: Browser
  /// The user that the browser wants to be; often not said.
  public let publicUserID: String?
  /// What the server thinks of it, where it has an opinion.
  public let risk: Risk?

  /// Echoed in the answer.
  let hash: String
  /// Echoed in the answer; no salt of ours.
  let salt: String
  /// The key for which the answer is sealed.
  let browserKey: P256.PublicKey
  /// By what we called ourselves when we asked: a fresh public key in base64, so that no two sessions can be linked.
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
    /// What the server finds wrong with it.
    public let issue: String?
  }

  /// The server's opinion.
  public struct Risk: Equatable, Sendable {
    /// `deny` must not be confirmed; other words are for the person.
    public let status: String?
    /// What led to it.
    public let flags: String?

    /// Whether the server says that the login is to be denied.
    public var isDenied: Bool { status?.lowercased() == "deny" }
  }
}

extension KeyriSession {
  /// Takes the answer of `GET /api/v1/session/{id}`.
  ///
  /// What the server writes for the person (`mobileTemplateResponse`) is not read: the facts speak for themselves.
  init(_ body: [UInt8], answering link: KeyriLink, mobileID: String) throws(LiquidAuthError) {
    let answer = try KeyriJSON.decode(Answer.self, from: body)
    guard answer.sessionId == link.sessionID else { throw .otherKeyriSession }
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

  /// Whether this user may be signed in: the browser does not say whom it wants, or it wants this one, byte for byte.
  func asks(for email: KeyriEmail) -> Bool {
    guard let publicUserID, !publicUserID.isEmpty else { return true }
    return publicUserID.utf8.elementsEqual(email.text.utf8)
  }

  /// A page's origin; a bare `host` or `host:port` is of `https:`, and `null` is a page that has none (RFC 6454 §7.1).
  private static func origin(_ text: String) -> WebOrigin? {
    guard text != "null" else { return nil }
    return try? WebOrigin(text.contains("://") ? text : "https://" + text)
  }

  /// X ‖ Y in base64: RFC 4648 §4, padded, in its only form.
  private static func key(_ text: String) throws(LiquidAuthError) -> P256.PublicKey {
    guard let raw = Base64.decode(text), Base64.encode(raw) == text, raw.count == 2 * P256.fieldSize,
      let key = try? P256.PublicKey(x: Array(raw.prefix(P256.fieldSize)), y: Array(raw.suffix(P256.fieldSize)))
    else { throw .browserKey }
    return key
  }
}

/// The members that are read, by the names they have on the wire.
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
