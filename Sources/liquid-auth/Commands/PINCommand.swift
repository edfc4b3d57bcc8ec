import ArgumentParser
import ControlDoor

/// `liquid-auth pin`.
struct PINCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin",
    abstract: "Set, change or remove the PIN of this key.",
    discussion: """
      Some programs, ssh-keygen for one, verify you by nothing but a PIN. It is of this machine and not of your phrase, \
      and guards no encryption: your passphrase is worth more, and so it is what these commands ask for, at the \
      terminal or as the first line of standard input. The old PIN is not needed: this is also the way out when it is \
      forgotten, or its tries are used up. The new one is typed twice, or is the second line of standard input.

      A PIN has at least 4 characters (more after `liquid-auth config min-pin-length`) and at most 63 bytes of UTF-8. \
      After three wrong PINs in a row, run `liquid-auth device replug --power-cycle` before the next try; after \
      eight, the PIN is blocked until you change it here.
      """,
    subcommands: [Status.self, Set.self, Change.self, Remove.self])

  struct Status: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Tell whether a PIN is set, and how often it can be tried.",
      discussion: "Asks for nothing.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connect()
      let information = try connection.keyInformation()
      var report = PINReport(information: information, tries: try connection.triesLeft(information))
      report.problems = report.problems.map(place.completing)
      output.write(report.text, json: report.json)
    }
  }

  struct Set: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "Set the first PIN.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      try PINCommand.setPIN(at: place) { isSet throws(CommandFailure) in
        if isSet { throw CommandFailure("a PIN is set already; change it with: liquid-auth pin change") }
      }
      output.write("the PIN is set", json: ["pin": .string("set")])
    }
  }

  struct Change: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "Set another PIN, also in place of one that is blocked.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      try PINCommand.setPIN(at: place) { isSet throws(CommandFailure) in
        if !isSet { throw CommandFailure("no PIN is set; set one with: liquid-auth pin set") }
      }
      output.write("the PIN is changed", json: ["pin": .string("changed")])
    }
  }

  struct Remove: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Go back to no PIN.",
      discussion: "What verifies by PIN only does not work until you set one again.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connectAsOwner()
      guard try connection.keyInformation().isPINSet else { throw CommandFailure("no PIN is set") }
      try connection.ask(RemovePIN())
      output.write("the PIN is removed", json: ["pin": .string("removed")])
    }
  }

  /// Asks for the passphrase and then for the PIN, once `check` has let the state of things pass: whether one is set.
  private static func setPIN(
    at place: PlaceOptions, check: (Bool) throws(CommandFailure) -> Void
  ) throws(CommandFailure) {
    let connection = try place.connect()
    try check(connection.keyInformation().isPINSet)
    try connection.unlock()
    // Only the open vault knows for certain.
    let information = try connection.keyInformation()
    try check(information.isPINSet)
    try connection.ask(SetPIN(PINInput.new(minimum: information.minimumPINLength)))
  }
}

/// What `liquid-auth pin status` says, before it is text or JSON.
struct PINReport: Equatable {
  let information: KeyInformation
  let tries: TriesLeft
  /// What is in the way of the PIN and what to do.
  var problems: [String]

  init(information: KeyInformation, tries: TriesLeft) {
    self.information = information
    self.tries = tries
    problems = Self.problems(information, tries)
  }

  private static func problems(_ information: KeyInformation, _ tries: TriesLeft) -> [String] {
    guard information.isPINSet else { return [] }
    if tries.pin == 0 { return ["the PIN is blocked; set another one with: liquid-auth pin change"] }
    var problems: [String] = []
    if tries.needsReplug {
      problems.append(
        "three wrong PINs in a row; before the next try, run: liquid-auth device replug --power-cycle")
    }
    if information.forcePINChange {
      problems.append("the PIN must be changed before it is of use; run: liquid-auth pin change")
    }
    return problems
  }

  /// For people.
  var text: String {
    var rows = [["PIN", information.isPINSet ? "set" : "not set"]]
    if information.isPINSet { rows.append(["tries left", String(tries.pin)]) }
    rows += [
      ["shortest PIN", "\(information.minimumPINLength) characters"],
      ["passphrase", tries.verification.map { "verifies too, \($0) tries left" } ?? "does not verify"],
    ]
    let lines = table(rows)
    return problems.isEmpty ? lines : lines + "\n\nto do\n" + problems.map { "- \($0)" }.joined(separator: "\n")
  }

  /// For programs; `null` for what there is not.
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
