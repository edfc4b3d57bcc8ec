import Recovery

extension OpenVault {
  /// The most sites with a passkey that a new one is compared with, the oldest first: it bounds the wait for a dialog.
  static let comparedSites = 1_000

  /// The known site that the name of a new one resembles.
  ///
  /// Known are the sites with a passkey or a policy. Only a registration can be at a new site: no passkey signs for a
  /// site at which it was not made.
  func resemblance(of rpID: String) throws(CTAPError) -> SiteResemblance? {
    guard try stored(store.credentialCount(rpIDHash: RPIDHash(rpID: rpID), userVerified: true)) == 0 else { return nil }
    var known = Array(try policies().sites.keys.sorted())
    var place: Int64?
    for _ in 0..<Self.comparedSites {
      guard let next = try stored(store.relyingParty(after: place)) else { break }
      known.append(next.rpID)
      place = next.place
    }
    return SiteResemblance(of: rpID, to: known)
  }
}
