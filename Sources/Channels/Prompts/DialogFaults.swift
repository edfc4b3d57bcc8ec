import CTAP2
import ControlProtocol
import Recovery

/// What is wrong with the dialogs, for the status.
struct DialogFaults {
  /// The time within which no person can read a page and answer it: an answer that comes sooner is a program's.
  static let quickest = Duration.milliseconds(300)
  /// How many pages in a row must be answered within ``quickest`` before the status says so.
  static let quickInARow = 3

  /// Why the last dialog could not be shown or completed; `nil` if it could.
  private var last: String?
  /// Why a means could not verify the last time that it was tried.
  var ofMeans: [VerificationMeans: Problem] = [:]
  /// Whether a person has answered a dialog since one failed: dialogs work, whatever the environment suggests.
  private var isAnswered = false
  /// How many pages in a row were answered faster than a person can read.
  private var quickAnswers = 0

  /// Why dialogs cannot be shown, or why the last one failed.
  func problem(of backEnd: any PromptBackEnd) -> Problem? {
    if !isAnswered, let problem = backEnd.problem { return problem }
    return last.map { Problem("the last dialog failed: \($0)") }
  }

  /// Whether the last pages were answered, agreed to or refused, faster than a person can read them.
  var answersByItself: Bool { quickAnswers >= Self.quickInARow }

  /// Notes that the dialogs of a request begin.
  mutating func begin() { last = nil }

  /// Notes that they have ended: with consent, or with an error.
  mutating func end(with error: UserInteractionError?) {
    switch error {
    case nil: isAnswered = true
    case .timedOut?, .cancelled?: break
    default: isAnswered = last == nil
    }
  }

  /// Notes that a dialog could not be shown or completed.
  mutating func cannotShow(_ words: String) { (last, isAnswered) = (words, false) }

  /// Counts the first answer to a page.
  mutating func count(_ outcome: Result<PromptAnswer?, UserInteractionError>, after time: Duration) {
    switch outcome {
    case .success, .failure(.declined):
      quickAnswers = time < Self.quickest ? min(quickAnswers + 1, Self.quickInARow) : 0
    case .failure: break
    }
  }
}
