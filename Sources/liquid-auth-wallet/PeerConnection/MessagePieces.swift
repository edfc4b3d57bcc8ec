import CWebRTC
import LiquidAuth

/// Joins the pieces in which GStreamer delivers a long message of one kind; it does not mark the last.
///
/// The first piece has ``CWEBRTC_PIECE_SIZE`` bytes or more, as a whole message can have. A message is complete if its CBOR
/// is: what dApps send is CBOR, or base64 of it.
struct MessagePieces {
  /// How many pieces a message has at most: each is joined with all before it, and looked at anew.
  static let maximumCount = 64

  private var begun: PeerMessage?
  private var count = 0

  /// - Parameter piece: of the same kind as all others.
  /// - Returns: the message that ends with this piece; none while more of it must come; two where a whole frame comes
  ///   before that, which shows that the rest of the first is missing.
  mutating func take(_ piece: PeerMessage) -> [PeerMessage] {
    guard begun != nil || piece.size >= Int(CWEBRTC_PIECE_SIZE) else { return [piece] }
    let message = begun.map { $0.joined(with: piece) } ?? piece
    count = begun == nil ? 1 : count + 1
    guard message.size <= PeerChannel.maximumIncomingSize, count < Self.maximumCount,
      PeerChannel.isUnfinishedFrame(message)
    else {
      begun = nil
      return [message]
    }
    guard let first = begun, PeerChannel.isFrame(piece) else {
      begun = message
      return []
    }
    begun = nil
    return [first, piece]
  }
}

extension PeerMessage {
  fileprivate func joined(with piece: PeerMessage) -> PeerMessage {
    switch (self, piece) {
    case (.text(let text), .text(let more)): .text(text + more)
    case (.binary(let bytes), .binary(let more)): .binary(bytes + more)
    case (.text, .binary), (.binary, .text): piece
    }
  }
}
