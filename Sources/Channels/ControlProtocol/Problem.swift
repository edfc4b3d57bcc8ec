package import CBOR
package import Recovery

/// The commands that repair one problem, each as a list of words without shell quoting.
package struct Remedy: Equatable, Sendable {
  package let commands: [[String]]
  /// Whether `liquid-auth doctor --fix` runs it: it needs no additional rights, and changes at most the user's own
  /// services.
  ///
  /// Only the command decides that: a remedy from the control socket is never safe, because code in the authenticator
  /// could otherwise make the command start a program outside the sandbox.
  package let isSafe: Bool

  package init(_ commands: [String]..., isSafe: Bool = false) { self.init(commands, isSafe: isSafe) }

  package init(_ commands: [[String]], isSafe: Bool = false) {
    self.commands = commands
    self.isSafe = isSafe
  }

  /// Adds the place options to the commands of this project.
  package func completed(_ options: [String]) -> Remedy {
    Remedy(commands.map { Self.takesPlace($0) ? $0 + options : $0 }, isSafe: isSafe)
  }

  /// Whether a command is of this project, and so takes the place options.
  fileprivate static func takesPlace(_ command: [String]) -> Bool {
    ["liquid-auth", "liquid-authenticator"].contains(command.first)
  }
}

/// What is wrong and what to do: {1: kind, 2: reason, 3: hint?, 4: [word …]?}.
///
/// An empty word ends each command of member 4 but the last: a list in a list of a status would be nested too deeply for
/// CTAP's CBOR (CTAP §8).
/// Programs act on kind and remedy, so the text can change.
package struct Problem: Equatable, Sendable {
  /// The problems that programs distinguish.
  package enum Kind: UInt8, Sendable, CaseIterable {
    /// Any other problem.
    case other = 0
    /// The vault is missing or damaged; the remedy makes another.
    case vault = 1
    /// What the counter in the TPM found wrong at the last opening of the store.
    case counter = 2
    /// The PIN cannot be used.
    case pin = 3
    /// Dialogs may have no display and no terminal.
    case noDisplay = 4
    /// The device is detached, and no other problem explains it.
    case detached = 6
    /// The remedy repairs it only after a person has done what the hint says before it.
    case prepared = 7
  }

  package var kind: Kind
  /// What is wrong: lower case, no full stop.
  package var reason: String
  /// What to do, if anything can be done: lower case, no full stop.
  package var hint: String?
  /// The commands that do it; if the last one is of this project, it also ends the text.
  package var remedy: Remedy?

  package init(_ reason: String, hint: String? = nil, remedy: Remedy? = nil, kind: Kind = .other) {
    (self.kind, self.reason, self.hint, self.remedy) = (kind, reason, hint, remedy)
  }

  /// A problem with one command of plain words, which ends the hint: `make one with: liquid-auth setup`.
  package init(_ reason: String, hint: String, with command: [String], kind: Kind = .other) {
    self.init(reason, hint: "\(hint) with:", run: command, kind: kind)
  }

  /// The same after other words: `to see why, run:`.
  package init(_ reason: String, hint: String, run command: [String], kind: Kind = .other) {
    self.init(reason, hint: "\(hint) \(command.joined(separator: " "))", remedy: Remedy(command), kind: kind)
  }

  package init(_ error: some RepairableError) {
    self.init(
      error.reason, hint: error.hint, remedy: error.command.map { Remedy($0) },
      kind: error.isOfVault ? .vault : error.needsPreparation ? .prepared : .other)
  }

  /// The reason, then the hint.
  package var text: String { hint.map { "\(reason); \($0)" } ?? reason }

  /// The text with the place options after the command of this project that ends it, if there is one.
  ///
  /// - Parameter options: each after a space, quoted for a shell.
  package func text(with options: String) -> String {
    remedy?.commands.last.map(Remedy.takesPlace) == true ? text + options : text
  }

  /// The same problem, with words before its reason.
  package func after(_ words: String) -> Problem {
    var problem = self
    problem.reason = words + reason
    return problem
  }
}

extension Problem: ExpressibleByStringInterpolation {
  package init(stringLiteral reason: String) { self.init(reason) }
}

extension Problem {
  package init(_ members: CBORMap) throws(ControlFailure) {
    reason = try decoded(members.requiredText(2))
    hint = try decoded(members.optionalText(3))
    // A later version may have more kinds.
    kind = Kind(rawValue: try members.requiredInteger(1, as: UInt8.self)) ?? .other
    guard let list = try decoded(members.optionalArray(4)) else { return }
    let words = list.compactMap(\.text)
    let commands = words.split(separator: "", omittingEmptySubsequences: false).map(Array.init)
    guard words.count == list.count, !commands.contains([]) else {
      throw ControlFailure(.unexpectedType, "a remedy must be commands of words")
    }
    remedy = Remedy(commands)
  }

  package var members: CBORMap {
    CBORMap(present: [
      1: .number(kind.rawValue), 2: .text(reason), 3: hint.map(CBORValue.text),
      4: remedy.map { .texts(Array($0.commands.joined(separator: [""]))) },
    ])
  }
}
