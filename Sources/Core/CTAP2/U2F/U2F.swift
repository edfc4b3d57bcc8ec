import CryptoPrimitives
import Recovery

/// The outcome of a U2F message.
public enum U2FOutcome: Sendable, Equatable {
  /// The whole answer.
  case answer([UInt8])
  /// The vault is locked: the host repeats the message while a prompt asks for the passphrase.
  case needsVault(UserPrompt)
  /// The vault is locked, and the host only asks whether a key handle is known: the answer waits until the vault is
  /// open.
  case waitsForVault(UserPrompt)
  /// The user must agree first: the host repeats the message while a prompt is open.
  case needsPresence(UserPrompt)

  /// The answer while a prompt is open: SW_CONDITIONS_NOT_SATISFIED.
  public static let askAgain = U2FStatus.conditionsNotSatisfied.bytes
  /// The answer after a refusal: SW_COMMAND_NOT_ALLOWED.
  ///
  /// U2F has no status for a refusal; without this one, a host would repeat the message forever.
  public static let refused = U2FStatus.commandNotAllowed.bytes
}

extension CommandReport {
  /// The report on a message whose prompt failed, which the authenticator does not see.
  public init(u2F message: [UInt8], rpID: String?, error: UserInteractionError, elapsed: Duration) {
    let command = try? U2FCommand(message)
    self.init(
      command: command?.instruction.name, rpID: rpID, error: CTAPError(error), elapsed: elapsed, kind: command?.kind)
  }
}

/// U2F: registration and sign-in of CTAP1, over CTAPHID_MSG (U2F Raw Message Formats 1.2, and CTAP §7).
///
/// U2F has no keepalive: hosts repeat the message until the user has agreed. So no call waits here: the caller prompts
/// the user meanwhile, and passes the confirmation with the next message.
extension Authenticator {
  /// Whether a message asks for the version (U2F Raw Message Formats §6), whose answer is constant.
  public static func isVersion(u2F message: [UInt8]) -> Bool { (try? U2FCommand(message))?.instruction == .version }

  /// Answers a message, or returns what it needs first; before that, nothing is generated or signed.
  ///
  /// - Parameters:
  ///   - confirmation: the user's answer to the prompt that this same message caused.
  ///   - waited: the time since that prompt opened, for the report.
  public mutating func respond(
    toU2F message: [UInt8], confirmation: Confirmation?, waited: Duration = .zero, in context: RequestContext
  ) -> U2FOutcome {
    let start = now() - waited
    beginCommand(nil, in: context)
    var outcome = CommandReport(command: nil, rpID: nil, error: nil, elapsed: .zero, client: client)
    do throws(CTAPError) {
      let command = try U2FCommand(message)
      outcome.command = command.instruction.name
      outcome.kind = command.kind
      let answer: U2FOutcome
      switch command.instruction {
      case .version:
        guard command.data.isEmpty else { throw CTAPError(.invalidLength, "a VERSION message with data") }
        return .answer(Array("U2F_V2".utf8) + U2FStatus.noError.bytes)
      case .register: answer = try register(command, confirmation)
      case .authenticate: answer = try authenticate(command, confirmation, &outcome.rpID)
      }
      // The host repeats the message until the user has answered: only the last one is reported.
      guard case .answer = answer else { return answer }
      outcome.elapsed = now() - start
      report(outcome)
      return answer
    } catch {
      if !Self.isCheckOnly(message) {
        outcome.error = error
        outcome.elapsed = now() - start
        report(outcome)
      }
      return .answer(U2FStatus(error).bytes)
    }
  }

  /// Whether a message only asks if a key handle is known: hosts send one for each handle that a site lists.
  private static func isCheckOnly(_ message: [UInt8]) -> Bool {
    guard let command = try? U2FCommand(message), command.instruction == .authenticate else { return false }
    return command.parameter == Control.checkOnly.rawValue
  }

  // MARK: Registration

  /// U2F Raw Message Formats §4: challenge ‖ application, 32 bytes each.
  private mutating func register(
    _ command: U2FCommand, _ confirmation: Confirmation?
  ) throws(CTAPError) -> U2FOutcome {
    let data = command.data
    guard data.count == 64, let application = RPIDHash(bytes: Array(data[32...])) else {
      throw CTAPError(.invalidLength, "a REGISTER message does not have 64 bytes")
    }
    let prompt = UserPrompt(
      purpose: SelectionByRegistration.isMeant(by: application) ? .select : .registerSecondFactor)
    guard let vault = keySource.current else { return .needsVault(prompt) }
    try refuseByPolicy(application, vault)
    try refuseUnderAlwaysUV(vault)
    guard let confirmation, confirmation.userPresent else { return .needsPresence(prompt) }
    let consent = UserConsent(confirmation)

    let (handle, key) = try makeSecondFactor(application, vault)
    let publicKey = key.publicKey.bytes
    let toBeSigned = U2FCertificate.toBeSigned(publicKey: publicKey)
    // The consent covers the certificate too.
    let certificate = U2FCertificate.certificate(
      toBeSigned,
      signature: try key.signature(over: toBeSigned, consent: consent.part()))
    let registered: [[UInt8]] = [[0x00], application.bytes, Array(data[..<32]), handle, [0x04], publicKey]
    let signature = try key.signature(over: Array(registered.joined()), consent: consent)
    let answer: [[UInt8]] = [
      [0x05, 0x04], publicKey, [UInt8(handle.count)], handle, certificate, signature, U2FStatus.noError.bytes,
    ]
    return .answer(Array(answer.joined()))
  }

  /// A new credential of kind 3, whose only copy is its key handle: Recovery §3, §10.
  private mutating func makeSecondFactor(
    _ application: RPIDHash, _ vault: OpenVault
  ) throws(CTAPError) -> (handle: [UInt8], key: CredentialPrivateKey) {
    let epoch = try stored(vault.store.state()).epoch
    while true {
      let salt = randomness.next().bigEndianBytes + randomness.next().bigEndianBytes
      guard let parameters = CredentialParameters.u2f(salt: salt, epoch: epoch) else {
        throw CTAPError(.other, "a salt of a wrong length")
      }
      do throws(CryptoError) {
        let key = try vault.keys.privateKey(parameters, rpIDHash: application)
        return (try vault.keys.sealedID(parameters, rpIDHash: application), key)
      } catch .scalarOutOfRange {
        continue
      } catch {
        throw CTAPError(error)
      }
    }
  }

  // MARK: Sign-in

  /// U2F Raw Message Formats §5: challenge ‖ application ‖ length and key handle.
  private mutating func authenticate(
    _ command: U2FCommand, _ confirmation: Confirmation?, _ rpID: inout String?
  ) throws(CTAPError) -> U2FOutcome {
    let data = command.data
    guard data.count >= 65, data.count == 65 + Int(data[64]), let application = RPIDHash(bytes: Array(data[32..<64]))
    else { throw CTAPError(.invalidLength, "an AUTHENTICATE message has a wrong length") }
    guard let control = Control(rawValue: command.parameter) else {
      throw CTAPError(.invalidCredential, "no such control byte")
    }
    let prompt = UserPrompt(purpose: .signInSecondFactor)
    guard let vault = keySource.current else {
      return control == .checkOnly ? .waitsForVault(prompt) : .needsVault(prompt)
    }
    try refuseByPolicy(application, vault, isCheckOnly: control == .checkOnly)
    try refuseUnderAlwaysUV(vault)
    guard let (credential, key, phrase) = try secondFactor(Array(data[65...]), application, vault) else {
      throw CTAPError(.invalidCredential, "the key handle is unknown")
    }
    rpID = credential.record?.rpID

    switch control {
    case .checkOnly: throw CTAPError(.upRequired, "the key handle is known")
    case .signWithoutPresence:
      return try sign(
        data[..<32], application, credential, key, consent: .silent(verifiedByToken: false))
    case .enforcePresence:
      guard let confirmation, confirmation.userPresent else {
        var prompt = prompt
        prompt.rpID = rpID
        prompt.accountName = credential.record?.name
        prompt.isOfPreviousPhrase = phrase == .previous
        return .needsPresence(prompt)
      }
      return try sign(data[..<32], application, credential, key, consent: UserConsent(confirmation))
    }
  }

  /// P1 of an authentication.
  private enum Control: UInt8 {
    case enforcePresence = 0x03
    case checkOnly = 0x07
    case signWithoutPresence = 0x08
  }

  private mutating func sign(
    _ challenge: ArraySlice<UInt8>, _ application: RPIDHash, _ credential: Credential, _ key: CredentialPrivateKey,
    consent: consuming UserConsent
  ) throws(CTAPError) -> U2FOutcome {
    let flags: UInt8 = consent.userPresent ? 0x01 : 0x00
    let counter = signCount(of: credential, userPresent: consent.userPresent).bigEndianBytes
    let signature = try key.signature(
      over: application.bytes + [flags] + counter + challenge, consent: consent)
    return .answer([flags] + counter + signature + U2FStatus.noError.bytes)
  }

  /// The credential of a key handle: a row; or a sealed id that opens, is live, and needs no row.
  ///
  /// ES256 only, and only credentials that need no verification (Recovery §10); of either phrase (§14).
  private func secondFactor(
    _ handle: [UInt8], _ application: RPIDHash, _ vault: OpenVault
  ) throws(CTAPError) -> (Credential, CredentialPrivateKey, OpenVault.Phrase)? {
    for phrase in vault.phrases {
      if let (credential, key) = try secondFactor(handle, application, of: vault[phrase]),
        phrase == .present || !credential.isImported
      {
        return (credential, key, phrase)
      }
    }
    return nil
  }

  private func secondFactor(
    _ handle: [UInt8], _ application: RPIDHash, of vault: OpenVault
  ) throws(CTAPError) -> (Credential, CredentialPrivateKey)? {
    do {
      if let record = try vault.store.credential(id: handle, rpIDHash: application) {
        let credential = Credential(record: record)
        return credential.servesU2F ? (credential, try vault.keys.privateKey(of: record)) : nil
      }
      guard let parameters = vault.keys.open(sealedID: handle, rpIDHash: application),
        parameters.kind != .discoverable, try vault.store.state().isLive(parameters, account: nil)
      else { return nil }
      // Neither kind derives anything from the text of the rp.id, which U2F does not send.
      let credential = Credential(id: handle, rpID: "", parameters: parameters, provenance: .sealedID)
      guard credential.servesU2F else { return nil }
      return (credential, try vault.keys.privateKey(parameters, rpIDHash: application))
    } catch CryptoError.scalarOutOfRange {
      return nil
    } catch {
      throw CTAPError(.other, "\(error)")
    }
  }

  /// Refuses a site whose policy is `deny`, or `always-verify`, because U2F has no verification.
  ///
  /// - Parameter isCheckOnly: whether the host only asks if the key handle is known; with `deny`, the answer is that it is
  ///   unknown.
  private func refuseByPolicy(
    _ application: RPIDHash, _ vault: OpenVault, isCheckOnly: Bool = false
  ) throws(CTAPError) {
    switch try vault.policy(of: application) {
    case .allow: return
    case .deny: throw CTAPError(deniedByPolicy: isCheckOnly ? .invalidCredential : .notAllowed)
    case .alwaysVerify:
      throw CTAPError(.notAllowed, "the policy of the site is always-verify, and U2F has no verification")
    }
  }

  /// CTAP §7.2.4: alwaysUv turns U2F off, because it has no verification.
  private func refuseUnderAlwaysUV(_ vault: OpenVault) throws(CTAPError) {
    if try vault.settings().alwaysUV { throw CTAPError(.notAllowed, "alwaysUv is on, and U2F has no verification") }
  }
}

extension Credential {
  /// Whether it can sign for a U2F host.
  fileprivate var servesU2F: Bool { algorithm == .es256 && policy.allows(userVerified: false) }
}
