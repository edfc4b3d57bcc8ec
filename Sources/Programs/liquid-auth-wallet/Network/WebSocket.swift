import CNetwork
import CryptoPrimitives
import HTTP
import LiquidAuth
import Synchronization

/// One web socket, from the start of its opening: all of its work happens on the network's thread.
final class WebSocket: WebSocketConnection {
  private struct State {
    var progress: WebSocketProgress
    var connection: Connection?
    /// Whether the end was delivered.
    var isOver = false
  }

  private let network: NetworkThread
  private let deliver: @Sendable (WebSocketProgress.Event) -> Void
  private let state: Mutex<State>

  /// Begins to open it.
  init(
    on network: NetworkThread, at place: WebSocketPlace, _ progress: WebSocketProgress,
    deliver: @escaping @Sendable (WebSocketProgress.Event) -> Void
  ) {
    self.network = network
    self.deliver = deliver
    state = Mutex(State(progress: progress))
    let isBegun = network.perform { [self] in
      let connection = Connection(on: network, to: place, heardBy: self)
      state.withLock { $0.connection = connection }
    }
    if !isBegun { deliver(.closed(.unreachable("the wallet stopped"))) }
  }

  func send(_ text: String) {
    network.perform { [self] in advance { $0.send(text, waiting: $1) } }
  }

  /// Sends a binary message.
  func send(_ bytes: [UInt8]) {
    network.perform { [self] in advance { $0.send(bytes, waiting: $1) } }
  }

  /// The head of the answer that opened the socket; `nil` before.
  var answer: MessageHead? { state.withLock { $0.progress.answer } }

  func close() {
    network.perform { [self] in advance { $0.close(waiting: $1) } }
  }

  /// Hears from the connection, on the network's thread.
  fileprivate func hear(_ sound: WebSocketProgress.Sound) { advance { $0.hear(sound, waiting: $1) } }

  /// Takes the next steps; they can lead to others before they are done, if a write fails.
  private func advance(_ change: (inout WebSocketProgress, Int) -> [WebSocketProgress.Step]) {
    let (connection, steps) = state.withLock { state in
      (state.connection, change(&state.progress, state.connection?.waiting ?? 0))
    }
    for step in steps {
      switch step {
      case .write(let bytes): connection?.write(bytes)
      case .close(let delay): connection?.close(after: delay)
      case .deliver(let event):
        let isLate = state.withLock { state in
          defer { if case .closed = event { state.isOver = true } }
          return state.isOver
        }
        if !isLate { deliver(event) }
      }
    }
  }
}

/// A connection; its functions are called on the network's thread.
private final class Connection: Sendable {
  private nonisolated(unsafe) let connection: OpaquePointer

  /// Begins to connect; the socket lives until it has heard of the end.
  init(on network: NetworkThread, to place: WebSocketPlace, heardBy socket: WebSocket) {
    connection = network.withUnsafePointer { network in
      cnetwork_connect(
        network, place.host, UInt16(place.port), place.isSecure, NetworkThread.connectionTimeout.milliseconds,
        hearConnection, Unmanaged.passRetained(socket).toOpaque())
    }
  }

  deinit { cnetwork_connection_release(connection) }

  var waiting: Int { cnetwork_waiting(connection) }
  func write(_ bytes: [UInt8]) { cnetwork_write(connection, bytes, bytes.count) }
  func close(after delay: Duration) { cnetwork_close(connection, delay.milliseconds) }
}

/// Outside any actor, like all callbacks from C.
private func hearConnection(
  _ owner: UnsafeMutableRawPointer?, _ event: cnetwork_event, _ bytes: UnsafePointer<UInt8>?, _ count: Int,
  _ end: cnetwork_end, _ number: Int32
) {
  guard let owner else { return }
  let socket = Unmanaged<WebSocket>.fromOpaque(owner)
  switch event {
  case CNETWORK_CONNECTED: socket.takeUnretainedValue().hear(.connected)
  case CNETWORK_BYTES:
    socket.takeUnretainedValue().hear(.bytes(Array(UnsafeBufferPointer(start: bytes, count: count))))
  default: socket.takeRetainedValue().hear(.ended(PortError(end, number: number)))
  }
}
