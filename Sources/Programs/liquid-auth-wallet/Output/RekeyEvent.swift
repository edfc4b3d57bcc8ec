import DisplayText

/// An event while the account of the old phrase is given to that of the new phrase.
enum RekeyEvent: Equatable {
  /// The addresses, and the network.
  case rekeying(from: String, to: String, network: String)
  /// A node says that the account of the new phrase already has control.
  case alreadyRekeyed
}

extension RekeyEvent {
  /// One sentence.
  var text: String {
    switch self {
    case .rekeying(let old, let new, let network):
      "giving control of \(old) on \(network) to \(new), the account of the new phrase"
    case .alreadyRekeyed: "the account of the new phrase already has control; nothing was done"
    }
  }

  /// The name of the event.
  var name: String {
    switch self {
    case .rekeying: "rekeying"
    case .alreadyRekeyed: "alreadyRekeyed"
    }
  }

  /// The members: names and JSON values.
  var members: [(String, String)] {
    switch self {
    case .rekeying(let old, let new, let network):
      [("from", DisplayText.json(old)), ("to", DisplayText.json(new)), ("network", DisplayText.json(network))]
    case .alreadyRekeyed: []
    }
  }
}
