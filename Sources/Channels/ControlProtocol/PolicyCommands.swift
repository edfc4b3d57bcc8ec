package import CBOR

/// Changes the policy of a site, or of all other sites, and gets all policies: {1: site?, 2: policy?}.
///
/// The command needs the vault's passphrase on the connection. Without members, it changes nothing.
package struct ChangePolicy: ControlCommand, Equatable {
  /// All policies after the change.
  package typealias Answer = PolicyList
  package static let code: UInt8 = 0x69

  /// The change; `nil` only gets the policies.
  package var change: Change?

  package enum Change: Equatable, Sendable {
    /// The policy of one site, with the numbers of Recovery §6; `nil` removes it. It is sent as {1: site, 2: policy?}.
    case site(String, UInt8?)
    /// The policy of all other sites: {2: policy}.
    case others(UInt8)
  }

  package init(_ change: Change? = nil) { self.change = change }

  package init(_ members: CBORMap) throws(ControlFailure) {
    let policy = try members.integer(2, as: UInt8.self)
    if let site = try decoded(members.optionalText(1)) {
      change = .site(site, policy)
    } else {
      change = policy.map(Change.others)
    }
  }

  package var members: CBORMap {
    switch change {
    case .site(let site, let policy): CBORMap(present: [1: .text(site), 2: policy.map { .number($0) }])
    case .others(let policy): [2: .number(policy)]
    case nil: CBORMap()
    }
  }
}

/// All policies: {1: policy of other sites, 2: [{1: site, 2: policy} …]}, with the numbers of Recovery §6.
package struct PolicyList: ControlAnswer, Equatable {
  /// The policy of sites that are not in the list.
  package var others: UInt8
  /// Sorted by the bytes of the site.
  package var sites: [Entry]

  package struct Entry: Equatable, Sendable {
    package var site: String
    package var policy: UInt8

    package init(site: String, policy: UInt8) { (self.site, self.policy) = (site, policy) }
  }

  package init(others: UInt8, sites: [Entry]) { (self.others, self.sites) = (others, sites) }

  package init(_ members: CBORMap) throws(ControlFailure) {
    others = try members.requiredInteger(1, as: UInt8.self)
    sites = []
    for element in try decoded(members.requiredArray(2)) {
      guard let map = element.map else { throw ControlFailure(.unexpectedType, "a policy is not a map") }
      sites.append(
        Entry(site: try decoded(map.requiredText(1)), policy: try map.requiredInteger(2, as: UInt8.self)))
    }
  }

  package var members: CBORMap {
    [
      1: .number(others),
      2: .array(sites.map { .map([1: .text($0.site), 2: .number($0.policy)]) }),
    ]
  }
}
