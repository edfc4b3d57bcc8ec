import ArgumentParser
import ControlDoor

/// `liquid-auth device`.
struct DeviceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device",
    abstract: "Plug the authenticator's device in or out.",
    discussion: """
      A reset is accepted only in the first ten seconds after the authenticator's start, and after three wrong PINs in \
      a row the PIN can be tried again only after the next start. `replug --power-cycle` counts as a start, and asks \
      for the vault's passphrase. Plugging the device in or out without --power-cycle does not count, because any program of yours \
      can do it.
      """,
    subcommands: [Attach.self, Detach.self, Replug.self])

  struct Attach: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "Plug the device in.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions
    func run() throws { try perform(.attach, at: place, output) }
  }

  struct Detach: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Pull the device out: browsers do not see it; the vault stays as it is.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions
    func run() throws { try perform(.detach, at: place, output) }
  }

  struct Replug: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Pull the device out and plug it in again; with --power-cycle, for a reset or after three wrong PINs.",
      discussion: """
        --power-cycle asks for the passphrase at the terminal; without one, it is the first line of standard input.
        """)
    @Flag(help: "Count this as a start: accept a reset for ten seconds, and let the PIN be tried again.")
    var powerCycle = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions
    func run() throws { try perform(powerCycle ? .powerCycle : .replug, at: place, output) }
  }

  private static func perform(
    _ action: PlugDevice.Action, at place: PlaceOptions, _ output: OutputOptions
  ) throws(CommandFailure) {
    let connection = try place.connect()
    if action == .powerCycle { try connection.unlock() }
    try connection.ask(PlugDevice(action))
    let status = try connection.ask(GetStatus())
    output.write(
      status.attached ? "attached\(status.node.map { " as \($0)" } ?? "")" : "detached",
      json: ["attached": .bool(status.attached), "node": JSON(status.node)])
  }
}
