package import CBOR

/// How the authenticator shows prompts: {1: choice?, 2: [back end …], 3: one waits?, 4: they answer by themselves?}.
package struct PromptReport: Equatable, Sendable {
  /// What shows dialogs: {1: kind, 2: program?, 3: fault?}.
  package struct BackEnd: Equatable, Sendable {
    /// The kinds of back ends; a later authenticator can have more.
    package struct Kind: RawRepresentable, Hashable, Sendable {
      /// The word on the wire, which is also the one for people.
      package let rawValue: String

      package init(rawValue: String) { self.rawValue = rawValue }

      package static let notifications = Self(rawValue: "notifications")
      package static let pinentry = Self(rawValue: "pinentry")
      package static let askpass = Self(rawValue: "askpass")
      package static let terminal = Self(rawValue: "terminal")
    }

    package var kind: Kind
    /// The program of the owner's choice: a path, or a name that is looked up in PATH.
    package var program: String?
    /// Why it failed when it was last used or tested, and what to do; `nil` if it did not.
    package var fault: String?

    package init(_ kind: Kind, program: String? = nil, fault: String? = nil) {
      (self.kind, self.program, self.fault) = (kind, program, fault)
    }

    /// For people: `pinentry (/usr/bin/pinentry)`.
    package var name: String { kind.rawValue + (program.map { " (\($0))" } ?? "") }
  }

  /// `auto` or `notifications`, if `--prompt` chose several back ends.
  package var choice: String?
  /// In the order in which they are tried.
  package var backEnds: [BackEnd]
  /// Whether a prompt waits for a person; only in a status.
  package var isWaiting = false
  /// Whether the last prompts were answered faster than a person can read them; only in a status.
  package var answerByThemselves = false

  package init(choice: String? = nil, _ backEnds: [BackEnd]) { (self.choice, self.backEnds) = (choice, backEnds) }

  /// The report on one back end.
  package init(_ kind: BackEnd.Kind, program: String? = nil) { self.init([BackEnd(kind, program: program)]) }

  /// The back end of this kind, whether or not it works.
  package func backEnd(_ kind: BackEnd.Kind) -> BackEnd? { backEnds.first { $0.kind == kind } }

  /// Whether all prompts are on the authenticator's terminal.
  package var isTerminal: Bool { backEnds.map(\.kind) == [.terminal] }

  /// For people: the back ends that work, or all if none does, as `auto: notifications, pinentry (pinentry)`.
  package var text: String {
    let working = backEnds.filter { $0.fault == nil }
    let names = (working.isEmpty ? backEnds : working).map(\.name).joined(separator: ", ")
    return choice.map { "\($0): \(names)" } ?? names
  }
}

extension PromptReport {
  package init(_ members: CBORMap) throws(ControlFailure) {
    choice = try decoded(members.optionalText(1))
    backEnds = []
    for value in try decoded(members.requiredArray(2)) {
      guard let members = value.map else { throw ControlFailure(.unexpectedType, "a back end is not a map") }
      backEnds.append(
        try BackEnd(
          BackEnd.Kind(rawValue: decoded(members.requiredText(1))), program: decoded(members.optionalText(2)),
          fault: decoded(members.optionalText(3))))
    }
    isWaiting = try decoded(members.optionalBool(3)) ?? false
    answerByThemselves = try decoded(members.optionalBool(4)) ?? false
  }

  package var members: CBORMap {
    CBORMap(present: [
      1: choice.map(CBORValue.text), 2: .array(backEnds.map { .map($0.members) }), 3: isWaiting ? true : nil,
      4: answerByThemselves ? true : nil,
    ])
  }
}

extension PromptReport.BackEnd {
  fileprivate var members: CBORMap {
    CBORMap(present: [1: .text(kind.rawValue), 2: program.map(CBORValue.text), 3: fault.map(CBORValue.text)])
  }
}
