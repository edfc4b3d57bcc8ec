/// The role in WebRTC's offer and answer.
///
/// The events of the signals gateway are named after the role of their sender. The wallet is the initiator.
enum SignalingRole: Sendable {
  /// Makes the offer: the wallet.
  case initiator
  /// Answers it: the dApp.
  case responder

  /// The event that carries the session description.
  var descriptionEvent: String {
    switch self {
    case .initiator: "offer-description"
    case .responder: "answer-description"
    }
  }

  /// The event that carries one candidate.
  var candidateEvent: String {
    switch self {
    case .initiator: "offer-candidate"
    case .responder: "answer-candidate"
    }
  }

  /// The event for a candidate of either side, which old servers send.
  static let candidateEvent = "candidate"
}

/// The payload of `answer-description`: the description as a string, or as WebRTC's RTCSessionDescriptionInit.
struct AnswerPayload: Decodable {
  /// The description's text.
  let sdp: String
  /// Its declared type; `nil` in a string.
  let type: String?

  private enum CodingKeys: CodingKey {
    case sdp, type
  }

  init(from decoder: any Decoder) throws {
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      (sdp, type) = (text, nil)
    } else {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      sdp = try members.decode(String.self, forKey: .sdp)
      type = try members.decodeIfPresent(String.self, forKey: .type)
    }
  }
}

/// The payload of the candidate events: WebRTC's RTCIceCandidateInit.
struct CandidatePayload: Codable {
  /// The most bytes of a candidate's text.
  static let maximumSize = 1024

  /// The attribute; empty or `null` at the end of the candidates.
  let candidate: String?
  /// The media section's identification tag.
  let sdpMid: String?
  /// The media section's index.
  let sdpMLineIndex: Int?

  init(_ candidate: ICECandidate) {
    self.candidate = candidate.candidate
    sdpMid = candidate.sdpMid ?? ""
    sdpMLineIndex = candidate.sdpMLineIndex
  }

  /// Whether it only marks the end of the candidates.
  var isLast: Bool { candidate?.isEmpty ?? true }

  /// The candidate, if it is one line of visible ASCII for one of the offer's media sections.
  ///
  /// Without an index it belongs to the first. A leading `a=` is removed.
  func candidate(sections: Int) -> ICECandidate? {
    guard var text = candidate, text.utf8.count <= Self.maximumSize,
      text.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
    else { return nil }
    if text.hasPrefix("a=") { text.removeFirst(2) }
    let (tag, index) = (sdpMid ?? "", sdpMLineIndex ?? 0)
    guard text.hasPrefix("candidate:"), (0..<sections).contains(index), tag.utf8.count <= Self.maximumSize,
      tag.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
    else { return nil }
    return ICECandidate(candidate: text, sdpMid: tag.isEmpty ? nil : tag, sdpMLineIndex: index)
  }
}

/// The payload of `presence`: the sessions that are connected for one request, as the server counts them.
struct PresencePayload: Decodable {
  /// The event that carries it.
  static let event = "presence"

  /// The dApp's request.
  let requestId: RequestID
  /// The number of sessions, this wallet's among them.
  let deviceCount: Int
}
