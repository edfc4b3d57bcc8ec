import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import ProcessIO

/// `liquid-auth config`.
struct ConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Show and change the settings of the key.",
    discussion: """
      Each change asks for the vault's passphrase on the terminal, or reads it from the first line of standard input. \
      The settings belong to this machine. A reset restores the defaults.
      """,
    subcommands: [
      Show.self, Verification.self, AlwaysUV.self, MinimumPINLength.self, ForcePINChange.self, ForgetReaders.self,
      Trezor.self,
    ])

  struct Show: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "Show the settings. Only --sites needs the passphrase.")
    @Flag(help: "Also show the sites that can read the minimum PIN length. This needs the passphrase.") var sites =
      false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connect()
      if sites {
        try connection.unlock()
        return place.write(SettingsReport(try connection.ask(GetSettings()), try connection.keyInformation()), output)
      }
      let status = try connection.ask(GetStatus())
      place.write(SettingsReport(try connection.keyInformation(), status.verification), output)
    }
  }

  struct Verification: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Choose how the key verifies you, in the order in which it asks.",
      discussion: """
        With fingerprint, you touch the fingerprint reader. fprintd stores the fingerprints: enroll a finger with \
        fprintd-enroll. With pam, you answer the questions of PAM, usually with your account's password. With \
        passphrase, you type the vault's passphrase.

        After three wrong tries, or if one of them does not work, the prompt goes on to the next. The passphrase always comes \
        last, even if you leave it out: a reader can be missing and PAM can change, but every open vault has a passphrase. \
        Neither a fingerprint nor PAM unlocks a locked vault.
        """)
    enum Means: String, ExpressibleByArgument, CaseIterable { case fingerprint, pam, passphrase }
    @Argument(help: ArgumentHelp("fingerprint, pam and passphrase, each at most once.", valueName: "way"))
    var means: [Means]
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard Set(means).count == means.count else { throw ValidationError("give each way to verify only once") }
      guard !means.dropLast().contains(.passphrase) else {
        throw ValidationError("passphrase comes last: it always works, so nothing after it would be asked for")
      }
    }

    func run() throws {
      try place.change(ChangeSettings(means: means.filter { $0 != .passphrase }.map(\.rawValue)), output)
    }
  }

  struct AlwaysUV: PlacedCommand {
    static let configuration = CommandConfiguration(
      commandName: "always-uv",
      abstract: "Require user verification for every registration and sign-in.",
      discussion: """
        If it is off, the site decides whether a click is enough. If it is on, U2F is off, because it has no verification.
        """)
    enum Switch: String, ExpressibleByArgument, CaseIterable { case on, off }
    @Argument(help: "on or off.") var value: Switch
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws { try place.change(ChangeSettings(alwaysUV: value == .on), output) }
  }

  struct MinimumPINLength: PlacedCommand {
    static let configuration = CommandConfiguration(
      commandName: "min-pin-length",
      abstract: "Set the minimum length of a PIN.",
      discussion: """
        It can only be raised; a reset restores 4. A shorter PIN must be changed before it can be used.
        """)
    @Argument(help: "4 to 63.", transform: wholeNumber(4...UInt64(63))) var length: UInt64
    @Option(
      help: ArgumentHelp(
        "A site that can read it (extension minPinLength), by its relying party id. Repeat --rp for several sites; "
          + "they replace the previous ones.", valueName: "id"), transform: RelyingPartyID.readWithNote)
    var rp: [String] = []
    @Flag(help: "Let no site read it.") var noRp = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
      guard rp.isEmpty || !noRp else { throw ValidationError("give either --rp or --no-rp") }
    }

    func run() throws {
      let connection = try place.connect()
      if let present = try connection.certainInformation()?.minimumPINLength, length < present {
        throw CommandFailure("the minimum is \(present) and can only be raised, up to 63; a reset restores 4")
      }
      try place.change(
        ChangeSettings(minimumPINLength: length, minimumPINLengthRPIDs: rp.isEmpty && !noRp ? nil : rp),
        by: connection, output)
    }
  }

  struct ForcePINChange: PlacedCommand {
    static let configuration = CommandConfiguration(
      commandName: "force-pin-change",
      abstract: "Require a new PIN before the next use, for example if another person chose the present one.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connect()
      try connection.checkPIN()
      try place.change(ChangeSettings(forcePINChange: true), by: connection, output)
    }
  }

  struct ForgetReaders: PlacedCommand {
    static let configuration = CommandConfiguration(
      commandName: "forget-readers",
      abstract: "Revoke the permission to list your passkeys without asking you.",
      discussion: """
        A program with this permission (pcmr) can list your passkeys without asking you, also after a restart. \
        `liquid-auth status` shows whether a program has it. This command revokes it for all programs, as a new PIN does.
        """)
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connectAsOwner()
      try connection.ask(ControlProtocol.ForgetReaders())
      output.write("revoked: programs must ask you before they list your passkeys", json: ["readers": .bool(false)])
    }
  }
}

extension ConfigCommand {
  struct Trezor: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sign in with the passkeys of a Trezor that has the same phrase.",
      discussion: """
        A Trezor makes passkeys whose ids hold their data, sealed with a key of its phrase (SLIP-0022). With on, Liquid \
        Auth also signs for such a passkey when the site sends its id. You type the phrase, because the vault does not \
        have it; the store then keeps two keys that serve these passkeys alone. The passkeys stay on the Trezor, and are \
        not listed here. A site that compares signature counters can refuse the sign-in. off and a reset remove the two \
        keys.

        For scripts: if standard input is not a terminal, its first line is the passphrase, and the rest is the phrase.
        """)
    @Argument(help: "on or off.") var value: AlwaysUV.Switch
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connectAsOwner()
      switch value {
      case .off: try connection.ask(ForgetTrezorKeys())
      case .on:
        let phrase = try PhraseInput.valid()
        let (mainKey, _) = try InitCommand.keys(of: phrase)
        let keys: SLIP22Keys
        do throws(CryptoError) { keys = try SLIP22Keys(phrase: phrase) } catch {
          throw CommandFailure(error.description)
        }
        try connection.ask(KeepTrezorKeys(mainKey: mainKey, keys: keys.bytes))
      }
      output.write(
        value == .on
          ? "passkeys of a Trezor with this phrase can sign in" : "passkeys of a Trezor can no longer sign in",
        json: ["trezor": .bool(value == .on)])
    }
  }
}

extension PlaceOptions {
  /// Changes settings, and says what is changed.
  fileprivate func change(_ change: ChangeSettings, _ output: OutputOptions) throws(CommandFailure) {
    try self.change(change, by: connect(), output)
  }

  fileprivate func change(
    _ change: ChangeSettings, by connection: ControlConnection, _ output: OutputOptions
  ) throws(CommandFailure) {
    try connection.unlock()
    write(SettingsReport(try connection.ask(change), try connection.keyInformation()), of: change, output)
  }

  /// - Parameter change: the settings that the text has; without a change, all.
  fileprivate func write(_ report: SettingsReport, of change: ChangeSettings? = nil, _ output: OutputOptions) {
    var report = report
    report.problems = report.problems.map { $0 + arguments }
    output.write(change.map { report.text(of: $0) } ?? report.text, json: report.json)
  }
}

/// The result of `liquid-auth config`, before it is text or JSON.
struct SettingsReport: Equatable {
  /// What verifies without a PIN, in order.
  let means: [String]
  let alwaysUV: Bool
  let minimumPINLength: Int
  let forcePINChange: Bool
  /// The sites that may read the minimum PIN length; `nil` without the vault's passphrase.
  let sites: [String]?
  /// What is wrong and what to do; each ends with a command.
  var problems: [String]

  /// The settings that any program can read.
  ///
  /// - Parameter verification: as the status has it.
  init(_ information: KeyInformation, _ verification: [String]) {
    (alwaysUV, minimumPINLength) = (information.alwaysUV, information.minimumPINLength)
    (forcePINChange, sites) = (information.forcePINChange, nil)
    means = information.canVerify ? verification : []
    problems = Self.problems(
      alwaysUV, isPINSet: information.isPINSet, canVerify: information.canVerify, mustBeChanged: forcePINChange)
  }

  /// The settings that the owner can read.
  init(_ settings: OwnerSettings, _ information: KeyInformation) {
    (alwaysUV, minimumPINLength) = (settings.alwaysUV, Int(settings.minimumPINLength))
    (forcePINChange, sites) = (settings.forcePINChange, settings.minimumPINLengthRPIDs)
    means = information.canVerify ? settings.means + ["passphrase"] : []
    problems = Self.problems(
      alwaysUV, isPINSet: settings.isPINSet, canVerify: information.canVerify, mustBeChanged: forcePINChange)
  }

  private static func problems(_ alwaysUV: Bool, isPINSet: Bool, canVerify: Bool, mustBeChanged: Bool) -> [String] {
    guard isPINSet else { return alwaysUV && !canVerify ? [OwnerSettings.nothingVerifies.text] : [] }
    return mustBeChanged ? [OwnerSettings.pinMustBeChanged.text] : []
  }

  /// For people: what a change did.
  func text(of change: ChangeSettings) -> String {
    var lines: [String] = []
    if change.means != nil {
      lines.append(means.isEmpty ? "only a PIN verifies you" : "verification, in this order: \(meansText)")
    }
    if let isOn = change.alwaysUV {
      lines.append(
        isOn
          ? "each registration and sign-in now needs verification"
          : "each site now decides whether it needs verification")
    }
    if change.minimumPINLength != nil { lines.append("a new PIN now needs at least \(minimumPINLength) characters") }
    if change.minimumPINLengthRPIDs != nil, let sites {
      lines.append("sites that can read this length: \(Self.list(sites))")
    }
    if change.forcePINChange { lines.append("the PIN must be changed before it can be used") }
    return withProblems(lines.joined(separator: "\n"))
  }

  private var meansText: String { means.isEmpty ? "only a PIN" : means.joined(separator: ", ") }

  private static func list(_ sites: [String]) -> String {
    sites.isEmpty ? "none" : sites.map(\.printable).joined(separator: ", ")
  }

  private func withProblems(_ lines: String) -> String {
    problems.isEmpty ? lines : lines + "\n\nto do\n" + problems.map { "- \($0)" }.joined(separator: "\n")
  }

  /// For people: all settings.
  var text: String {
    var rows = [
      ["verification", meansText],
      ["always verify", alwaysUV ? "on" : "off"],
      ["minimum PIN length", "\(minimumPINLength) characters"],
    ]
    if let sites {
      rows.append(["sites that can read it", Self.list(sites)])
    }
    rows += [
      ["change of PIN", forcePINChange ? "required before the PIN can be used" : "not required"],
      ["enterprise attestation", "not supported"],
    ]
    return withProblems(table(rows))
  }

  /// For programs; members that were not read are `null`.
  var json: JSON {
    [
      "verification": .array(means.map(JSON.string)),
      "alwaysUv": .bool(alwaysUV),
      "minimumPinLength": .number(Int64(minimumPINLength)),
      "minimumPinLengthSites": sites.map { .array($0.map(JSON.string)) } ?? .null,
      "forcePinChange": .bool(forcePINChange),
      "enterpriseAttestation": .bool(false),
      "problems": .array(problems.map(JSON.string)),
    ]
  }
}
