import CTAP2
import LiquidAuth
import Recovery

/// A ceremony of the demo's page, in the order of the page; the raw value is its name in requests and events.
enum DemoCeremony: String, CaseIterable, Sendable, Decodable {
  /// Register a passkey: discoverable, with verification if the key can.
  case passkey
  /// Sign in with it, without naming the account.
  case signIn = "sign-in"
  /// Register a second factor: not discoverable.
  case secondFactor = "second-factor"
  /// Sign in with the second factor, whose id the site sends.
  case secondFactorSignIn = "second-factor-sign-in"
  /// Ask for one secret of the passkey.
  case prf
  /// Ask for the same secret, and for another one.
  case prfAgain = "prf-again"
  /// Register the passkey's account again, with the passkey excluded.
  case excluded

  /// Whether the page calls `navigator.credentials.create()`, rather than `get()`.
  var isRegistration: Bool {
    switch self {
    case .passkey, .secondFactor, .excluded: true
    case .signIn, .secondFactorSignIn, .prf, .prfAgain: false
    }
  }

  /// Whether the key stores what it makes.
  var isStored: Bool { self == .passkey || self == .excluded }

  /// Whether the answer must have the flag UV.
  var needsVerification: Bool {
    switch self {
    case .signIn, .prf, .prfAgain: true
    case .passkey, .secondFactor, .secondFactorSignIn, .excluded: false
    }
  }

  /// Whether the page asks for secrets of the passkey.
  var asksForSecrets: Bool { self == .prf || self == .prfAgain }

  /// The ceremony that must have succeeded before.
  var predecessor: DemoCeremony? {
    switch self {
    case .passkey, .secondFactor: nil
    case .signIn, .prf, .excluded: .passkey
    case .secondFactorSignIn: .secondFactor
    case .prfAgain: .prf
    }
  }

  /// What happens, as a title.
  var title: String {
    switch self {
    case .passkey: "register a passkey"
    case .signIn: "sign in with the passkey, without naming the account"
    case .secondFactor: "register a second factor"
    case .secondFactorSignIn: "sign in with the second factor"
    case .prf: "ask the passkey for a secret (PRF)"
    case .prfAgain: "ask for the same secret again, and for another one"
    case .excluded: "register again, although there is a passkey already"
    }
  }
}

/// What the page sends when a ceremony has succeeded: members of `PublicKeyCredential`, as base64url.
struct PageCredential: Decodable, Equatable {
  /// The credential id.
  var id: Base64URLBytes
  /// The client data, byte for byte as hashed.
  var clientDataJSON: Base64URLBytes
  /// Of a registration: fmt, attStmt and authData in CBOR.
  var attestationObject: Base64URLBytes?
  /// Of a registration: how the browser can reach the key.
  var transports: [String]?
  /// Of a sign-in.
  var authenticatorData: Base64URLBytes?
  /// Of a sign-in: over authenticator data ‖ SHA-256(client data).
  var signature: Base64URLBytes?
  /// Of a sign-in with a discoverable passkey: user.id.
  var userHandle: Base64URLBytes?
  /// Whether the browser supports PRF with this key: its results have the member, even if it is empty.
  var prf: Bool?
  /// Of a sign-in with PRF: the SHA-256 hashes of the secrets, which stay in the page.
  var prfHashes: PRFHashes?

  /// The hashes of one or two secrets, 32 bytes each.
  struct PRFHashes: Decodable, Equatable {
    var first: Base64URLBytes
    var second: Base64URLBytes?
  }
}

/// The part of the client data that a relying party verifies: WebAuthn §5.8.1.
struct CollectedClientData: Decodable {
  let type: String
  let challenge: String
  let origin: String
  let crossOrigin: Bool?
}

/// The result of verifying one answer.
struct DemoVerdict: Equatable, Sendable {
  /// A value of the answer that is not right or wrong.
  struct Fact: Equatable, Sendable {
    let name: String
    let value: String
  }

  var checks: [DemoRelyingParty.Check] = []
  var facts: [Fact] = []

  /// Whether there was a check, and all succeeded.
  var holds: Bool { !checks.isEmpty && checks.allSatisfy(\.holds) }

  mutating func check(_ name: String, _ holds: Bool) { checks.append(.init(name: name, holds: holds)) }
  /// Counts an answer that cannot be read as a check that fails.
  mutating func fail(_ error: BrowserRelyingParty.Malformed) {
    check("the answer can be read: \(error.reason)", false)
  }
  mutating func note(_ name: String, _ value: String) { facts.append(Fact(name: name, value: value)) }
}

extension DemoRelyingParty.Check {
  /// `{"check", "holds"}`, as in all JSON of the demo.
  var json: JSON { ["check": .string(name), "holds": .bool(holds)] }
}

extension DemoVerdict {
  /// For the page: `{"holds", "checks": […], "facts": [{"name", "value"} …]}`.
  var json: JSON {
    [
      "holds": .bool(holds), "checks": .array(checks.map(\.json)),
      "facts": .array(facts.map { ["name": .string($0.name), "value": .string($0.value)] }),
    ]
  }
}
