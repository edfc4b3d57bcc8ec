import ArgumentParser
import ControlProtocol
import Recovery

/// A policy on the command line.
enum PolicyChoice: String, ExpressibleByArgument, CaseIterable {
  case allow
  case alwaysVerify = "always-verify"
  case deny
  case `default`

  /// `nil` for `default`.
  var policy: SitePolicy? {
    switch self {
    case .allow: .allow
    case .alwaysVerify: .alwaysVerify
    case .deny: .deny
    case .default: nil
    }
  }
}

/// The result of `liquid-auth policy`, before it is text or JSON.
struct PolicyReport: Equatable {
  /// All policies, or those that apply to one site: its own, and that of the domain of an AppID `https://` ‖ domain.
  let sites: [PolicyList.Entry]
  /// The policy of sites without one.
  let others: UInt8
  /// The site, if only one is shown.
  let site: String?
  /// What is wrong and what to do.
  var problems: [String] = []

  /// - Parameter site: shows only the policies that apply to this one; `nil` shows all.
  init(_ list: PolicyList, of site: String?) {
    self.site = site
    sites = list.sites.filter { entry in
      site.map { $0.utf8.elementsEqual(entry.site.utf8) || $0.utf8.elementsEqual("https://\(entry.site)".utf8) } ?? true
    }
    others = list.others
  }

  /// Whether one of the policies asks for verification.
  var verifies: Bool { ([others] + sites.map(\.policy)).contains(SitePolicy.alwaysVerify.rawValue) }

  /// For people.
  var text: String {
    let named = sites.map { [$0.site.printable, Self.word($0.policy)] }
    let rest = site?.printable ?? (sites.isEmpty ? "every site" : "every other site")
    let policy = Self.word(others) + (site == nil ? "" : " (by default)")
    let unnamed = site == nil || named.isEmpty ? [[rest, policy]] : []
    let lines = table([["SITE", "POLICY"]] + named + unnamed)
    return problems.isEmpty ? lines : lines + "\n\nto do\n" + problems.map { "- \($0)" }.joined(separator: "\n")
  }

  /// For programs.
  var json: JSON {
    let shown: [JSON.Member] =
      site.map {
        [
          .init(name: "site", value: .string($0)),
          .init(name: "policy", value: .string(Self.word(sites.map(\.policy).max() ?? others))),
        ]
      } ?? []
    return .object(
      shown + [
        .init(name: "default", value: .string(Self.word(others))),
        .init(
          name: "sites",
          value: .array(sites.map { ["site": .string($0.site), "policy": .string(Self.word($0.policy))] })),
        .init(name: "problems", value: .array(problems.map(JSON.string))),
      ])
  }

  /// A number that this version does not know is shown as it is.
  static func word(_ number: UInt8) -> String {
    switch SitePolicy(rawValue: number) {
    case .allow: PolicyChoice.allow.rawValue
    case .alwaysVerify: PolicyChoice.alwaysVerify.rawValue
    case .deny: PolicyChoice.deny.rawValue
    case nil: String(number)
    }
  }
}
