import CBOR
import CryptoPrimitives
import Recovery

/// The data that one registration or sign-in signs; presence and verification come from the consent, which signing
/// consumes.
struct Ceremony: Sendable {
  let clientDataHash: [UInt8]
  let extensions: RequestedExtensions

  /// The attestation of a new credential: CTAP §6.1.2, step 19.
  func attestation(
    of credential: Credential, format: AttestationObject.Format, vault: OpenVault, consent: consuming UserConsent
  ) throws(CTAPError) -> MakeCredential.Response {
    let key = try vault.privateKey(of: credential)
    let attested = AttestedCredentialData(
      aaguid: .liquidAuth, credentialID: credential.id, publicKey: COSEKey(key.publicKey))
    let outputs = try extensions.outputs(
      ExtensionCeremony(present: vault, vault: vault, credential: credential), consent: consent)
    let data = authenticatorData(of: credential, attested: attested, signCount: 0, outputs, consent: consent)
    let attestation: AttestationObject
    switch format {
    case .none: attestation = .none(authenticatorData: data)
    case .packed:
      attestation = .packed(
        authenticatorData: data, algorithm: credential.algorithm,
        signature: try key.signature(over: data + clientDataHash, consent: consent))
    }
    return MakeCredential.Response(attestation: attestation, extensionMembers: outputs.members)
  }

  /// The assertion of a credential: CTAP §6.2.2, step 13.
  ///
  /// - Parameter phrase: the phrase of the credential.
  func assertion(
    of credential: Credential, _ phrase: OpenVault.Phrase, signCount: UInt32, vault present: OpenVault,
    consent: consuming UserConsent
  ) throws(CTAPError) -> GetAssertion.Response {
    let vault = present[phrase]
    let outputs = try extensions.outputs(
      ExtensionCeremony(present: present, vault: vault, credential: credential), consent: consent)
    let data = authenticatorData(of: credential, attested: nil, signCount: signCount, outputs, consent: consent)
    let user = credential.user(userVerified: consent.userVerified)
    let signature = try vault.privateKey(of: credential).signature(over: data + clientDataHash, consent: consent)
    return GetAssertion.Response(
      credential: PublicKeyCredentialDescriptor(id: credential.id), authenticatorData: data,
      signature: signature, user: user, extensionMembers: outputs.members)
  }

  private func authenticatorData(
    of credential: Credential, attested: AttestedCredentialData?, signCount: UInt32, _ outputs: ExtensionOutputs,
    consent: borrowing UserConsent
  ) -> [UInt8] {
    var flags = credential.backupFlags
    if consent.userPresent { flags.insert(.userPresent) }
    if consent.userVerified { flags.insert(.userVerified) }
    let data = AuthenticatorData(
      rpIDHash: credential.rpIDHash, flags: flags, signCount: signCount, attestedCredentialData: attested,
      extensions: outputs.authenticatorData)
    return data.bytes
  }
}

extension Credential {
  /// BE and BS: the phrase derives the credential again on every machine; a U2F registration has no such flags
  /// (Recovery §4).
  fileprivate var backupFlags: AuthenticatorData.Flags {
    kind == .u2f || provenance == .slip22 ? [] : [.backupEligible, .backupState]
  }

  /// The user entity of the answer: none for a non-discoverable credential, and names only after verification
  /// (CTAP §6.2.2, step 13).
  fileprivate func user(userVerified: Bool) -> PublicKeyCredentialUserEntity? {
    guard let userHandle else { return nil }
    return PublicKeyCredentialUserEntity(
      id: userHandle, name: userVerified ? record?.name : nil, displayName: userVerified ? record?.displayName : nil)
  }
}

// MARK: - Errors of the store and of keys, mapped once

extension OpenVault {
  /// Stores the record of a credential that was used with consent and has none here: Recovery §7.
  func remember(
    _ credential: Credential, user: PublicKeyCredentialUserEntity? = nil, algorandAddress: String? = nil, now: UInt64,
    consent: borrowing UserConsent
  ) throws(CTAPError) {
    do throws(RecoveryError) {
      try rememberUse(
        of: credential, user: user, algorandAddress: algorandAddress, userPresent: consent.userPresent,
        userVerified: consent.userVerified, now: now)
    } catch {
      throw CTAPError(error)
    }
  }

  func privateKey(of credential: Credential) throws(CTAPError) -> CredentialPrivateKey {
    do throws(CryptoError) { return try keys.privateKey(of: credential) } catch { throw CTAPError(error) }
  }
}

extension CredentialPrivateKey {
  /// Signs the message and consumes the consent.
  func signature(over message: [UInt8], consent: consuming UserConsent) throws(CTAPError) -> [UInt8] {
    do throws(CryptoError) { return try sign(message, consent: consent) } catch { throw CTAPError(error) }
  }
}
