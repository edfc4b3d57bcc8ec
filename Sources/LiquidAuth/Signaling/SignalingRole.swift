/// Who makes the WebRTC offer, and who answers it.
///
/// The events of the signals gateway are named after the maker of what they carry. The wallet is the initiator.
enum SignalingRole: Sendable {
  /// Makes the offer: the wallet.
  case initiator
  /// Answers it: the dApp.
  case responder

  /// Carries the session description.
  var descriptionEvent: String {
    switch self {
    case .initiator: "offer-description"
    case .responder: "answer-description"
    }
  }

  /// Carries one candidate.
  var candidateEvent: String {
    switch self {
    case .initiator: "offer-candidate"
    case .responder: "answer-candidate"
    }
  }

  /// Carries a candidate of either side; servers of old send it.
  static let candidateEvent = "candidate"
}
