import ArgumentParser
import ControlDoor

/// `liquid-auth device`.
struct DeviceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device",
    abstract: "Plug the authenticator's device in or out.",
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
      abstract: "Pull the device out and plug it in again, as a reset needs it.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions
    func run() throws { try perform(.replug, at: place, output) }
  }

  private static func perform(
    _ action: DeviceAction, at place: PlaceOptions, _ output: OutputOptions
  ) throws(CommandFailure) {
    let connection = try place.connect()
    let _: Done = try connection.ask(.device(action))
    let status: AuthenticatorStatus = try connection.ask(.status)
    output.write(
      status.attached ? "attached\(status.node.map { " as \($0)" } ?? "")" : "detached",
      json: ["attached": .bool(status.attached), "node": JSON(status.node)])
  }
}
