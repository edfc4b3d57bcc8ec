import Logind
import Prompts

/// When the vault is locked, and the device detached, without a command of the user.
struct SessionPolicy: Equatable, Sendable {
  /// An event that can lock the vault.
  enum LockEvent: String, CaseIterable, Sendable {
    case suspend
    case screenLock = "screen-lock"
    /// Another session comes to the foreground.
    case userSwitch = "switch"
  }

  /// The events that lock the vault.
  var lockEvents: Set<LockEvent> = [.suspend]
  /// How long the vault stays open without a request that uses it; `nil` for ever.
  var idleLimit: Duration? = .seconds(8 * 3600)
  /// Whether the device is detached while no session of the user is in the foreground.
  var detachesInBackground = true

  /// Whether a signal of logind can lock the vault; logind's files show a switch.
  var needsSignals: Bool { !lockEvents.isDisjoint(with: [.suspend, .screenLock]) }

  /// What ``lockEvents(_:)`` reads.
  static let lockEventValues =
    "never, or one or more of \(LockEvent.allCases.map(\.rawValue).joined(separator: ", ")), separated by commas"
  /// What ``idleLimit(_:)`` reads.
  static let idleLimitValues = "never, or a number of hours, 1 to 1000"

  /// Reads a list such as `suspend,screen-lock`, or `never`.
  static func lockEvents(_ text: String) -> Set<LockEvent>? {
    if text == "never" { return [] }
    let events = text.split(separator: ",", omittingEmptySubsequences: false).map { LockEvent(rawValue: String($0)) }
    return events.contains(nil) ? nil : Set(events.compactMap(\.self))
  }

  /// Reads a number of hours from 1 to 1000, or `never`; the outer `nil` means neither.
  static func idleLimit(_ text: String) -> Duration?? {
    if text == "never" { return .some(nil) }
    guard let hours = Int(text), 1...1000 ~= hours else { return nil }
    return .seconds(hours * 3600)
  }
}

/// Why the vault is locked.
enum LockReason: Equatable, Sendable {
  case command
  case wrongPassphrases
  case slotChanged
  /// The move to a new phrase began or ended.
  case phraseChanged
  case event(SessionPolicy.LockEvent)
  case idle(Duration)
  /// The connection to logind has ended, so its events can no longer lock the vault.
  case disconnected

  /// As `liquid-auth status` shows it.
  var description: String {
    switch self {
    case .command: "by a command"
    case .wrongPassphrases: "after \(PassphraseVerifier.triesPerUnlocking) wrong passphrases"
    case .slotChanged: "when the slot that unlocked it was replaced or removed"
    case .phraseChanged: "when the move to a new phrase began or ended"
    case .event(.suspend): "before the machine was suspended"
    case .event(.screenLock): "when the screen was locked"
    case .event(.userSwitch): "when another user's session came to the foreground"
    case .idle(let limit) where limit == .seconds(3600): "after 1 hour without use"
    case .idle(let limit): "after \(limit.components.seconds / 3600) hours without use"
    case .disconnected: "when the connection to logind ended"
    }
  }
}
