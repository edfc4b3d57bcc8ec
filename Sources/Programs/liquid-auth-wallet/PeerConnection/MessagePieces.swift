import CWebRTC
import LiquidAuth

/// Joins the pieces in which GStreamer delivers a long message of one kind; it does not mark the last.
///
/// The first piece has ``CWEBRTC_PIECE_SIZE`` bytes or more, as a whole message can have too. A message is complete if
/// its CBOR is: dApps send CBOR, or base64 of it.
///
/// A short message can arrive before the last pieces of an earlier long one: after a lost packet, usrsctp delivers a
/// message of one packet while the message before it is still incomplete.
struct MessagePieces {
  /// The most pieces of a message: each is joined with all earlier ones, and checked again.
  static let maximumCount = 64
  /// The most messages that can arrive within a long one; after that, the rest of the long one is missing.
  static let maximumOvertaking = 8

  private var begun: PeerMessage?
  private var count = 0
  private var overtaking = 0

  /// - Parameter piece: of the same kind as all others.
  /// - Returns: the message that ends with this piece, or arrives within a longer one; none while more must come; two
  ///   where the rest of the longer one is missing.
  mutating func add(_ piece: PeerMessage) -> [PeerMessage] {
    guard let first = begun else {
      guard piece.size >= Int(CWEBRTC_PIECE_SIZE), isUnfinished(piece, count: 1) else { return [piece] }
      (begun, count, overtaking) = (piece, 1, 0)
      return []
    }
    let message = first.joined(with: piece)
    if piece == "ping" || PeerChannel.isFrame(piece), !PeerChannel.isFrame(message) {
      overtaking += 1
      guard overtaking == Self.maximumOvertaking else { return [piece] }
      begun = nil
      return [first, piece]
    }
    count += 1
    begun = isUnfinished(message, count: count) ? message : nil
    return begun == nil ? [message] : []
  }

  private func isUnfinished(_ message: PeerMessage, count: Int) -> Bool {
    message.size <= PeerChannel.maximumIncomingSize && count < Self.maximumCount
      && PeerChannel.isUnfinishedFrame(message)
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
