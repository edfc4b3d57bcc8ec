/// Whether our device is to be there: the person's word comes first, then the rule that it steps aside for other keys.
///
/// Who lets the device stay beside other keys tells it of none.
struct AttachmentPolicy: Equatable, Sendable {
  /// What the person said last.
  private enum Word {
    /// Nothing that goes beyond the rule.
    case none
    /// Plugged in although another key was there: it stays beside that one, until the last other key is gone.
    case beside
    /// Pulled out: it stays out, whoever comes and goes.
    case away
  }

  private var word = Word.away
  /// The other keys that are plugged in.
  private(set) var others: [OtherKey] = []

  /// Whether the device is to be there.
  var isWanted: Bool {
    switch word {
    case .none: others.isEmpty
    case .beside: true
    case .away: false
    }
  }

  /// For whom the device, which would be there otherwise, is not.
  var steppedAsideFor: OtherKey? { word == .none ? others.first : nil }

  /// The authenticator starts.
  mutating func begin(beside others: [OtherKey]) {
    word = .none
    self.others = others
  }

  /// The person plugs the device in.
  mutating func plugIn() { word = others.isEmpty ? .none : .beside }

  /// The person pulls the device out.
  mutating func pullOut() { word = .away }

  /// These are the other keys now.
  mutating func see(_ others: [OtherKey]) {
    self.others = others
    if others.isEmpty, word == .beside { word = .none }
  }
}
