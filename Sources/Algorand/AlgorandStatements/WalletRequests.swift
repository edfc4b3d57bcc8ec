public import CTAP2
import CryptoPrimitives
public import DeterministicKeys
public import Recovery

/// Requests of wallets to the vault over the control socket, besides the ceremonies.
///
/// A prompt unlocks a locked vault, as in a ceremony. Requests that sign show a prompt, and verify the user if
/// verification is set up.
extension Authenticator {
  /// The name, in a report, of an unlocking whose prompt failed.
  private static let unlocking = "unlock for a wallet"

  /// The addresses of m/44'/283'/account'/0/index; the first of account 0 is the one in use.
  ///
  /// - Parameter reason: the reason for unlocking a locked vault.
  /// - Throws: `other` if the account or an index is 2^31 or more, or if the vault holds no root.
  public func accountAddresses(
    _ indices: Range<UInt32>, of account: UInt32, for reason: UnlockReason
  ) async throws(CTAPError) -> [AlgorandAddress] {
    let vault = try await vault(for: reason, reporting: Self.unlocking)
    var addresses: [AlgorandAddress] = []
    for index in indices { addresses.append(try vault.account(account, index: index).address) }
    return addresses
  }

  /// The passkey of the account in use at a site.
  ///
  /// Its id is that of the live record, or else the hash id of counter 0, which phone wallets also make from this
  /// phrase (Recovery §3, §8).
  ///
  /// The id of a passkey with credProtect 2 or 3 (CTAP §12.1) is returned only to a verified user, as in getAssertion.
  ///
  /// - Parameter host: the host that the wallet asks for, if it differs from the rp.id; the prompt shows it.
  /// - Returns: the credential id, and whether this machine has the record.
  /// - Throws: `invalidOption` for a protected passkey if verification is not set up.
  public func accountPasskey(
    rpID: String, host: String? = nil
  ) async throws(CTAPError) -> (id: [UInt8], isStored: Bool) {
    let host = host == rpID ? nil : host
    let vault = try await vault(for: .wallet(.showAccount(rpID: rpID, host: host)), reporting: Self.unlocking)
    try await refuseDenied(rpID: rpID, host: host, by: vault)
    let userID = Array(try vault.account().address.text.utf8)
    let entry: AccountEntry?
    do { entry = try vault.store.account(rpIDHash: RPIDHash(rpID: rpID), userID: userID) } catch {
      throw CTAPError(error)
    }
    if let record = entry?.record {
      if record.policy.credProtect > .userVerificationOptional {
        try await agreeToShowPasskey(of: rpID, for: host, with: vault)
      }
      return (record.id, true)
    }
    guard
      let parameters = CredentialParameters.discoverable(
        userID: userID, counter: 0, algorithm: .es256, policy: CredentialPolicy())
    else { throw CTAPError(.other, "an address is not a valid user.id") }
    do { return (try vault.keys.privateKey(parameters, rpID: rpID).publicKey.hashID, false) } catch {
      throw CTAPError(error)
    }
  }

  /// Refuses to show a passkey if the policy of its site, or of the host that the wallet names, is `deny`.
  private func refuseDenied(rpID: String, host: String?, by vault: OpenVault) async throws(CTAPError) {
    guard try vault.policy(rpID: rpID, origin: host ?? rpID) == .deny else { return }
    try await reported("show a passkey", .showPasskey, of: rpID) {
      () async throws(CTAPError) -> (Void, HistoryEntry.Verification) in
      throw CTAPError.deniedByPolicy
    }
  }

  private func agreeToShowPasskey(
    of rpID: String, for host: String?, with vault: OpenVault
  ) async throws(CTAPError) {
    try await reported("show a protected passkey", .showPasskey, of: rpID) {
      () async throws(CTAPError) -> (Void, HistoryEntry.Verification) in
      guard canVerify else {
        throw CTAPError(
          .invalidOption,
          "the site protects its passkey, and verification is off; start the authenticator with --verification "
            + "passphrase")
      }
      var prompt = UserPrompt(purpose: .wallet(.showPasskey), rpID: rpID)
      prompt.host = host
      let consent = try await agreement(to: prompt, with: vault)
      return ((), consent.verification)
    }
  }

  /// Signs with the account in use, after one consent to all statements.
  ///
  /// - Parameters:
  ///   - prompt: shows everything that the statements do, and names the account.
  ///   - phrase: the phrase of the account.
  /// - Returns: a signature of 64 bytes for each statement.
  /// - Throws: `notAllowed` if the account in use is not the one in the prompt; the vault may have been replaced since.
  public func sign(
    _ statements: [AlgorandStatement], asking prompt: UserPrompt, with phrase: OpenVault.Phrase = .present
  ) async throws(CTAPError) -> [[UInt8]] {
    let isMessage = if case .message? = statements.first { true } else { false }
    let kind = isMessage ? HistoryEntry.Kind.signMessage : .signTransactions
    let request = "sign \(statements.count) for a wallet"
    return try await reported(request, kind, of: prompt.origin) {
      () async throws(CTAPError) -> ([[UInt8]], HistoryEntry.Verification) in
      let vault = try await vault(for: .prompt(prompt))
      if let origin = prompt.origin { try refuseDenied(origin: origin, by: vault) }
      let account = try vault[phrase].account()
      guard prompt.algorandAddress == account.address.text else {
        throw CTAPError(.notAllowed, "the vault was replaced, and the account changed; try again")
      }
      let consent = try await agreement(to: prompt, with: vault)
      var signatures: [[UInt8]] = []
      for statement in statements {
        do throws(CryptoError) {
          signatures.append(try account.signature(for: statement.signingInput, consent: consent))
        } catch {
          throw CTAPError(.other, "the Algorand account cannot sign: \(error)")
        }
      }
      return (signatures, consent.verification)
    }
  }

  /// Keeps the pairing with a dApp in the store, if the user wants to remember the dApp; the prompt says which one it
  /// replaces, if any.
  ///
  /// - Throws: `invalidParameter` for a pairing that is not within the limits, or whose relying party is not that of its
  ///   origin; `noCredentials` without a passkey of the site, whose removal would forget it. Nobody is asked.
  public func keep(_ pairing: Pairing) async throws(CTAPError) {
    do throws(RecoveryError) { try Pairings.check(pairing) } catch { throw CTAPError(error) }
    guard pairing.isOfRelyingParty else {
      throw CTAPError(.invalidParameter, "the relying party of the pairing is not that of its origin")
    }
    var prompt = UserPrompt(
      purpose: .wallet(.rememberDApp(replaces: false)), rpID: pairing.rpID, origin: pairing.origin)
    let vault = try await vault(for: .prompt(prompt), reporting: Self.unlocking)
    let count: Int
    do throws(RecoveryError) {
      count = try vault.store.credentialCount(rpIDHash: RPIDHash(rpID: pairing.rpID), userVerified: true)
      let kept = try vault.store.state().pairings
      let replaces = kept.pairing(with: pairing.origin) != nil
      prompt.purpose = .wallet(
        .rememberDApp(replaces: replaces, oldest: replaces ? nil : kept.oldestIfFull?.origin))
    } catch {
      throw CTAPError(error)
    }
    guard count > 0 else {
      throw CTAPError(
        .noCredentials,
        "this machine has no passkey of the site, which a remembered dApp needs; to register one, connect with "
          + "--register")
    }
    let verification: HistoryEntry.Verification
    do throws(CTAPError) {
      try refuseDenied(origin: pairing.origin, by: vault)
      let consent = try await agreement(to: prompt, with: vault)
      verification = consent.verification
    } catch {
      // A refusal has its entry too.
      return try await reported("remember a dApp", .rememberDApp, of: pairing.origin) {
        () async throws(CTAPError) -> (Void, HistoryEntry.Verification) in
        throw error
      }
    }
    do {
      try reportingChange(.rememberDApp, of: pairing.origin, verification: verification, in: vault) {
        var state = try vault.store.state()
        try state.pairings.keep(pairing)
        try vault.store.setState(state)
      }
    } catch let error as RecoveryError {
      throw CTAPError(error)
    } catch {
      throw CTAPError(.other, "cannot keep the pairing: \(error)")
    }
  }

  /// The pairing with a dApp, after the user agreed: whoever has it is connected as if the account had signed in.
  ///
  /// - Parameter site: an origin, the host of one, or an rp.id.
  /// - Throws: `noCredentials` if no pairing with the site is kept.
  public func pairing(with site: String) async throws(CTAPError) -> Pairing {
    let vault = try await vault(for: .wallet(.useDApp(site: site)), reporting: Self.unlocking)
    let found: Pairing?
    do throws(RecoveryError) { found = try vault.store.state().pairings.pairing(with: site) } catch {
      throw CTAPError(error)
    }
    guard let found else {
      throw CTAPError(.noCredentials, "no dApp is remembered at this site; connect with its link and --remember")
    }
    return try await reported("use a pairing", .useDApp, of: found.origin) {
      () async throws(CTAPError) -> (Pairing, HistoryEntry.Verification) in
      try refuseDenied(origin: found.origin, by: vault)
      let prompt = UserPrompt(purpose: .wallet(.useDApp), rpID: found.rpID, origin: found.origin)
      let consent = try await agreement(to: prompt, with: vault)
      return (found, consent.verification)
    }
  }

  /// The addresses of the account in use, of the previous phrase and of the present one (Recovery §14).
  ///
  /// - Parameter reason: the reason for unlocking a locked vault.
  /// - Throws: `notAllowed` if no move to a new phrase has begun.
  public func rekeyedAddresses(
    for reason: UnlockReason
  ) async throws(CTAPError) -> (previous: AlgorandAddress, present: AlgorandAddress) {
    let vault = try await vault(for: reason, reporting: Self.unlocking)
    guard let previous = vault.previous else {
      throw CTAPError(
        .notAllowed, "no move to a new phrase has begun; begin one with:", run: ["liquid-auth", "rotate", "begin"])
    }
    return (try previous.account().address, try vault.account().address)
  }

  /// The public half of a user's association key, Recovery §3.
  public func associationPublicKey(publicUserID: String) async throws(CTAPError) -> [UInt8] {
    let vault = try await vault(
      for: .wallet(.showAssociationKey(publicUserID: publicUserID)), reporting: Self.unlocking)
    return try vault.association(publicUserID).publicKey.raw
  }

  /// Signs data that the prompt shows with a user's association key.
  ///
  /// - Parameter data: printable ASCII; the prompt shows all of it.
  /// - Returns: ECDSA over SHA-256(data), in DER.
  public func signAssociation(
    publicUserID: String, data: [UInt8], service: String
  ) async throws(CTAPError) -> [UInt8] {
    let purpose = WalletPurpose.signAssociation(
      publicUserID: publicUserID, data: String(decoding: data, as: UTF8.self), service: service)
    let prompt = UserPrompt(purpose: .wallet(purpose))
    return try await reported("sign for Keyri", .signAssociation, of: service) {
      () async throws(CTAPError) -> ([UInt8], HistoryEntry.Verification) in
      let vault = try await vault(for: .prompt(prompt))
      try refuseDenied(origin: service, by: vault)
      let key = try vault.association(publicUserID)
      let consent = try await agreement(to: prompt, with: vault)
      do throws(CryptoError) {
        return (try key.signature(for: data, consent: consent), consent.verification)
      } catch {
        throw CTAPError(error)
      }
    }
  }
}

extension OpenVault {
  fileprivate func account(_ account: UInt32 = 0, index: UInt32 = 0) throws(CTAPError) -> AlgorandAccount {
    do { return try algorandAccount(account, index: index) } catch {
      throw CTAPError(.other, "the vault has no such Algorand account: \(error)")
    }
  }

  fileprivate func association(_ publicUserID: String) throws(CTAPError) -> AssociationKey {
    do { return try associationKey(publicUserID: publicUserID) } catch { throw CTAPError(error) }
  }
}
