import ArgumentParser
import ControlProtocol

/// `liquid-auth device`.
struct DeviceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device",
    abstract: "Attach or detach the device, or show a closed prompt again.",
    discussion: """
      A reset is accepted only in the first ten seconds after the authenticator's start. After three wrong PINs in a \
      row, the PIN can be tried again only after the next start. `replug --power-cycle` counts as a start, and asks for \
      the vault's passphrase. Attaching and detaching without --power-cycle do not count, because any program of yours \
      can do that.
      """,
    subcommands: [Attach.self, Detach.self, Replug.self, AskAgain.self])

  struct Attach: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "Attach the device.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions
    func run() throws { try perform(.attach, at: place, output) }
  }

  struct Detach: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Detach the device: browsers no longer see it. The vault does not change.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions
    func run() throws { try perform(.detach, at: place, output) }
  }

  struct Replug: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Detach the device and attach it again; with --power-cycle, for a reset or after three wrong PINs.",
      discussion: """
        --power-cycle asks for the passphrase on the terminal, or reads it from the first line of standard input.
        """)
    @Flag(help: "Count this as a start: accept a reset for ten seconds, and let the PIN be tried again.")
    var powerCycle = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions
    func run() throws { try perform(powerCycle ? .powerCycle : .replug, at: place, output) }
  }

  struct AskAgain: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show again a prompt that you closed without an answer.",
      discussion: """
        If you close a notification, or the window of pinentry-gtk-2, the request stays open while the browser waits. If \
        you close any other prompt, you refuse the request.
        """)
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      try place.connect().ask(PlugDevice(.askAgain))
      output.write("the prompt is shown again", json: ["shown": .bool(true)])
    }
  }

  private static func perform(
    _ action: PlugDevice.Action, at place: PlaceOptions, _ output: OutputOptions
  ) throws(CommandFailure) {
    let connection = try place.connect()
    if action == .powerCycle { try connection.unlock() }
    try connection.ask(PlugDevice(action))
    let device = try connection.ask(GetStatus()).device
    output.write(
      device.attached ? "attached\(device.node.map { " as \($0)" } ?? "")" : "detached",
      json: ["attached": .bool(device.attached), "node": JSON(device.node)])
  }
}
