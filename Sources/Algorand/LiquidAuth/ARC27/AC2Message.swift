/// A message of AC2, the draft protocol of the Algorand Foundation between people and software agents, which this wallet
/// answers with a refusal: Design/Wallet.md says what is missing.
///
/// AC2's messages are those of DIDComm 2 in JSON, with a `type` such as `ac2/SigningRequest`.
struct AC2Message: Equatable {
  /// The type's prefix.
  private static let prefix = "ac2/"
  /// The type of a request for a signature.
  private static let signingRequest = "ac2/SigningRequest"
  /// The types that answer one of our messages; they get no answer.
  private static let answers = ["ac2/SigningResponse", "ac2/SigningRejected", "ac2/KeyResponse"]
  /// The most bytes of a type, an id or a name that are repeated.
  private static let maximumSize = 128

  /// The type, with the prefix.
  let type: String
  /// The message's own id.
  private let id: String?
  /// The sender's DID.
  private let sender: String?

  /// Recognizes a message that wants an answer; `nil` for anything else.
  init?(_ message: PeerMessage) {
    let bytes: [UInt8]
    switch message {
    case .text(let text): bytes = Array(text.utf8)
    case .binary(let data): bytes = data
    }
    guard bytes.count <= ARC27Frame.maximumSize, let head = try? JSONCoding.decode(Head.self, from: bytes),
      head.type.utf8.starts(with: Self.prefix.utf8), head.type.utf8.count <= Self.maximumSize,
      !Self.answers.contains(head.type)
    else { return nil }
    type = head.type
    id = head.id.flatMap { $0.utf8.count <= Self.maximumSize ? $0 : nil }
    sender = head.from.flatMap { $0.utf8.count <= Self.maximumSize ? $0 : nil }
  }

  /// The refusal, of the message's kind, which names what is missing: `ac2/SigningRejected` for a request for a signature,
  /// otherwise DIDComm's problem report.
  ///
  /// It has no time, because this library reads no clock; DIDComm requires none.
  ///
  /// - Parameter id: the id of the refusal, a UUID.
  func refusal(id ownID: String, answering message: PeerMessage) -> PeerMessage {
    let words =
      "this wallet does not serve AC2, and refuses \(type): the draft neither binds an agent to this channel, nor names "
      + "forms in which a payload could be shown before it is signed; nothing was signed"
    let refusal =
      type == Self.signingRequest
      ? Refusal(
        context: ["https://ac2.io/v1"], id: ownID, type: "ac2/SigningRejected", thid: id, to: sender.map { [$0] },
        body: Refusal.Body(reason: words))
      : Refusal(
        id: ownID, type: "https://didcomm.org/report-problem/2.0/problem-report", pthid: id,
        to: sender.map { [$0] }, body: Refusal.Body(code: "e.m.msg.unsupported", comment: words))
    let json = (try? JSONCoding.encode(refusal)) ?? []
    switch message {
    case .text: return .text(String(decoding: json, as: UTF8.self))
    case .binary: return .binary(json)
    }
  }

  private struct Head: Decodable {
    let type: String
    let id: String?
    let from: String?
  }

  private struct Refusal: Encodable {
    var context: [String]?
    var id: String
    var type: String
    /// The thread of the refused message, or the parent thread of a report.
    var thid: String?
    var pthid: String?
    var to: [String]?
    var body: Body

    struct Body: Encodable {
      var reason: String?
      var code: String?
      var comment: String?
    }

    enum CodingKeys: String, CodingKey {
      case context = "@context"
      case id, type, thid, pthid, to, body
    }
  }
}
