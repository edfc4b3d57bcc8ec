import CWebRTC
import LiquidAuth

/// Joins the pieces in which GStreamer delivers a long message of one kind; it does not mark the last.
///
/// A piece that is not the last has ``CWEBRTC_PIECE_SIZE`` bytes or more. A whole message can have as many. It is complete
/// if its CBOR is: what dApps send is CBOR, or base64 of it.
struct MessagePieces {
  private var begun: PeerMessage?

  /// - Parameter piece: of the same kind as all others.
  /// - Returns: the message that ends with this piece; `nil` while more of it must come.
  mutating func take(_ piece: PeerMessage) -> PeerMessage? {
    let isLong = piece.size >= Int(CWEBRTC_PIECE_SIZE)
    guard begun != nil || isLong else { return piece }
    let message = begun.map { $0.joined(with: piece) } ?? piece
    let isUnfinished =
      isLong && message.size <= PeerChannel.maximumIncomingSize && PeerChannel.isUnfinishedFrame(message)
    begun = isUnfinished ? message : nil
    return isUnfinished ? nil : message
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
