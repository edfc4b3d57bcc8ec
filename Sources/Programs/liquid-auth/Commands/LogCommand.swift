import ArgumentParser
import ControlProtocol
import ProcessIO

/// `liquid-auth log`.
struct LogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Show where and how this key was used.",
    discussion: """
      The store keeps a history of the last uses and changes of the key, at most 10000 entries: time, site, kind, outcome, \
      and what verified you. It is sealed like the passkeys. Each command asks for the vault's passphrase on the terminal, or \
      reads it from the first line of standard input.
      """,
    subcommands: [List.self, Verify.self], defaultSubcommand: List.self)

  struct List: PlacedCommand {
    static let configuration = CommandConfiguration(abstract: "List uses and changes, the newest last, in local time.")
    @Option(help: "List only the entries of this site: its domain, or the whole origin.") var site: String?
    @Flag(help: "List every entry, with its number and the names of --json. One use can have several entries.")
    var all = false
    @Flag(help: "Show times in UTC.") var utc = false
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connectAsOwner()
      let entries = try connection.history().filter { entry in site.map { entry.isOf($0) } ?? true }
      output.write(
        all ? HistoryText.list(entries, of: site, isUTC: utc) : HistoryUses.text(entries, of: site, isUTC: utc),
        json: .array(entries.map(\.json)))
      let found = try connection.ask(CheckHistory())
      if !found.faults.isEmpty {
        StandardStream.error.write("liquid-auth: \(HistoryText.warning(found))\(place.arguments)")
      }
    }

    func validate() throws {
      guard site != "" else {
        throw ValidationError("--site takes a site as the list shows it, such as github.com or https://dapp.example")
      }
    }
  }

  struct Verify: PlacedCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check that no entry was changed, removed or added outside liquid-auth.")
    @OptionGroup var place: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
      let connection = try place.connectAsOwner()
      let found = try connection.ask(CheckHistory())
      guard found.faults.isEmpty else { throw CommandFailure(HistoryText.faults(found, at: place)) }
      // Nothing in a copy of the whole store shows its age; the counter in the TPM does.
      if let problem = try connection.ask(GetStatus()).problem(.counter) {
        throw CommandFailure(problem.after("the history is intact, but it may not be the newest: "))
      }
      output.write(HistoryText.whole(found), json: found.json)
    }
  }
}

extension ControlConnection {
  /// The whole history, page by page.
  fileprivate func history() throws(CommandFailure) -> [HistoryDescription] {
    var all: [HistoryDescription] = []
    var after: Int64?
    while true {
      let page = try ask(ListHistory(after: after))
      all += page.entries
      // Ignores a page that leads back, which would never end.
      guard let next = page.next, next > after ?? .min else { return all }
      after = next
    }
  }
}
