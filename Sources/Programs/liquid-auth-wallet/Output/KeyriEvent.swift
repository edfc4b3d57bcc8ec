import DisplayText
import Keyri
import LiquidAuth

/// An event at a service with Keyri.
enum KeyriEvent: Equatable {
  /// A browser's login was looked up.
  case session(KeyriSession)
  /// The wallet sends a user's key to the server.
  case registering(KeyriEmail, WebOrigin)
  /// The server has accepted a key, and signed its user in.
  case registered(KeyriEmail, FirebaseToken)
  /// The server has signed the user in.
  case signedIn(KeyriEmail, FirebaseToken)
  /// The wallet has sent a login to the browser.
  case confirmed(WebOrigin, KeyriEmail)
  /// The wallet has sent a refusal to the browser.
  case denied(WebOrigin)
}

// MARK: - For people

extension KeyriEvent {
  /// One sentence, or the details of a login in several lines.
  var text: String {
    switch self {
    case .session(let session): session.text
    case .registering(let email, let server):
      "sending the key of \(DisplayText.line(email.text)) to \(server); this needs no signature"
    case .registered(let email, _): "registered: the service now has a key of \(DisplayText.line(email.text))"
    case .signedIn(let email, _): "signed in as \(DisplayText.line(email.text))"
    case .confirmed(let origin, let email):
      "confirmed: the page of \(origin) can now sign in as \(DisplayText.line(email.text))"
    case .denied(let origin): "denied: nothing was sent to the page of \(origin)"
    }
  }
}

extension KeyriSession {
  /// The browser and where it is; all but the origin is the server's text.
  fileprivate var text: String {
    let facts: [(String, [String?], String)] = [
      ("browser", [browser.name, browser.os], " on "), ("from", [browser.address, browser.place], ", "),
      ("user", [publicUserID], ""), ("remark", [browser.issue], ""),
      ("risk", [risk?.status, risk?.flags], ", "),
    ]
    let lines = facts.compactMap { name, parts, separator in
      let known = parts.compactMap(\.self).filter { !$0.isEmpty }.map(DisplayText.words)
      return known.isEmpty ? nil : "\(name): \(known.joined(separator: separator))"
    }
    return (["a page of \(widgetOrigin) asks to be signed in"] + lines).joined(separator: "\n")
  }
}

// MARK: - For programs

extension KeyriEvent {
  /// The name of the event.
  var name: String {
    switch self {
    case .session: "session"
    case .registering: "registering"
    case .registered: "registered"
    case .signedIn: "signedIn"
    case .confirmed: "confirmed"
    case .denied: "denied"
    }
  }

  /// The members: names and JSON values.
  var members: [(String, String)] {
    switch self {
    case .session(let session): session.members
    case .registering(let email, let server):
      [("email", DisplayText.json(email.text)), ("origin", DisplayText.json(server.serialized))]
    case .registered(let email, let token), .signedIn(let email, let token):
      [("email", DisplayText.json(email.text)), ("token", DisplayText.json(token.text))]
    case .confirmed(let origin, let email):
      [("origin", DisplayText.json(origin.serialized)), ("email", DisplayText.json(email.text))]
    case .denied(let origin): [("origin", DisplayText.json(origin.serialized))]
    }
  }
}

extension KeyriSession {
  fileprivate var members: [(String, String)] {
    [
      ("sessionId", id), ("origin", widgetOrigin.serialized), ("browser", browser.name), ("os", browser.os),
      ("address", browser.address), ("place", browser.place), ("issue", browser.issue), ("publicUserId", publicUserID),
      ("risk", risk?.status), ("riskFlags", risk?.flags),
    ].map { name, value in (name, value.map(DisplayText.json) ?? "null") }
  }
}

extension FirebaseToken {
  /// The token itself, which its description omits; print it only where the user requested it.
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
