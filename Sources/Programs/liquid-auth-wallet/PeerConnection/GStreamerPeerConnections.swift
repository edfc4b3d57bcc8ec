import CWebRTC
import Glibc
import LiquidAuth
import Synchronization

/// Peer connections with GStreamer's webrtcbin.
struct GStreamerPeerConnections: PeerConnectionPort {
  /// The connections that still hold threads and sockets.
  let open = OpenConnections()
  /// Whether GStreamer has been loaded, or found missing.
  let isLoaded = Latch()

  /// Loads GStreamer early, and gives up the system calls that only this needs; a missing part is reported when it is
  /// needed.
  func loadAhead() {
    try? Self.load()
    WalletSandbox.restrictSystemCalls()
    isLoaded.set()
  }

  /// Loads GStreamer, which may take seconds at its very first start, when it scans its plug-ins.
  static func load() throws(PortError) {
    guard let missing = cwebrtc_missing_element() else { return }
    throw PortError.unreachable(
      "GStreamer has no element \(String(cString: missing)); install gstreamer1.0-plugins-bad and gstreamer1.0-nice")
  }

  func make(
    iceServers: [ICEServer], channelLabel: String, bufferedAmountLowThreshold: Int,
    deliver: @escaping @Sendable (PeerEvent) -> Void
  ) throws(PortError) -> any PeerConnection {
    try Self.load()
    let servers = GStreamerServers(iceServers)
    let listener = PeerListener(open: open, deliver: deliver)
    return GStreamerPeerConnection(
      label: channelLabel, lowThreshold: bufferedAmountLowThreshold, servers: servers, listener: listener)
  }
}

/// One connection of webrtcbin.
private final class GStreamerPeerConnection: PeerConnection {
  private nonisolated(unsafe) let connection: OpaquePointer
  private let listener: PeerListener

  init(label: String, lowThreshold: Int, servers: GStreamerServers, listener: PeerListener) {
    self.listener = listener
    let owner = Unmanaged.passRetained(listener).toOpaque()
    let turnServers: [UnsafeMutablePointer<CChar>?] = servers.turn.map { strdup($0) } + [nil]
    defer { turnServers.forEach { free($0) } }
    connection = turnServers.withUnsafeBytes { bytes in
      cwebrtc_make(
        label, UInt64(PeerChannel.maximumIncomingSize), UInt64(lowThreshold), servers.stun,
        bytes.assumingMemoryBound(to: UnsafePointer<CChar>?.self).baseAddress,
        hearPeerConnection, owner)
    }
  }

  deinit {
    cwebrtc_close(connection)
    cwebrtc_release(connection)
  }

  func createOffer() { cwebrtc_create_offer(connection) }

  func setAnswer(_ sdp: String) {
    listener.answer = sdp
    cwebrtc_set_answer(connection, sdp)
  }

  func addCandidate(_ candidate: ICECandidate) {
    cwebrtc_add_candidate(connection, UInt32(candidate.sdpMLineIndex), CandidateLine.attribute(candidate.candidate))
  }

  func send(_ message: PeerMessage) {
    switch message {
    case .text(let text): cwebrtc_send(connection, text)
    case .binary(let bytes): cwebrtc_send_data(connection, bytes, bytes.count)
    }
  }

  var bufferedAmount: Int { Int(cwebrtc_buffered_amount(connection)) }

  func close() { cwebrtc_close(connection) }
}

/// Called on the connection's own thread; outside any actor, like all callbacks from C.
private func hearPeerConnection(
  _ owner: UnsafeMutableRawPointer?, _ event: cwebrtc_event, _ text: UnsafePointer<CChar>?, _ line: UInt32
) -> Bool {
  guard let owner, let text else { return false }
  let listener = Unmanaged<PeerListener>.fromOpaque(owner)
  guard event != CWEBRTC_FREED else {
    listener.takeRetainedValue().isFreed()
    return false
  }
  guard event != CWEBRTC_DATA else {
    return listener.takeUnretainedValue().hear(Array(UnsafeRawBufferPointer(start: text, count: Int(line))))
  }
  return listener.takeUnretainedValue().hear(event, String(cString: text), line: Int(line))
}

/// Passes the events of webrtcbin on to the owner of the connection.
private final class PeerListener: Sendable {
  private struct State {
    var answer = ""
    var tags: [String] = []
    var texts = MessagePieces()
    var data = MessagePieces()
  }

  private let open: OpenConnections
  private let deliver: @Sendable (PeerEvent) -> Void
  private let state = Mutex(State())

  init(open: OpenConnections, deliver: @escaping @Sendable (PeerEvent) -> Void) {
    self.open = open
    self.deliver = deliver
    open.add()
  }

  /// The remote description.
  var answer: String {
    get { state.withLock(\.answer) }
    set { state.withLock { $0.answer = newValue } }
  }

  func isFreed() { open.remove() }

  /// - Returns: whether the connection may continue.
  func hear(_ bytes: [UInt8]) -> Bool {
    for message in state.withLock({ $0.data.add(.binary(bytes)) }) { deliver(.message(message)) }
    return true
  }

  /// - Returns: whether the connection may continue.
  func hear(_ event: cwebrtc_event, _ text: String, line: Int) -> Bool {
    switch event {
    case CWEBRTC_OFFER:
      state.withLock { $0.tags = CandidateLine.mediaTags(in: text) }
      deliver(.offer(text))
    case CWEBRTC_CANDIDATE:
      let tag = state.withLock { $0.tags.indices.contains(line) ? $0.tags[line] : nil }
      deliver(.candidate(ICECandidate(candidate: CandidateLine.value(text), sdpMid: tag, sdpMLineIndex: line)))
    case CWEBRTC_OPEN:
      // webrtcbin does not check the fingerprints; RFC 8122 §6.2 requires it, before a byte of either side passes.
      guard PeerCertificate(pem: text)?.isNamed(inAnswer: answer) == true else {
        deliver(.failed("the peer's certificate is not the one that its answer names"))
        return false
      }
      deliver(.channelOpen)
    case CWEBRTC_MESSAGE:
      for message in state.withLock({ $0.texts.add(.text(text)) }) { deliver(.message(message)) }
    case CWEBRTC_NO_RELAY: deliver(.noRelay)
    case CWEBRTC_CLOSED: deliver(.channelClosed)
    case CWEBRTC_LOW: deliver(.bufferedAmountLow)
    default: deliver(.failed(text))
    }
    return true
  }
}

/// Counts the connections that are not freed yet, so that a program can wait for the last one before it ends.
final class OpenConnections: Sendable {
  private struct State {
    var count = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// A connection was made.
  func add() { state.withLock { $0.count += 1 } }

  /// A connection was freed.
  func remove() {
    let waiting = state.withLock { state in
      state.count -= 1
      guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiting = [] }
      return state.waiting
    }
    waiting.forEach { $0.resume() }
  }

  /// Returns when no connection is left.
  func drained() async {
    await withCheckedContinuation { continuation in
      let isEmpty = state.withLock { state in
        if state.count > 0 { state.waiting.append(continuation) }
        return state.count == 0
      }
      if isEmpty { continuation.resume() }
    }
  }
}
