package import Recovery

extension Authenticator {
  /// Asks the user to agree to the export of passkeys, with verification if that is set up; reports the request.
  ///
  /// The policies of sites do not apply, because this is not a request of a site. During a move to a new phrase, only
  /// passkeys of the present store are exported (Recovery §14).
  /// - Parameters:
  ///   - sites: the relying parties whose passkeys are exported; `nil` for all.
  ///   - vault: the open vault.
  /// - Throws: `noCredentials` if there is no passkey, or none of one of the sites; then nobody was asked.
  package func agreement(
    toExportOf sites: [String]?, from vault: OpenVault
  ) async throws(CTAPError) -> PasskeyExport {
    let wanted = sites.map { Set($0.map { Array($0.utf8) }) }
    let all = try stored(
      vault.store.credentials { passkey in (site: Array(passkey.rpID.utf8), tag: vault.keys.accountTag(of: passkey)) })
    let found = all.filter { wanted?.contains($0.site) ?? true }
    let present = Set(found.map(\.site))
    if let missing = sites?.first(where: { !present.contains(Array($0.utf8)) }) {
      throw CTAPError(
        .noCredentials, "no passkey of \(missing) is stored here; to see all, run:",
        run: ["liquid-auth", "credentials", "list"])
    }
    guard !found.isEmpty else { throw CTAPError(.noCredentials, "no passkey is stored here") }
    var prompt = UserPrompt(purpose: .export(passkeys: found.count, sites: sites))
    prompt.leavesOutPreviousPhrase = vault.previous != nil
    let site = sites?.count == 1 ? sites?.first : nil
    return try await reported("export passkeys", .exportPasskeys, of: site) {
      () async throws(CTAPError) -> (PasskeyExport, HistoryEntry.Verification) in
      let consent = try await agreement(to: prompt, with: vault)
      let verification = consent.verification
      return (PasskeyExport(of: found.map(\.tag), consent: consent), verification)
    }
  }
}
