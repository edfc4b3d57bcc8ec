import CBOR
import CTAP2
import CryptoPrimitives
import LiquidAuth
import Recovery

/// The relying party behind the demo's page; unlike ``DemoRelyingParty``, it accepts any authenticator.
struct BrowserRelyingParty {
  /// A page of `http://localhost` can use no other rp.id.
  static let rpID = "localhost"
  /// What a registration asks for at each site of a demo: the members `rp` and `pubKeyCredParams`.
  static var request: JSON {
    [
      "rp": ["id": .string(rpID), "name": "Liquid Auth demo"],
      "pubKeyCredParams": .array(
        COSEAlgorithm.allCases.map { ["type": "public-key", "alg": .number($0.rawValue)] }),
    ]
  }
  /// The longest credential id: WebAuthn §7.1, step 25.
  static let longestID = 1023
  /// The most transports that a browser names; further ones are ignored.
  static let mostTransports = 8

  /// The page's origin.
  let origin: String

  /// What the site stores about a passkey.
  struct Passkey: Equatable, Sendable {
    var account: DemoRelyingParty.Account
    let isBackupEligible: Bool
    let isDiscoverable: Bool
  }

  /// Why an answer cannot be verified at all.
  struct Malformed: Error, Equatable {
    let reason: String
  }

  /// Verifies a registration: WebAuthn §7.1.
  ///
  /// - Parameters:
  ///   - challenge: 32 bytes that this ceremony got, and no other.
  ///   - known: the ids of the session's passkeys.
  /// - Returns: the passkey only if all checks succeeded.
  func verify(
    _ credential: PageCredential, of ceremony: DemoCeremony, challenge: [UInt8], known: [[UInt8]]
  ) throws(Malformed) -> (verdict: DemoVerdict, passkey: Passkey?) {
    guard let object = credential.attestationObject?.bytes else {
      throw Malformed(reason: "attestationObject is missing")
    }
    let clientData = credential.clientDataJSON.bytes
    var verdict = DemoVerdict(checks: try clientDataChecks(clientData, "webauthn.create", challenge))
    do throws(CBORError) {
      guard let attestation = try CBORDecoder.decode(object).map else { throw .unexpectedType("it is not a map") }
      let bytes = try attestation.requiredBytes("authData")
      let data = try AuthenticatorData(parsing: bytes)
      guard let made = data.attestedCredentialData else { throw .missing("the attested credential data") }
      let key = made.publicKey.publicKey
      verdict.checks += Self.common(data, ceremony)
      verdict.check(
        "the credential id is the one in the authenticator data",
        made.credentialID == credential.id.bytes && 1...Self.longestID ~= made.credentialID.count)
      verdict.check("the credential id is new", !known.contains(made.credentialID))
      verdict.checks += try Self.attestationChecks(
        attestation, of: key, signed: bytes + SHA256.hash(clientData))
      verdict.facts = Self.facts(data) + Self.facts(made, attestation, credential.transports ?? [])
      let passkey = Passkey(
        account: DemoRelyingParty.Account(
          credentialID: made.credentialID, publicKey: key, signCount: data.signCount),
        isBackupEligible: data.flags.contains(.backupEligible), isDiscoverable: ceremony == .passkey)
      return (verdict, verdict.holds ? passkey : nil)
    } catch {
      throw Malformed(reason: "attestationObject: \(error)")
    }
  }

  /// Verifies a sign-in: WebAuthn §7.2.
  ///
  /// - Parameters:
  ///   - passkey: the passkey with the credential's id; its signature counter is updated if all checks succeeded.
  ///   - userID: the account's user.id.
  func verify(
    _ credential: PageCredential, of ceremony: DemoCeremony, challenge: [UInt8], with passkey: inout Passkey,
    userID: [UInt8]
  ) throws(Malformed) -> DemoVerdict {
    guard let bytes = credential.authenticatorData?.bytes else {
      throw Malformed(reason: "authenticatorData is missing")
    }
    guard let signature = credential.signature?.bytes else { throw Malformed(reason: "signature is missing") }
    let clientData = credential.clientDataJSON.bytes
    var verdict = DemoVerdict(checks: try clientDataChecks(clientData, "webauthn.get", challenge))
    let data: AuthenticatorData
    do { data = try AuthenticatorData(parsing: bytes) } catch {
      throw Malformed(reason: "authenticatorData: \(error)")
    }
    verdict.checks += Self.common(data, ceremony)
    let user = credential.userHandle?.bytes
    if ceremony == .signIn {
      verdict.check("the user handle is the account's", user == userID)
    } else {
      verdict.check("the user handle is absent or the account's", user == nil || user == userID)
    }
    verdict.checks += DemoRelyingParty.Check.signature(
      signature, over: bytes + SHA256.hash(clientData), by: passkey.account.publicKey)
    verdict.checks.append(Self.counterCheck(data.signCount, after: passkey.account.signCount))
    verdict.check(
      "backup eligibility (BE) is as at the registration",
      data.flags.contains(.backupEligible) == passkey.isBackupEligible)
    verdict.facts = Self.facts(data)
    if verdict.holds { passkey.account.signCount = data.signCount }
    return verdict
  }

  /// WebAuthn §7.2, step 22: a key that counts must count up.
  private static func counterCheck(_ count: UInt32, after last: UInt32) -> DemoRelyingParty.Check {
    let name =
      count == 0 && last == 0
      ? "the signature counter is 0, as before: this key has no counter"
      : "the signature counter is higher than before (\(last))"
    return .init(name: name, holds: count > last || count == 0 && last == 0)
  }

  private func clientDataChecks(
    _ bytes: [UInt8], _ type: String, _ challenge: [UInt8]
  ) throws(Malformed) -> [DemoRelyingParty.Check] {
    let data: CollectedClientData
    do { data = try JSONCoding.decode(CollectedClientData.self, from: bytes) } catch {
      throw Malformed(reason: "clientDataJSON: \(error)")
    }
    return [
      .init(name: "the type is \(type)", holds: data.type == type),
      .init(
        name: "the challenge is the one of this step",
        holds: data.challenge.utf8.elementsEqual(Base64URL.encode(challenge).utf8)),
      .init(name: "the origin is \(origin)", holds: data.origin.utf8.elementsEqual(origin.utf8)),
      .init(name: "the page is not embedded in a page of another origin", holds: data.crossOrigin != true),
    ]
  }

  private static func common(_ data: AuthenticatorData, _ ceremony: DemoCeremony) -> [DemoRelyingParty.Check] {
    var checks = [
      DemoRelyingParty.Check.rpIDHash(of: data, isThatOf: rpID),
      .init(name: "the user was present (UP)", holds: data.flags.contains(.userPresent)),
    ]
    if ceremony.needsVerification {
      checks.append(.init(name: "the user was verified (UV)", holds: data.flags.contains(.userVerified)))
    }
    checks.append(
      .init(
        name: "the backup state (BS) is set only with backup eligibility (BE)",
        holds: !data.flags.contains(.backupState) || data.flags.contains(.backupEligible)))
    return checks
  }

  /// Packed self attestation, or none: the page asks for none, and browsers may pass on the former.
  private static func attestationChecks(
    _ attestation: CBORMap, of key: CredentialPublicKey, signed: [UInt8]
  ) throws(CBORError) -> [DemoRelyingParty.Check] {
    let statement = try attestation.requiredMap("attStmt")
    switch AttestationObject.Format(rawValue: try attestation.requiredText("fmt")) {
    case .some(.none): return [.init(name: "the attestation is none, as requested", holds: statement.isEmpty)]
    case .packed where statement["x5c"] == nil:
      let isOfKey = try statement.requiredInt("alg") == key.algorithm.rawValue
      return [.init(name: "the attestation is packed, by the passkey itself", holds: isOfKey)]
        + DemoRelyingParty.Check.signature(
          try statement.requiredBytes("sig"), over: signed, by: key, called: "the attestation's signature")
    default: return [.init(name: "the attestation is none, or packed by the passkey itself", holds: false)]
    }
  }
}

// MARK: - Facts

extension BrowserRelyingParty {
  private static func facts(_ data: AuthenticatorData) -> [DemoVerdict.Fact] {
    let names: [(AuthenticatorData.Flags, String)] = [
      (.userPresent, "UP"), (.userVerified, "UV"), (.backupEligible, "BE"), (.backupState, "BS"),
      (.attestedCredentialData, "AT"), (.extensionData, "ED"),
    ]
    let set = names.filter { data.flags.contains($0.0) }.map(\.1).joined(separator: " ")
    return [
      .init(name: "flags", value: "0x\(data.flags.rawValue.hexadecimal): \(set)"),
      .init(
        name: "backup",
        value: !data.flags.contains(.backupEligible)
          ? "the passkey stays on one device (BE 0)"
          : data.flags.contains(.backupState) ? "eligible (BE 1), backed up (BS 1)" : "eligible (BE 1), not yet (BS 0)"),
      .init(name: "signature counter", value: String(data.signCount)),
      .init(name: "rpIdHash", value: data.rpIDHash.bytes.hexadecimal),
    ]
  }

  private static func facts(
    _ made: AttestedCredentialData, _ attestation: CBORMap, _ transports: [String]
  ) -> [DemoVerdict.Fact] {
    let key = made.publicKey.publicKey
    let digits = made.aaguid.bytes.hexadecimal
    var uuid = ""
    for (index, digit) in digits.enumerated() { uuid += ([8, 12, 16, 20].contains(index) ? "-" : "") + String(digit) }
    let model =
      made.aaguid == .liquidAuth
      ? " (Liquid Auth for Linux)" : made.aaguid.bytes.allSatisfy { $0 == 0 } ? " (the browser hides the model)" : ""
    let named = transports.prefix(mostTransports).map { String($0.prefix(32)) }
    return [
      .init(
        name: "algorithm",
        value: key.algorithm == .es256 ? "ES256: ECDSA on P-256 with SHA-256 (-7)" : "EdDSA: Ed25519 (-8)"),
      .init(name: "public key", value: key.bytes.hexadecimal),
      .init(
        name: "credential id",
        value: "\(made.credentialID.count) bytes, \(String(made.credentialID.hexadecimal.prefix(24)))…"),
      .init(name: "AAGUID", value: uuid + model),
      .init(name: "transports", value: named.isEmpty ? "not named" : named.joined(separator: ", ")),
      .init(name: "attestation", value: attestation["fmt"]?.text ?? ""),
    ]
  }
}
