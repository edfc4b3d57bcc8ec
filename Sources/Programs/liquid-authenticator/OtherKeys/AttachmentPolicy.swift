/// Decides whether the device is attached: by the user's command, then by the rule that it steps aside for other keys.
///
/// If the device may stay beside other keys, the list of other keys is always empty.
struct AttachmentPolicy: Equatable, Sendable {
  /// The user's last command.
  private enum Word {
    /// None: the rule applies.
    case none
    /// Attached beside other keys: the device stays until these and those that came beside them are gone.
    case beside
    /// Detached: the device stays detached, whatever other keys come and go.
    case away
  }

  private var word = Word.away
  /// The other keys that are plugged in.
  private(set) var others: [OtherKey] = []
  /// Whether the device must be detached because the user's session is in the background.
  var isInBackground = false

  /// Whether the device must be attached.
  var isWanted: Bool {
    switch word {
    case .none: others.isEmpty && !isInBackground
    case .beside: !isInBackground
    case .away: false
    }
  }

  /// Whether the device comes back with the user's session.
  var waitsForSession: Bool { word != .away && isInBackground }

  /// The other key for which the device steps aside.
  var steppedAsideFor: OtherKey? { word == .none ? others.first : nil }

  /// Starts with the rule, beside these other keys.
  mutating func begin(beside others: [OtherKey]) {
    word = .none
    self.others = others
  }

  /// Records that the user attaches the device.
  mutating func plugIn() { word = others.isEmpty ? .none : .beside }

  /// Records that the user detaches the device.
  mutating func pullOut() { word = .away }

  /// Sets the other keys that are plugged in now.
  ///
  /// A key that was removed and plugged in again since the last call is another device.
  mutating func see(_ others: [OtherKey]) {
    let stays = others.contains { other in self.others.contains { $0.device == other.device } }
    if word == .beside, !stays { word = .none }
    self.others = others
  }
}
