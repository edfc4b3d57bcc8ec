import CBOR
import DisplayText
import Hybrid

/// An event while a browser on another computer is answered.
///
/// No event contains the code, or a key.
enum HybridEvent: Equatable {
  /// A code was read: its purpose, and its age in seconds, if it says when it was made.
  case code(FIDOURI.Hint?, age: Int64?)
  /// The tunnel service is being connected.
  case connecting(host: String)
  /// The advert is on the air, and the browser is awaited.
  case advertising
  /// The browser is connected, and its request is awaited.
  case connected
  /// The browser's request came, and the authenticator asks the user.
  case requested(HybridRequestKind, rpID: String?)
  /// The browser has the answer.
  case answered(HybridRequestKind)
}

/// The request of a browser.
enum HybridRequestKind: String, Sendable {
  case registration
  case signIn

  /// Reads a CTAP2 message; `nil` for any other request.
  ///
  /// - Parameter message: command byte and CBOR.
  static func read(_ message: [UInt8]) -> (kind: HybridRequestKind, rpID: String?)? {
    // One more than in other messages, as the authenticator allows for `evalByCredential` of prf.
    let depth = CBORDecoder.messageDepth + 1
    let members = try? CBORDecoder.decode(Array(message.dropFirst()), maximumDepth: depth).map
    return switch message.first {
    case 0x01: (.registration, members?[2]?.map?["id"]?.text)
    case 0x02: (.signIn, members?[1]?.text)
    default: nil
    }
  }
}

// MARK: - For people

extension HybridEvent {
  /// One sentence.
  var text: String {
    switch self {
    case .code(let hint, let age): Self.text(of: hint) + Self.text(ofAge: age)
    case .connecting(let host): "connecting to the tunnel service \(DisplayText.words(host))"
    case .advertising: "looking for the browser by Bluetooth; its computer must be nearby, and still show the code"
    case .connected: "the browser is connected; waiting for its request"
    case .requested(.registration, let rpID):
      "\(Self.site(rpID)) wants a new passkey: the authenticator asks you, \(WalletEvent.place)"
    case .requested(.signIn, let rpID):
      "\(Self.site(rpID)) wants you to sign in: the authenticator asks you, \(WalletEvent.place)"
    case .answered(.registration): "the browser has the new passkey"
    case .answered(.signIn): "the browser has the sign-in"
    }
  }

  /// What a browser wants, by its code: only a hint.
  static func text(of hint: FIDOURI.Hint?) -> String {
    hint == .makeCredential ? "a browser wants a new passkey" : "a browser wants to sign in"
  }

  /// A clock that is wrong must not hide anything.
  private static func text(ofAge age: Int64?) -> String {
    switch age {
    case nil: ""
    case let age? where age < 0: "; by its clock, the code is from the future"
    case let age?: "; the code is \(age) s old"
    }
  }

  /// An rp.id as in a dialog: the browser chose it, and the line begins with it.
  private static func site(_ rpID: String?) -> String {
    guard let rpID, !rpID.isEmpty else { return "a site" }
    return DisplayText.host(rpID)
  }
}

// MARK: - For programs

extension HybridEvent {
  /// The name of the event.
  var name: String {
    switch self {
    case .code: "code"
    case .connecting: "connecting"
    case .advertising: "advertising"
    case .connected: "connected"
    case .requested: "requested"
    case .answered: "answered"
    }
  }

  /// The members: names and JSON values.
  var members: [(String, String)] {
    switch self {
    case .code(let hint, let age):
      [("hint", hint.map { DisplayText.json($0.rawValue) } ?? "null"), ("age", age.map { String($0) } ?? "null")]
    case .connecting(let host): [("host", DisplayText.json(host))]
    case .advertising, .connected: []
    case .requested(let kind, let rpID):
      [("request", DisplayText.json(kind.rawValue)), ("rpId", rpID.map(DisplayText.json) ?? "null")]
    case .answered(let kind): [("request", DisplayText.json(kind.rawValue))]
    }
  }
}
