/// The port to WebRTC: peer connections that have one data channel and nothing else.
///
/// The wallet makes the offer (RFC 8829 §5.2): an adapter creates the channel before the offer, ordered and reliable,
/// with the label given and not negotiated outside the connection (RFC 8832), without audio and without video.
public protocol PeerConnectionPort: Sendable {
  /// Makes a connection that does nothing yet; what becomes of it is told to `deliver`.
  ///
  /// `deliver` may be called on any thread but never on two at a time, and never waits. After
  /// ``PeerEvent/channelClosed`` or ``PeerEvent/failed(_:)`` it is called no more.
  ///
  /// - Parameters:
  ///   - iceServers: STUN and TURN servers; none is asked when there are none.
  ///   - channelLabel: the data channel's label, `liquid`.
  ///   - bufferedAmountLowThreshold: when ``PeerEvent/bufferedAmountLow`` is told, in bytes.
  func make(
    iceServers: [ICEServer], channelLabel: String, bufferedAmountLowThreshold: Int,
    deliver: @escaping @Sendable (PeerEvent) -> Void
  ) throws(PortError) -> any PeerConnection
}

/// One peer connection with its data channel.
///
/// No method waits, and none but ``PeerConnectionPort/make(iceServers:channelLabel:bufferedAmountLowThreshold:deliver:)``
/// throws: what fails later is told as ``PeerEvent/failed(_:)``. After ``close()`` every method does nothing.
public protocol PeerConnection: Sendable {
  /// Makes the offer, sets it as the local description and begins to gather candidates.
  ///
  /// It is told as ``PeerEvent/offer(_:)``, once, before any candidate.
  func createOffer()
  /// Sets the dApp's answer as the remote description; called once at most.
  ///
  /// It was looked at before: at most 32 KiB, without control characters, as many media sections as the offer, one of
  /// them the data channel's, and ``CertificateFingerprints``. Everything else in it is the dApp's word. A peer whose certificate
  /// is not one of those is refused before a message passes (RFC 8122 §6.2): the adapter's to keep.
  func setAnswer(_ sdp: String)
  /// Adds a candidate of the dApp's; never before ``setAnswer(_:)``, and not more than 64.
  ///
  /// It is one line of at most 1024 bytes that begins with `candidate:`, for a media section that the offer has.
  func addCandidate(_ candidate: ICECandidate)
  /// Sends one message over the open channel, after all that were sent before.
  func send(_ message: PeerMessage)
  /// Bytes of messages that `send` took and the channel has not sent yet.
  var bufferedAmount: Int { get }
  /// Ends channel and connection and frees what they hold; a second call does nothing.
  ///
  /// What `send` took before is given to the peer first, but no longer than a second. May be called within `deliver`.
  func close()
}

/// What happens on one peer connection.
public enum PeerEvent: Equatable, Sendable {
  /// The offer is made: a session description, as it shall be sent.
  case offer(String)
  /// One candidate of our own was gathered (trickle ICE, RFC 8838); the end of gathering is not told.
  case candidate(ICECandidate)
  /// There are TURN servers, and none gave an address: none was reached, or none let us in. Told once, if at all, before
  /// the channel is open or after.
  case noRelay
  /// The data channel is open.
  case channelOpen
  /// A message, whole.
  case message(PeerMessage)
  /// The channel is closed, by either side; the peer is gone.
  case channelClosed
  /// The connection could not be made, or is lost; the reason is the adapter's, lower case, no full stop.
  case failed(String)
  /// The buffered amount fell from above the threshold to it or below.
  case bufferedAmountLow
}

/// One message of a data channel, of one of its two kinds: RFC 8831 §6.6.
public enum PeerMessage: Hashable, Sendable, ExpressibleByStringLiteral {
  /// A text in UTF-8.
  case text(String)
  /// Bytes.
  case binary([UInt8])

  /// A text.
  public init(stringLiteral text: String) { self = .text(text) }

  /// How many bytes it has.
  public var size: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let bytes): bytes.count
    }
  }
}

/// A STUN or TURN server: RFC 8829 §4.1.1, RTCIceServer of WebRTC.
public struct ICEServer: Equatable, Sendable {
  /// One or more addresses of it: `stun:`, `stuns:`, `turn:` or `turns:` (RFC 7064, RFC 7065).
  public let urls: [String]
  /// The user of a TURN server.
  public let username: String?
  /// That user's password.
  public let credential: String?

  /// Joins the three; STUN servers have the first alone.
  public init(urls: [String], username: String? = nil, credential: String? = nil) {
    self.urls = urls
    self.username = username
    self.credential = credential
  }
}

/// One way to reach a peer, RTCIceCandidateInit of WebRTC: RFC 8839 §5.1.
public struct ICECandidate: Hashable, Sendable {
  /// The attribute without `a=`: `candidate:` and what follows.
  public let candidate: String
  /// The identification tag of the media section it belongs to (RFC 5888).
  public let sdpMid: String?
  /// The index of that media section, from 0.
  public let sdpMLineIndex: Int

  /// Joins the three.
  public init(candidate: String, sdpMid: String?, sdpMLineIndex: Int) {
    self.candidate = candidate
    self.sdpMid = sdpMid
    self.sdpMLineIndex = sdpMLineIndex
  }
}
