import Recovery

extension OpenVault {
  /// The most sites with a passkey that a new site is compared with, the oldest first; bounds the time before the dialog.
  static let comparedSites = 1_000

  /// The known site that a new site resembles; `nil` if there is none, or if `rpID` has a passkey that was made here.
  ///
  /// Sites with a passkey or a policy are known. Only a registration can be at a new site: a passkey signs only for the
  /// site at which it was made. The site of an imported passkey comes from a file, so such a passkey does not make its own
  /// domain a known one.
  func resemblance(of rpID: String) throws(CTAPError) -> SiteResemblance? {
    var known = try policies().sites.keys.sorted()
    for phrase in phrases.map({ self[$0] }) {
      guard let sites = try phrase.sitesUnlessKnown(rpID) else { return nil }
      known += sites
    }
    return SiteResemblance(of: rpID, to: known)
  }

  /// The sites with a passkey of this phrase, which a new site is compared with; `nil` if `rpID` has a derived one.
  private func sitesUnlessKnown(_ rpID: String) throws(CTAPError) -> [String]? {
    if try hasDerivedPasskey(rpID) { return nil }
    var sites: [String] = []
    var place: Int64?
    for _ in 0..<Self.comparedSites {
      guard let next = try stored(store.relyingParty(after: place)) else { break }
      sites.append(next.rpID)
      place = next.place
    }
    var onlyImported: Set<String> = []
    for site in SiteResemblance.sites(sites, ofTheDomainOf: rpID) {
      if try !hasDerivedPasskey(site) { onlyImported.insert(site) }
    }
    return sites.filter { !onlyImported.contains($0) }
  }

  /// Whether one of the newest passkeys of a site is derived from the phrase.
  private func hasDerivedPasskey(_ rpID: String) throws(CTAPError) -> Bool {
    let rpIDHash = RPIDHash(rpID: rpID)
    var place: Int64?
    for _ in 0..<Self.comparedSites {
      let next = try stored(store.credential(rpIDHash: rpIDHash, userVerified: true, before: place))
      guard let next else { return false }
      if next.source.isDerivable { return true }
      place = next.place
    }
    return false
  }

  /// The most accounts of a site that a dialog names.
  static let namedAccounts = 3

  /// The names of the first accounts that are stored at a site, in the order of a sign-in, and how many more there are.
  ///
  /// A token is asked for before the credentials of its sign-in are known, some of which need not be stored.
  func accounts(at rpID: String) throws(CTAPError) -> (named: [String], more: Int) {
    var found = try credentials(at: rpID, userVerified: true)
    let count = found.count
    var named: [String] = []
    for _ in 0..<Self.namedAccounts {
      guard let record = try found.popFirst(in: self)?.0.record else { break }
      if let name = [record.name, record.displayName].lazy.compactMap(\.self).first(where: { !$0.isEmpty }) {
        named.append(name)
      }
    }
    return (named, count - named.count)
  }

  /// Whether no passkey is stored on this machine, and no folder of backups is followed: then the dialog advises a backup.
  func isBeforeFirstPasskey() throws(CTAPError) -> Bool {
    guard try stored(store.credentialCount()) == 0 else { return false }
    return try stored(store.state()).backup.folder == nil
  }
}
