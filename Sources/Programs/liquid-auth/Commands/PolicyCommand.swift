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
      command asks for the vault's passphrase on the terminal, or reads it from the first line of standard input.

      allow          the site decides whether it verifies you
      always-verify  every registration and sign-in verifies you
      deny           every request is refused, and you are not asked
      default        the site has the policy of --default
      """)

  @Argument(
    help: "The site: its relying party id, such as github.com or ssh:.", completion: .list([]), transform: Self.site)
  var site: String?
  @Argument(help: "allow, always-verify, deny or default.") var policy: PolicyChoice?
  @Option(
    name: .customLong("default"),
    help: ArgumentHelp(
      "The policy of all sites that have none: allow, always-verify or deny. default means allow.",
      valueName: "policy"))
  var standard: PolicyChoice?
  @Option(
    help: ArgumentHelp("An AppID of U2F, in place of SITE.", valueName: "url"), transform: Self.appID)
  var appid: String?
  @OptionGroup var place: PlaceOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard [site != nil && appid == nil, appid != nil, standard != nil].count(where: { $0 }) <= 1 else {
      throw ValidationError("give one of SITE, --appid and --default")
    }
    // After --appid, the policy is the first argument.
    guard appid == nil || policy == nil && (site == nil || choice != nil) else {
      throw ValidationError("give either SITE or --appid")
    }
    if let appid { return try check(appid, domain: Self.host(of: appid)) }
    if let site { try check(site) }
  }

  /// The id or the AppID on the command line, and the policy.
  var target: String? { appid ?? site }
  private var choice: PolicyChoice? { appid == nil ? policy : site.flatMap(PolicyChoice.init(rawValue:)) }

  /// Whether the command gives the target a policy; a policy that exists can always be shown and removed.
  private var sets: Bool { choice?.policy != nil }

  private func check(_ site: String) throws(ValidationError) {
    if policy == nil, PolicyChoice(rawValue: site) != nil {
      throw ValidationError("SITE is missing; give it before \(site): liquid-auth policy SITE \(site)")
    }
    if policy == nil, ["list", "show"].contains(site) {
      throw ValidationError(
        "give a relying party id, such as github.com; to show all policies, run: liquid-auth policy")
    }
    try checkIsOne(site)
  }

  private func check(_ appID: String, domain: String) throws(ValidationError) {
    try checkIsOne(domain)
    // The policy of the domain applies to the site and to this AppID; that of the URL would not apply to the site.
    guard !sets || appID != Self.scheme + domain else {
      throw ValidationError(
        "an AppID without a path has the policy of its domain; run: liquid-auth policy \(domain) POLICY")
    }
  }

  private func checkIsOne(_ id: String) throws(ValidationError) {
    guard (target?.utf8.count ?? 0) <= SitePolicies.maximumSiteSize else {
      throw ValidationError("a site has at most \(SitePolicies.maximumSiteSize) characters")
    }
    guard !sets || !id.hasPrefix(".") && !id.contains("*") else {
      throw ValidationError(
        "a policy applies to exactly one id; set one for each site, without * or a leading dot")
    }
  }

  private static let scheme = "https://"

  /// The host of an AppID.
  private static func host(of appID: String) -> String { String(appID.dropFirst(scheme.count).prefix { $0 != "/" }) }

  /// Reads an id that a site can send.
  @Sendable private static func site(_ text: String) throws(ValidationError) -> String {
    do throws(ValidationError) {
      let id = try RelyingPartyID.readWithNote(text)
      // The store has no policy for the id of a program with other characters.
      try RelyingPartyID.checkASCII(id)
      return id
    } catch {
      guard let appID = try? appID(text), appID != scheme + host(of: appID) else { throw error }
      throw ValidationError("\(error.message), or for U2F: --appid \(text)")
    }
  }

  /// Reads an AppID: a URL, whose path can have upper-case letters.
  @Sendable private static func appID(_ text: String) throws(ValidationError) -> String {
    guard text.hasPrefix(scheme), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw ValidationError("an AppID begins with https:// and is ASCII; encode other characters, as in %C3%BC")
    }
    return scheme + (try RelyingPartyID.read(host(of: text))) + text.dropFirst(scheme.count + host(of: text).count)
  }

  /// What the new policy of an AppID does not apply to; `nil` for other commands.
  private var note: String? {
    guard let appid, sets else { return nil }
    return "this policy applies only to the U2F AppID \(appid); for the passkeys of the site, give its id, such as "
      + Self.host(of: appid)
  }

  func run() throws {
    let connection = try place.connectAsOwner()
    let change: ChangePolicy.Change? =
      if let standard {
        .others((standard.policy ?? .allow).rawValue)
      } else if let target, let choice {
        .site(target, choice.policy?.rawValue)
      } else {
        nil
      }
    var report = PolicyReport(try connection.ask(ChangePolicy(change)), of: target)
    if report.verifies {
      let information = try connection.keyInformation()
      if !information.canVerify, !information.isPINSet {
        report.problems = [OwnerSettings.nothingVerifies.text + place.arguments]
      }
    }
    output.write(report.text, json: report.json)
    if let note { StandardStream.error.write("liquid-auth: \(note)") }
  }
}
