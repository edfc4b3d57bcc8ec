import ArgumentParser
import ProcessIO

extension LiquidAuthCommand {
  /// The sentence about the first option that its command does not have; `nil` if there is none.
  static func unknownOption(in arguments: [String]) -> String? {
    let (group, rest) = command(in: arguments)
    func mistake(in words: ArraySlice<String>, of command: any ParsableCommand.Type) -> String? {
      CommandLineMistake.unknownOption(in: words, help: helpMessage(for: command, includeHidden: true))
    }
    let used = group.configuration.defaultSubcommand ?? group
    guard let sentence = mistake(in: rest, of: used) else { return nil }
    // An option of a command of the group, before the command's name.
    guard let first = rest.first, mistake(in: [first], of: used) == sentence,
      group.configuration.subcommands.contains(where: { mistake(in: [first], of: $0) == nil })
    else { return sentence }
    let name = first.prefix { $0 != "=" }
    return "unknown option '\(name)'; give it after the command"
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
    // Only the wallet program has it.
    if typed == "rekey" { return "; did you mean 'liquid-auth-wallet rekey'?" }
    if typed == "version", group == Self.self { return "; did you mean '--version'?" }
    // The word of the texts.
    if ["passkey", "passkeys"].contains(typed), group == Self.self { return "; did you mean 'credentials'?" }
    let elsewhere = own.contains(typed) ? [] : paths(of: typed, in: Self.self)
    guard elsewhere.isEmpty else { return elsewhere.count == 1 ? "; did you mean '\(elsewhere[0])'?" : "" }
    return CommandLineMistake.suggestion(for: name, in: own)
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
}
