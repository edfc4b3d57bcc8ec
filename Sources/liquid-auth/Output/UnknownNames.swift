import ArgumentParser

extension LiquidAuthCommand {
  /// The sentence about the first option that its command does not have; `nil` if there is none.
  ///
  /// The parser would name a missing argument first, and that is often the name that was typed wrong.
  static func unknownOption(in arguments: [String]) -> String? {
    var (command, rest): (any ParsableCommand.Type, _) = (Self.self, arguments[...])
    while let name = rest.first, let next = subcommand(name, of: command) {
      command = next
      rest.removeFirst()
    }
    command = command.configuration.defaultSubcommand ?? command
    let help = helpMessage(for: command, includeHidden: true)
    let known = Set(help.matches(of: /--[a-z][a-z0-9-]*/).map { String($0.output) })
    let names = rest.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
    return names.first { !known.contains($0) }.map { "unknown option '\($0)'\(suggestion(for: $0, in: known))" }
  }

  /// The command of a group with this name.
  static func subcommand(_ name: String, of group: any ParsableCommand.Type) -> (any ParsableCommand.Type)? {
    group.configuration.subcommands.first { $0._commandName == name }
  }

  /// "; did you mean …" with the name that was probably meant; empty if there is none.
  static func suggestion(for name: String, in names: some Collection<String>) -> String {
    let typed = name.lowercased()
    let near = names.sorted().map { (name: $0, distance: distance($0, typed)) }.min { $0.distance < $1.distance }
    guard let near, near.distance * 3 <= near.name.count + 2 else { return "" }
    return "; did you mean '\(near.name)'?"
  }

  /// How many letters must be inserted, removed or replaced to make one text of the other.
  private static func distance(_ one: String, _ other: String) -> Int {
    var row = Array(0...other.count)
    for (index, letter) in one.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for (column, typed) in zip(1..., other) {
        let replaced = diagonal + (letter == typed ? 0 : 1)
        diagonal = row[column]
        row[column] = min(replaced, row[column] + 1, row[column - 1] + 1)
      }
    }
    return row[other.count]
  }
}
