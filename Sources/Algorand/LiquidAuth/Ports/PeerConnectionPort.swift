/// The port to WebRTC: peer connections with exactly one data channel.
///
/// The wallet makes the offer (RFC 8829 §5.2): an adapter creates the channel before the offer, ordered and reliable,
/// with the given label, announced in-band (RFC 8832), without audio and video.
public protocol PeerConnectionPort: Sendable {
  /// Makes an idle connection, and reports its events to `deliver`.
  ///
  /// `deliver` may be called on any thread but never on two at a time, and never blocks. After
  /// ``PeerEvent/channelClosed`` or ``PeerEvent/failed(_:)`` it is not called again.
  ///
  /// - Parameters:
  ///   - iceServers: STUN and TURN servers; if there are none, none is used.
  ///   - channelLabel: the data channel's label, `liquid`.
  ///   - bufferedAmountLowThreshold: the threshold of ``PeerEvent/bufferedAmountLow``, in bytes.
  func make(
    iceServers: [ICEServer], channelLabel: String, bufferedAmountLowThreshold: Int,
    deliver: @escaping @Sendable (PeerEvent) -> Void
  ) throws(PortError) -> any PeerConnection
}

/// One peer connection with its data channel.
///
/// No method blocks, and only ``PeerConnectionPort/make(iceServers:channelLabel:bufferedAmountLowThreshold:deliver:)``
/// throws: later failures are reported as ``PeerEvent/failed(_:)``. After ``close()`` every method does nothing.
public protocol PeerConnection: Sendable {
  /// Makes the offer, sets it as the local description and begins to gather candidates.
  ///
  /// It is reported as ``PeerEvent/offer(_:)``, once, before any candidate.
  func createOffer()
  /// Sets the dApp's answer as the remote description; called once at most.
  ///
  /// The caller has checked: at most 32 KiB, no control characters, as many media sections as the offer, one of them
  /// the data channel's, and ``CertificateFingerprints``. The rest is the dApp's choice. The adapter must refuse a peer
  /// with another certificate before a message passes (RFC 8122 §6.2).
  func setAnswer(_ sdp: String)
  /// Adds a candidate of the dApp; never before ``setAnswer(_:)``, and at most 64.
  ///
  /// It is one line of at most 1024 bytes that begins with `candidate:`, for a media section of the offer.
  func addCandidate(_ candidate: ICECandidate)
  /// Sends one message over the open channel, after all earlier ones.
  func send(_ message: PeerMessage)
  /// Bytes of messages that `send` accepted and the channel has not sent yet.
  var bufferedAmount: Int { get }
  /// Closes channel and connection and releases their resources; a second call does nothing.
  ///
  /// Messages that `send` accepted before are still delivered, for at most a second. May be called within `deliver`.
  func close()
}

/// An event of a peer connection.
public enum PeerEvent: Equatable, Sendable {
  /// The offer is made: a session description to send unchanged.
  case offer(String)
  /// One local candidate was gathered (trickle ICE, RFC 8838); the end of gathering is not reported.
  case candidate(ICECandidate)
  /// There are TURN servers, and none gave an address: none was reachable, or none accepted the credentials. Reported
  /// at most once, before or after the channel is open.
  case noRelay
  /// The data channel is open.
  case channelOpen
  /// A whole message.
  case message(PeerMessage)
  /// The channel was closed by either side; the peer is gone.
  case channelClosed
  /// The connection could not be made, or is lost; with the adapter's reason, lower case, no full stop.
  case failed(String)
  /// The buffered amount fell from above the threshold to it or below.
  case bufferedAmountLow
}

/// One message of a data channel, text or binary: RFC 8831 §6.6.
///
/// Texts are compared by their bytes.
public enum PeerMessage: Hashable, Sendable, ExpressibleByStringLiteral {
  /// A text in UTF-8.
  case text(String)
  /// Bytes.
  case binary([UInt8])

  /// A text.
  public init(stringLiteral text: String) { self = .text(text) }

  /// Compares the kinds and the bytes.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.text(let left), .text(let right)): left.isSame(as: right)
    case (.binary(let left), .binary(let right)): left == right
    default: false
    }
  }

  /// Hashes the kind and the bytes.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .text(let text):
      hasher.combine(0 as UInt8)
      for byte in text.utf8 { hasher.combine(byte) }
    case .binary(let bytes):
      hasher.combine(1 as UInt8)
      hasher.combine(bytes)
    }
  }

  /// The number of bytes.
  public var size: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let bytes): bytes.count
    }
  }
}

/// A STUN or TURN server: RFC 8829 §4.1.1, RTCIceServer of WebRTC.
public struct ICEServer: Equatable, Sendable {
  /// One or more of its addresses: `stun:`, `stuns:`, `turn:` or `turns:` (RFC 7064, RFC 7065).
  public let urls: [String]
  /// The user of a TURN server.
  public let username: String?
  /// That user's password.
  public let credential: String?

  public init(urls: [String], username: String? = nil, credential: String? = nil) {
    self.urls = urls
    self.username = username
    self.credential = credential
  }
}

extension ICEServer: CustomStringConvertible, CustomReflectable {
  /// The addresses only, so that a password in a log stays secret.
  public var description: String { "ICEServer(\(urls.joined(separator: ", ")))" }

  /// No children: a dump shows no more than ``description``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// One way to reach a peer, RTCIceCandidateInit of WebRTC: RFC 8839 §5.1.
public struct ICECandidate: Hashable, Sendable {
  /// The attribute without `a=`: `candidate:` and what follows.
  public let candidate: String
  /// The identification tag of the media section it belongs to (RFC 5888).
  public let sdpMid: String?
  /// The index of that media section, from 0.
  public let sdpMLineIndex: Int

  public init(candidate: String, sdpMid: String?, sdpMLineIndex: Int) {
    self.candidate = candidate
    self.sdpMid = sdpMid
    self.sdpMLineIndex = sdpMLineIndex
  }
}
