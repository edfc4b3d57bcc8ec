import ArgumentParser

extension LiquidAuthCommand {
  /// The sentence about the first option that its command does not have; `nil` if there is none.
  ///
  /// The parser would name a missing argument first, and that is often the name that was typed wrong.
  static func unknownOption(in arguments: [String]) -> String? {
    let (group, rest) = command(in: arguments)
    let help = helpMessage(for: group.configuration.defaultSubcommand ?? group, includeHidden: true)
    let known = Set(help.matches(of: /--[a-z][a-z0-9-]*/).map { String($0.output) })
    let names = rest.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
    return names.first { !known.contains($0) }.map { "unknown option '\($0)'\(suggestion(for: $0, in: known))" }
  }

  /// The sentence about the word after a group that also works without a command, if it resembles a command of the
  /// group; `nil` otherwise.
  ///
  /// The parser takes the word for an argument of the default command.
  static func misspelledCommand(in arguments: [String]) -> String? {
    let (group, rest) = command(in: arguments)
    guard group.configuration.defaultSubcommand != nil, let name = rest.first, !name.hasPrefix("-") else { return nil }
    let meant = suggestion(for: name, in: group.configuration.subcommands.map { $0._commandName })
    return meant.isEmpty ? nil : "unknown command '\(name)'\(meant)"
  }

  /// The command that the first words name, and the words after them.
  private static func command(in arguments: [String]) -> (any ParsableCommand.Type, ArraySlice<String>) {
    var (command, rest): (any ParsableCommand.Type, _) = (Self.self, arguments[...])
    while let name = rest.first, let next = subcommand(name, of: command) {
      command = next
      rest.removeFirst()
    }
    return (command, rest)
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

  /// How many letters must be inserted, removed or replaced, and neighbours exchanged, to make one text of the other.
  private static func distance(_ one: String, _ other: String) -> Int {
    let (one, other) = (Array(one), Array(other))
    // The rows for one letter less of `one`, and for those so far.
    var (earlier, row) = (Array(0...other.count), Array(0...other.count))
    for index in one.indices {
      var next = [index + 1]
      for column in other.indices {
        var least = min(row[column] + (one[index] == other[column] ? 0 : 1), row[column + 1] + 1, next[column] + 1)
        if index > 0, column > 0, one[index] == other[column - 1], one[index - 1] == other[column] {
          least = min(least, earlier[column - 1] + 1)
        }
        next.append(least)
      }
      (earlier, row) = (row, next)
    }
    return row[other.count]
  }
}
