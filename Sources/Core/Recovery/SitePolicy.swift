import CBOR

/// What the owner has decided about the use of this key at a site.
public enum SitePolicy: UInt8, Sendable, CaseIterable {
  /// The site decides whether the user is verified.
  case allow = 0
  /// A registration or sign-in with presence also verifies the user.
  case alwaysVerify = 1
  /// Every request is refused without a prompt.
  case deny = 2
}

/// The policies of the owner, a part of the store's state row (Recovery §6).
///
/// They are local to this machine. Only the owner changes them, with the vault's passphrase, so a reset keeps them.
public struct SitePolicies: Sendable, Equatable {
  /// The most sites that have a policy.
  public static let maximumCount = 500
  /// The longest site, in bytes: the length of the longest domain name.
  public static let maximumSiteSize = 253

  /// The policy of all other sites.
  public var standard = SitePolicy.allow
  /// The policies by site: an rp.id, or the AppID of U2F.
  public private(set) var sites: [String: SitePolicy] = [:]

  /// The policies of a new store: none.
  public init() {}

  /// Sets the policy of a site; `nil` removes it.
  ///
  /// - Throws: `policy` for a site that is not 1 to 253 visible ASCII characters, or if 500 others have a policy.
  public mutating func set(_ policy: SitePolicy?, of site: String) throws(RecoveryError) {
    guard Self.isSite(site) else {
      throw RecoveryError(.policy, "a site has 1 to \(Self.maximumSiteSize) characters, all of them visible ASCII")
    }
    guard policy == nil || sites[site] != nil || sites.count < Self.maximumCount else {
      throw RecoveryError(
        .policy, "at most \(Self.maximumCount) sites can have a policy",
        hint: "remove one with: liquid-auth policy SITE default")
    }
    sites[site] = policy
  }

  private static func isSite(_ site: String) -> Bool {
    1...maximumSiteSize ~= site.utf8.count && site.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  // MARK: - Looking up

  // The policy of a site also applies to the AppID `https://` ‖ site. If several match, the strictest applies.

  /// The policy of a relying party, or of an AppID that a client sends as an rp.id.
  public func policy(of rpID: String) -> SitePolicy {
    let site = rpID.utf8.starts(with: Self.scheme.utf8) ? String(rpID.utf8.dropFirst(Self.scheme.utf8.count)) : nil
    return strictest([entry(rpID), site.flatMap(entry)])
  }

  /// The policy of the relying party or AppID of which U2F has only the hash.
  public func policy(of application: RPIDHash) -> SitePolicy {
    strictest(
      sites.map { site, policy in
        RPIDHash(rpID: site) == application || RPIDHash(rpID: Self.scheme + site) == application ? policy : nil
      })
  }

  /// What precedes the host in an AppID.
  private static let scheme = "https://"

  /// The strictest of the policies that were found; `standard` if there is none.
  private func strictest(_ found: [SitePolicy?]) -> SitePolicy {
    found.compactMap(\.self).max { $0.rawValue < $1.rawValue } ?? standard
  }

  /// The policy of the origin that a wallet names: that of its host, or else of the nearest domain above it.
  ///
  /// The host is compared in lower case, without a user name and without a dot at its end (RFC 3986 §3.2), because
  /// programs other than `liquid-auth-wallet` can send an origin in any of these forms.
  ///
  /// - Parameter origin: `https://host:port`, or a host.
  public func policy(ofOrigin origin: String) -> SitePolicy {
    if let policy = entry(origin) { return policy }
    let afterScheme = origin.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
    let authority = (afterScheme.isEmpty ? origin.utf8[...] : afterScheme).prefix { !"/?#\\".utf8.contains($0) }
    let host = authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false).last ?? authority
    let name = host.prefix { $0 != UInt8(ascii: ":") }.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
    var domain = name.last == UInt8(ascii: ".") ? name.dropLast() : name[...]
    while !domain.isEmpty {
      if let policy = entry(String(decoding: domain, as: UTF8.self)) { return policy }
      domain = domain.drop { $0 != UInt8(ascii: ".") }.dropFirst()
    }
    return standard
  }

  /// The policy of a request: the strictest of those of all names that it has.
  ///
  /// - Parameters:
  ///   - rpID: the relying party, or an AppID that a client sends as an rp.id.
  ///   - origin: the origin or the host that the client names.
  public func policy(rpID: String?, origin: String?) -> SitePolicy {
    strictest([rpID.map(policy(of:)), origin.map(policy(ofOrigin:))])
  }

  /// Canonically equal texts are the same key of a dictionary, so a text that is not ASCII must not be looked up.
  private func entry(_ site: String) -> SitePolicy? {
    site.utf8.allSatisfy { $0 < 0x80 } ? sites[site] : nil
  }
}

// MARK: - CBOR

extension SitePolicies {
  private enum Key {
    static let sites: CBORValue = 13
    static let standard: CBORValue = 14
  }

  /// The members of the state row that hold policies.
  static let keys: ClosedRange<UInt64> = 13...14

  /// Adds the members that differ from those of a new store.
  func add(to map: inout CBORMap) {
    if !sites.isEmpty {
      var members = CBORMap()
      for (site, policy) in sites { members[.text(site)] = .unsigned(UInt64(policy.rawValue)) }
      map[Key.sites] = .map(members)
    }
    if standard != .allow { map[Key.standard] = .unsigned(UInt64(standard.rawValue)) }
  }

  /// Reads the members of the state row.
  init(_ map: CBORMap) throws(CBORError) {
    if let number: UInt8 = try map.optionalInteger(Key.standard) { standard = try Self.policy(number) }
    guard let value = map[Key.sites] else { return }
    for pair in try value.mapOfOurs().pairs {
      guard let site = pair.key.text, let number = pair.value.unsigned.flatMap({ UInt8(exactly: $0) }) else {
        throw .unexpectedType("a site's policy")
      }
      let policy = try Self.policy(number)
      do throws(RecoveryError) { try set(policy, of: site) } catch { throw .invalid(error.reason) }
    }
  }

  private static func policy(_ number: UInt8) throws(CBORError) -> SitePolicy {
    guard let policy = SitePolicy(rawValue: number) else { throw .invalid("a policy that does not exist") }
    return policy
  }
}
