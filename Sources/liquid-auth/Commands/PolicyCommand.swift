import ArgumentParser
import ControlProtocol
import ProcessIO
import Recovery

/// `liquid-auth policy`.
struct PolicyCommand: PlacedCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy",
    abstract: "Show and set at which sites this key may be used, and where it always verifies you.",
    discussion: """
      Without a policy, the command shows the policies. They are sealed in the store, and belong to this machine. Each \
      command asks for the vault's passphrase at the terminal, or reads it from the first line of standard input.

      allow          the site decides whether it verifies you
      always-verify  every registration and sign-in verifies you
      deny           every request is refused, and you are not asked
      default        the site has the policy of --default
      """)

  enum Choice: String, ExpressibleByArgument, CaseIterable {
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

  @Argument(
    help: "The site: its relying party id, such as github.com or ssh:, or its AppID for U2F.", completion: .list([]))
  var site: String?
  @Argument(help: "allow, always-verify, deny or default.") var policy: Choice?
  @Option(
    name: .customLong("default"),
    help: ArgumentHelp(
      "The policy of all sites that have none: allow, always-verify or deny. default means allow.",
      valueName: "policy"))
  var standard: Choice?
  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard site == nil || standard == nil else { throw ValidationError("give either a site or --default") }
    if let site { try check(site) }
  }

  /// Refuses a text that no site can send.
  private func check(_ site: String) throws(ValidationError) {
    if policy == nil, Choice(rawValue: site) != nil {
      throw ValidationError("SITE is missing; give it before \(site): liquid-auth policy SITE \(site)")
    }
    if policy == nil, ["list", "show"].contains(site) {
      throw ValidationError(
        "give a relying party id, such as github.com; to show all policies, run: liquid-auth policy")
    }
    // An AppID of U2F is a URL; its path can have upper-case letters.
    let host = site.hasPrefix("https://") ? site.dropFirst(8).prefix { $0 != "/" } : nil
    try Self.checkLetters(of: try RelyingPartyID.read(host.map(String.init) ?? site))
    // As below, an existing policy can still be shown and removed.
    if policy?.policy != nil, (host ?? site[...]).hasPrefix(".") || (host ?? site[...]).contains("*") {
      throw ValidationError(
        "a policy applies to exactly one id; set one for each site, without * or a leading dot")
    }
    // The policy of the domain applies to the site and to this AppID; that of the URL would not apply to the site. An
    // existing policy of the URL can still be shown and removed.
    if let host, policy?.policy != nil, site == "https://\(host)" {
      throw ValidationError(
        "only an AppID with a path is given as a URL; use the domain \(host), whose policy also applies to the AppID "
          + "https://\(host)")
    }
    guard site.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw ValidationError("an AppID is ASCII; encode other characters, as in %C3%BC")
    }
  }

  /// Refuses an id that no site sends, because of its letters: browsers send a domain in lower case.
  private static func checkLetters(of id: String) throws(ValidationError) {
    let isDomain = id.contains(".") && !id.contains(":")
    guard id.utf8.allSatisfy({ $0 < 0x80 }), !isDomain || id == id.lowercased() else {
      throw ValidationError(
        "the domain of a site is ASCII in lower case; encode other letters, as in xn--bcher-kva.example")
    }
  }

  /// What a new policy of an AppID does not apply to; `nil` for other policies.
  static func note(_ site: String?, _ policy: Choice?) -> String? {
    guard let site, policy?.policy != nil, site.hasPrefix("https://") else { return nil }
    let host = site.dropFirst(8).prefix { $0 != "/" }
    return
      "this policy applies only to the U2F AppID \(site); for the passkeys of the site, give its id, such as \(host)"
  }

  func run() throws {
    let connection = try place.connectAsOwner()
    let change: ChangePolicy.Change? =
      if let standard {
        .others((standard.policy ?? .allow).rawValue)
      } else if let site, let policy {
        .site(site, policy.policy?.rawValue)
      } else {
        nil
      }
    var report = PolicyReport(try connection.ask(ChangePolicy(change)), of: site)
    if report.verifies {
      let information = try connection.keyInformation()
      if !information.canVerify, !information.isPINSet {
        report.problems = [place.completing(OwnerSettings.nothingVerifies)]
      }
    }
    output.write(report.text, json: report.json)
    if let note = Self.note(site, policy) { StandardStream.error.write("liquid-auth: \(note)") }
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
    case .allow: PolicyCommand.Choice.allow.rawValue
    case .alwaysVerify: PolicyCommand.Choice.alwaysVerify.rawValue
    case .deny: PolicyCommand.Choice.deny.rawValue
    case nil: String(number)
    }
  }
}
