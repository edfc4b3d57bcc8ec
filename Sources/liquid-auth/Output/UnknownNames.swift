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
  /// group, or names one elsewhere; `nil` otherwise.
  ///
  /// The parser takes the word for an argument of the default command.
  static func misspelledCommand(in arguments: [String]) -> String? {
    let (group, rest) = command(in: arguments)
    guard group.configuration.defaultSubcommand != nil, let name = rest.first, !name.hasPrefix("-") else { return nil }
    let meant = suggestion(for: name, in: group)
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

  /// "; did you mean …" with the command that was probably meant, in the group or elsewhere; empty if there is none.
  static func suggestion(for name: String, in group: any ParsableCommand.Type) -> String {
    let own = group.configuration.subcommands.map { $0._commandName }
    let typed = name.lowercased()
    let elsewhere = own.contains(typed) ? [] : paths(of: typed, in: Self.self)
    guard elsewhere.isEmpty else { return elsewhere.count == 1 ? "; did you mean '\(elsewhere[0])'?" : "" }
    return suggestion(for: name, in: own)
  }

  /// Each command with this name, with the groups that it is in.
  private static func paths(
    of name: String, in group: any ParsableCommand.Type, after words: [String] = []
  ) -> [String] {
    group.configuration.subcommands.flatMap { command in
      let path = words + [command._commandName]
      let full = words.isEmpty ? "liquid-auth \(name)" : path.joined(separator: " ")
      return (command._commandName == name ? [full] : []) + paths(of: name, in: command, after: path)
    }
  }

  /// "; did you mean …" with the name that was probably meant; empty if there is none.
  ///
  /// A name has at most one mistake for each three letters. In one of three letters, only an exchange counts: `ping` is
  /// not `pin`.
  static func suggestion(for name: String, in names: some Collection<String>) -> String {
    let typed = name.lowercased()
    let near = names.sorted().map { (name: $0, distance: distance($0, typed)) }.filter { one in
      let letters = one.name.drop { $0 == "-" }.count
      return letters > 3 ? one.distance <= letters / 3 : one.name.sorted() == typed.sorted()
    }
    return near.min { $0.distance < $1.distance }.map { "; did you mean '\($0.name)'?" } ?? ""
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
