import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import Recovery

/// `liquid-auth pin`.
struct PINCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin",
    abstract: "Set, change or remove the PIN of this key.",
    discussion: """
      Some programs, such as ssh-keygen, verify you by PIN only. The PIN belongs to this machine, does not come from the \
      phrase, and encrypts nothing. These commands ask for the vault's passphrase on the terminal, or read it from the \
      first line of standard input. They do not need the old PIN, so use them too if you forgot it or it is blocked. \
      Type the new PIN twice, or give it as the second line of standard input.

      A PIN has at least 4 characters (more after `liquid-auth config min-pin-length`) and at most 63 bytes of UTF-8. \
      After three wrong PINs in a row, run `liquid-auth device replug --power-cycle` before the next try; after \
      eight, the PIN is blocked until you change it here.
      """,
    subcommands: [Status.self, Set.self, Change.self, Remove.self])

  struct Status: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show whether a PIN is set, and how many tries are left.",
      discussion: "Needs no passphrase.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connect()
      let information = try connection.keyInformation()
      var report = PINReport(information: information, tries: try connection.triesLeft(information))
      report.problems = report.problems.map { $0 + place.arguments }
      output.write(report.text, json: report.json)
    }
  }

  struct Set: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "Set the first PIN.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      try PINCommand.setPIN(at: place, check: PINCommand.refuseSecond)
      output.write("the PIN is set", json: ["pin": .string("set")])
    }
  }

  struct Change: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "Replace the PIN, also one that is blocked.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      try PINCommand.setPIN(at: place) { isSet throws(CommandFailure) in
        guard isSet else {
          throw CommandFailure("no PIN is set", hint: "set one with:", run: ["liquid-auth", "pin", "set"])
        }
      }
      output.write("the PIN is changed", json: ["pin": .string("changed")])
    }
  }

  struct Remove: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove the PIN.",
      discussion: "Programs that verify only by PIN do not work until you set a PIN again.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connect()
      // An open vault gives the answer before the passphrase is asked for.
      try connection.checkPIN()
      try connection.unlock()
      try connection.checkPIN()
      try connection.ask(RemovePIN())
      output.write("the PIN is removed", json: ["pin": .string("removed")])
    }
  }

  /// Refuses to set a PIN if one is set.
  static func refuseSecond(isSet: Bool) throws(CommandFailure) { if isSet { throw .pinIsSet } }

  /// Asks for the passphrase and then for the PIN.
  ///
  /// - Parameter check: gets whether a PIN is set, and may throw; called before both if the vault is open, and before the
  ///   change.
  static func setPIN(
    at place: PlaceOptions, check: (Bool) throws(CommandFailure) -> Void
  ) throws(CommandFailure) {
    let connection = try place.connect()
    let known = try connection.certainInformation()
    if let known { try check(known.isPINSet) }
    var typed: SecretBytes?
    try connection.unlock { _ throws(CommandFailure) in
      typed = try PINInput.new(minimum: known?.minimumPINLength ?? Int(AuthenticatorSettings.shortestPIN))
    }
    let information = try connection.keyInformation()
    try check(information.isPINSet)
    let minimum = information.minimumPINLength
    let pin = if let typed { try PINInput.check(typed, minimum: minimum) } else { try PINInput.new(minimum: minimum) }
    try connection.ask(SetPIN(pin))
  }
}

extension CommandFailure {
  /// A first PIN cannot be set.
  static let pinIsSet = CommandFailure(
    "a PIN is set already", hint: "change it with:", run: ["liquid-auth", "pin", "change"])
}

/// The result of `liquid-auth pin status`, before it is text or JSON.
struct PINReport: Equatable {
  let information: KeyInformation
  let tries: TriesLeft
  /// What prevents use of the PIN, and what to do; each ends with a command.
  var problems: [String]

  init(information: KeyInformation, tries: TriesLeft) {
    self.information = information
    self.tries = tries
    problems = Self.problems(information, tries)
  }

  private static func problems(_ information: KeyInformation, _ tries: TriesLeft) -> [String] {
    guard information.isPINSet else { return [] }
    if tries.pin == 0 { return ["the PIN is blocked; see: liquid-auth status"] }
    var problems: [String] = []
    if tries.needsReplug {
      problems.append(
        "three wrong PINs in a row; before the next try, run: liquid-auth device replug --power-cycle")
    }
    if information.forcePINChange {
      problems.append(OwnerSettings.pinMustBeChanged.text)
    }
    return problems
  }

  /// For people.
  var text: String {
    var rows = [["PIN", information.isPINSet ? "set" : "not set"]]
    if information.isPINSet { rows.append(["tries left", String(tries.pin)]) }
    rows += [
      ["minimum PIN length", "\(information.minimumPINLength) characters"],
      ["passphrase", tries.verification.map { "verifies too, \($0) tries left" } ?? "does not verify"],
    ]
    let lines = table(rows)
    return problems.isEmpty ? lines : lines + "\n\nto do\n" + problems.map { "- \($0)" }.joined(separator: "\n")
  }

  /// For programs; absent values are `null`.
  var json: JSON {
    [
      "set": .bool(information.isPINSet),
      "triesLeft": information.isPINSet ? .number(Int64(tries.pin)) : .null,
      "needsReplug": .bool(tries.needsReplug),
      "mustBeChanged": .bool(information.forcePINChange),
      "minimumLength": .number(Int64(information.minimumPINLength)),
      "passphraseTriesLeft": tries.verification.map { .number(Int64($0)) } ?? .null,
      "problems": .array(problems.map(JSON.string)),
    ]
  }
}
