import CTAP2
import CryptoPrimitives
import Glibc

/// Dialogs on the terminal from which the daemon was started.
///
/// What was typed before the question is thrown away. Nothing that is typed is shown: whoever is used to typing the
/// passphrase may do so where yes or no is asked for. When the task is cancelled the question says that it is withdrawn,
/// and the terminal is as it was.
struct Terminal: DialogBackEnd {
  /// The terminal, `/dev/tty` for the one that the process belongs to.
  let path: String
  /// How long the person has for each answer; whoever asked may have given up long before.
  let limit: Duration
  /// Says how long a question has stood there.
  let timepiece: any Timepiece
  /// Takes a line when no question could be asked.
  let log: @Sendable (String) -> Void

  init(
    path: String = "/dev/tty", limit: Duration = .seconds(120), timepiece: any Timepiece,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.path = path
    self.limit = limit
    self.timepiece = timepiece
    self.log = log
  }

  func confirm(_ text: PromptText) async throws(UserInteractionError) {
    let ways = text.isFollowed ? "y goes on, anything else refuses all" : "y agrees, anything else refuses"
    let question = "\n\(text.headline)\n\(text.indentedDetails)\n  \(text.agree)? (\(ways)) "
    try await text.untilRead(timepiece, cancelled: .cancelled) { () async throws(UserInteractionError) in
      let agreed = try await ask(question, said: { $0 ? "yes" : "no" }) { answer in
        answer.elementsEqual("y".utf8) || answer.elementsEqual("Y".utf8) || answer.elementsEqual("yes".utf8)
      }
      guard agreed else { throw .declined }
    }
  }

  func passphrase<Accepted: Sendable>(
    _ text: PromptText, check: @Sendable (SecretBytes) async -> PassphraseVerdict<Accepted>
  ) async throws(UserInteractionError) -> Accepted {
    var before = "\n\(text.headline)\n\(text.indentedDetails)\n"
    while true {
      let question = "\(before)  \(PromptText.entryLabel) (Enter alone refuses) "
      let typed = try await ask(question, said: { _ in "" }) { SecretBytes(copying: $0) }
      // An empty line is how one says no to a question that has no button.
      guard typed.count > 0 else { throw .declined }
      switch await check(typed) {
      case .accepted(let accepted): return accepted
      case .wrong(let words): before = "  \(words)\n"
      case .ended(let reason): throw reason
      }
    }
  }

  private func ask<Answer: Sendable>(
    _ question: String, said: @escaping @Sendable (Answer) -> String,
    _ read: @escaping @Sendable (UnsafeRawBufferPointer) -> Answer
  ) async throws(UserInteractionError) -> Answer {
    let (path, limit) = (path, limit)
    let result = await OwnThread.run(cancellable: { cancellation in
      Result { () throws(TerminalLine.Stop) in
        try TerminalLine.ask(question, on: path, said: said, until: .now + limit, cancellation, read)
      }
    })
    switch result {
    case .success(let answer): return answer
    case .failure(.interaction(let error)): throw error
    case .failure(.failure(let words)):
      log(words)
      throw .declined
    }
  }
}

extension PromptText {
  fileprivate var indentedDetails: String { details.map { "  \($0)" }.joined(separator: "\n") }
}
