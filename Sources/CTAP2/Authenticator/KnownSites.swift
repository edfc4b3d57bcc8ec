import Recovery

extension OpenVault {
  /// The most sites with a passkey that a new site is compared with, the oldest first; bounds the time before the dialog.
  static let comparedSites = 1_000

  /// The known site that a new site resembles; `nil` if there is none, or if `rpID` has a passkey here.
  ///
  /// Sites with a passkey or a policy are known. Only a registration can be at a new site: a passkey signs only for the
  /// site at which it was made.
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
