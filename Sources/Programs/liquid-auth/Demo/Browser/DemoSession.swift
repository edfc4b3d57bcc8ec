import CryptoPrimitives
import LiquidAuth
import Recovery

/// What the demo's site keeps for one browser, in memory only.
struct DemoSession {
  /// How long a challenge can be answered; the page's own limit, two minutes, is shorter.
  static let challengeLifetime = Duration.seconds(300)
  /// The most passkeys of one session.
  static let mostPasskeys = 16

  /// Why a request cannot be answered now; nothing is wrong with the key.
  struct Refusal: Error, Equatable {
    let reason: String
  }

  private struct Pending {
    let challenge: [UInt8]
    let end: ContinuousClock.Instant
  }

  /// user.id of the session's account, random, 16 bytes.
  let userID = randomBytes(16)
  /// The account's name; the number keeps accounts of several runs apart in the browser's list.
  let userName: String
  /// When the browser sent its last request.
  var lastRequest: ContinuousClock.Instant
  private(set) var passkeys: [BrowserRelyingParty.Passkey] = []
  private var succeeded: Set<DemoCeremony> = []
  private var pending: [DemoCeremony: Pending] = [:]
  private let salts = [randomBytes(32), randomBytes(32)]
  private var prfHash: [UInt8]?

  init(at now: ContinuousClock.Instant) {
    userName = "demo \(Int.random(in: 1000...9999))"
    lastRequest = now
  }

  /// Begins a ceremony: draws its challenge, which replaces an earlier one.
  ///
  /// - Returns: the options, as the page passes them to the browser; bytes are base64url.
  mutating func begin(_ ceremony: DemoCeremony, at now: ContinuousClock.Instant) throws(Refusal) -> JSON {
    if let before = ceremony.predecessor, !succeeded.contains(before) {
      throw Refusal(reason: "first \(before.title)")
    }
    guard !ceremony.isRegistration || passkeys.count < Self.mostPasskeys else {
      throw Refusal(reason: "this page has made \(Self.mostPasskeys) passkeys; start the demo again")
    }
    let challenge = randomBytes(32)
    pending[ceremony] = Pending(challenge: challenge, end: now + Self.challengeLifetime)
    return ceremony.isRegistration ? creation(ceremony, challenge) : signIn(ceremony, challenge)
  }

  /// Takes the challenge of a ceremony; it cannot be used again, whatever the answer is.
  private mutating func challenge(of ceremony: DemoCeremony, at now: ContinuousClock.Instant) throws(Refusal) -> [UInt8]
  {
    guard let taken = pending.removeValue(forKey: ceremony) else {
      throw Refusal(reason: "this step has no open challenge; begin the step again")
    }
    guard now < taken.end else { throw Refusal(reason: "the challenge has expired; begin the step again") }
    return taken.challenge
  }

  /// Verifies the answer to a ceremony.
  mutating func finish(
    _ ceremony: DemoCeremony, _ credential: PageCredential, for site: BrowserRelyingParty,
    at now: ContinuousClock.Instant
  ) throws(Refusal) -> DemoVerdict {
    let challenge = try challenge(of: ceremony, at: now)
    var verdict = DemoVerdict()
    guard ceremony != .excluded else {
      verdict.check(Self.refusedAgain, false)
      return verdict
    }
    let index = passkeys.firstIndex {
      $0.account.credentialID == credential.id.bytes && $0.isDiscoverable == (ceremony != .secondFactorSignIn)
    }
    guard ceremony.isRegistration || index != nil else {
      throw Refusal(reason: "this passkey is not the one of this step; choose the account \(userName)")
    }
    guard !ceremony.asksForSecrets || credential.prf == true || credential.prfHashes != nil else {
      throw Refusal(reason: "this browser does not support PRF with this key; the key itself was not checked")
    }
    do throws(BrowserRelyingParty.Malformed) {
      if let index, !ceremony.isRegistration {
        verdict = try site.verify(
          credential, of: ceremony, challenge: challenge, with: &passkeys[index], userID: userID)
        checkPRF(ceremony, credential.prfHashes, &verdict)
      } else {
        let known = passkeys.map(\.account.credentialID)
        let passkey: BrowserRelyingParty.Passkey?
        (verdict, passkey) = try site.verify(credential, of: ceremony, challenge: challenge, known: known)
        if let passkey { passkeys.append(passkey) }
      }
    } catch {
      verdict.fail(error)
    }
    if verdict.holds { succeeded.insert(ceremony) }
    return verdict
  }

  /// Takes the name of a browser's error; for a registration of a key that is excluded, the error is the right answer.
  ///
  /// - Returns: a verdict only for that registration.
  mutating func fail(
    _ ceremony: DemoCeremony, _ name: String, at now: ContinuousClock.Instant
  ) throws(Refusal) -> DemoVerdict? {
    _ = try challenge(of: ceremony, at: now)
    guard ceremony == .excluded, name == "InvalidStateError" else { return nil }
    var verdict = DemoVerdict()
    verdict.check(Self.refusedAgain, true)
    verdict.note("error of the browser", name)
    succeeded.insert(ceremony)
    return verdict
  }

  private static let refusedAgain = "the key makes no second passkey, and the browser reports InvalidStateError"

  private mutating func checkPRF(
    _ ceremony: DemoCeremony, _ hashes: PageCredential.PRFHashes?, _ verdict: inout DemoVerdict
  ) {
    guard ceremony.asksForSecrets else { return }
    let isComplete = hashes?.first.bytes.count == 32 && (ceremony == .prf || hashes?.second?.bytes.count == 32)
    verdict.check("the key gave \(ceremony == .prf ? "a secret" : "two secrets")", isComplete)
    guard isComplete, let hashes else { return }
    verdict.note("SHA-256 of the secret", hashes.first.bytes.hexadecimal)
    if ceremony == .prf {
      if verdict.holds { prfHash = hashes.first.bytes }
      return
    }
    verdict.check("the same salt gives the same secret", hashes.first.bytes == prfHash)
    verdict.check("another salt gives another secret", hashes.second?.bytes != hashes.first.bytes)
    verdict.note("SHA-256 of the other secret", hashes.second?.bytes.hexadecimal ?? "")
  }
}

// MARK: - Options

extension DemoSession {
  /// Two minutes, so that there is time to type a passphrase.
  private static var timeout: JSON { .number(120_000) }

  private func creation(_ ceremony: DemoCeremony, _ challenge: [UInt8]) -> JSON {
    let isPasskey = ceremony != .secondFactor
    let excluded = ceremony == .excluded ? passkeys.filter(\.isDiscoverable) : []
    return BrowserRelyingParty.request.adding([
      "challenge": .base64URL(challenge),
      "user": [
        "id": .base64URL(userID), "name": .string(userName),
        "displayName": .string("\(userName) of liquid-auth demo"),
      ],
      "excludeCredentials": .array(excluded.map(Self.descriptor)),
      "authenticatorSelection": [
        "residentKey": .string(isPasskey ? "required" : "discouraged"), "requireResidentKey": .bool(isPasskey),
        "userVerification": .string(isPasskey ? "preferred" : "discouraged"),
      ],
      "attestation": "none", "timeout": Self.timeout,
      "extensions": isPasskey ? ["prf": [:]] : [:],
    ])
  }

  private func signIn(_ ceremony: DemoCeremony, _ challenge: [UInt8]) -> JSON {
    let allowed =
      ceremony == .signIn ? [] : passkeys.filter { $0.isDiscoverable == (ceremony != .secondFactorSignIn) }.suffix(1)
    var extensions: JSON = [:]
    if ceremony == .prf { extensions = ["prf": ["eval": ["first": .base64URL(salts[0])]]] }
    if ceremony == .prfAgain {
      extensions = ["prf": ["eval": ["first": .base64URL(salts[0]), "second": .base64URL(salts[1])]]]
    }
    return [
      "challenge": .base64URL(challenge), "rpId": .string(BrowserRelyingParty.rpID),
      "allowCredentials": .array(allowed.map(Self.descriptor)),
      "userVerification": .string(ceremony.needsVerification ? "required" : "discouraged"),
      "timeout": Self.timeout, "extensions": extensions,
    ]
  }

  private static func descriptor(_ passkey: BrowserRelyingParty.Passkey) -> JSON {
    ["type": "public-key", "id": .base64URL(passkey.account.credentialID)]
  }
}

extension JSON: ExpressibleByStringLiteral {
  init(stringLiteral value: String) { self = .string(value) }
}

extension JSON {
  /// Bytes as base64url without padding.
  static func base64URL(_ bytes: [UInt8]) -> JSON { .string(Base64URL.encode(bytes)) }
}
