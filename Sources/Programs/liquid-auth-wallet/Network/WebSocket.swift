import LiquidAuth
import NIOCore
import NIOWebSocket

/// One web socket, from the start of its opening; all of its state belongs to one event loop.
final class WebSocket: WebSocketConnection {
  private struct State {
    var channel: (any Channel)?
    var isOpen = false
    /// Whether a Close frame was sent, or the opening was cancelled.
    var isClosing = false
    /// Whether the end was reported.
    var hasEnded = false
    var failure: PortError?
  }

  /// The most time for a server's answer to a Close frame.
  private static let timeout = TimeAmount.seconds(1)

  /// The most bytes of one message.
  let maximumMessageSize: Int
  private let loop: any EventLoop
  private let deliver: @Sendable (WebSocketEvent) -> Void
  private let state: NIOLoopBoundBox<State>

  init(on loop: any EventLoop, maximumMessageSize: Int, deliver: @escaping @Sendable (WebSocketEvent) -> Void) {
    self.loop = loop
    self.maximumMessageSize = maximumMessageSize
    self.deliver = deliver
    state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: loop)
  }

  func send(_ text: String) {
    loop.execute {
      guard self.state.value.isOpen, !self.state.value.isClosing else { return }
      self.write(.text, ByteBuffer(string: text))
    }
  }

  func close() {
    loop.execute {
      guard !self.state.value.isClosing else { return }
      guard self.state.value.isOpen else {
        self.state.value.isClosing = true
        self.end()
        self.state.value.channel?.close(promise: nil)
        return
      }
      self.sendClose(.normalClosure)
    }
  }

  /// Ends the socket with an error, from any thread.
  func fail(_ failure: PortError) {
    loop.execute {
      self.note(failure)
      self.end()
      self.state.value.channel?.close(promise: nil)
    }
  }
}

// Calls of its channel's handlers, on the event loop.
extension WebSocket {
  /// The connection is made; the upgrade is pending.
  func isConnected(by channel: any Channel) {
    state.value.channel = channel
    if state.value.hasEnded { channel.close(promise: nil) }
  }

  /// The server has accepted the upgrade.
  func isUpgraded() {
    guard !state.value.hasEnded else { return }
    state.value.isOpen = true
    deliver(.open)
  }

  /// A whole message has arrived.
  func hear(_ text: String) {
    if !state.value.hasEnded, !state.value.isClosing { deliver(.text(text)) }
  }

  /// Closes with a status code after a fault of the server.
  func refuse(_ code: WebSocketErrorCode, _ failure: PortError) {
    note(failure)
    sendClose(code)
  }

  /// Records the reason for the end; the first one counts, and none during a normal close.
  func note(_ failure: PortError) {
    if state.value.failure == nil, !state.value.isClosing { state.value.failure = failure }
  }

  /// A Close frame has arrived; it is answered unless it is an answer itself.
  func isClosedByServer() {
    sendClose(.normalClosure)
    state.value.channel?.close(promise: nil)
  }

  /// The channel is closed: reports the end, once.
  func end() {
    guard !state.value.hasEnded else { return }
    state.value.hasEnded = true
    deliver(.closed(state.value.failure))
  }

  /// Whether the socket is being closed normally.
  var isClosing: Bool { state.value.isClosing }

  /// Sends one frame; fails if the server does not read, so that waiting data is limited (64 KiB and one message).
  func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
    guard state.value.channel?.isWritable != false else { return fail(.broken("it does not read what is sent")) }
    let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
    state.value.channel?.writeAndFlush(frame, promise: nil)
  }

  private func sendClose(_ code: WebSocketErrorCode) {
    guard !state.value.isClosing else { return }
    state.value.isClosing = true
    var data = ByteBuffer()
    data.write(webSocketErrorCode: code)
    write(.connectionClose, data)
    let channel = state.value.channel
    loop.scheduleTask(in: Self.timeout) { channel?.close(promise: nil) }
  }
}
