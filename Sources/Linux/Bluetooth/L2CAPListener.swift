import CLinux
package import EventLoop
package import Glibc
import ProcessIO
import Synchronization

/// A socket of L2CAP over Bluetooth Low Energy, on which one program nearby connects to this machine, without pairing.
///
/// It needs no root. The other side is unknown: it proves itself with what it sends.
package final class L2CAPListener: Polled {
  /// What happened.
  package enum Event: Equatable, Sendable {
    /// A packet came.
    case packet([UInt8])
    /// The connection has ended, or the socket failed; nothing follows.
    case closed
  }

  fileprivate struct State {
    /// The socket that listens, and then the connection; -1 once it is closed.
    var descriptor: Int32
    /// The most bytes of a packet to the other side; 0 before it connects.
    var packetSize = 0
    /// Packets that wait for room.
    var waiting: [ArraySlice<UInt8>] = []
    var watch: EventLoop.Watch?
    var deliver: (@Sendable (Event) -> Void)?
  }

  /// The PSM at which the other side connects, 0x80 to 0xFF.
  package let psm: UInt16
  private let maximumSize: Int
  private let packetSize: @Sendable (Int32) -> Int32
  private let state: Mutex<State>

  /// Listens; accepts nobody before ``serve(on:deliver:)``.
  ///
  /// - Parameter maximumSize: the most bytes of a packet from the other side.
  package convenience init(maximumSize: UInt16) throws(BluetoothFailure) {
    var psm: UInt16 = 0
    let descriptor = clinux_l2cap_listen(maximumSize, &psm)
    guard descriptor >= 0 else { throw .noConnections(SystemNumber()) }
    self.init(descriptor, psm: psm, maximumSize: maximumSize, packetSize: clinux_l2cap_packet_size)
  }

  /// Takes a non-blocking SOCK_SEQPACKET socket that listens.
  ///
  /// - Parameter packetSize: returns the most bytes of a packet to the other side of a connection; -1 with errno.
  package init(
    _ descriptor: Int32, psm: UInt16, maximumSize: UInt16, packetSize: @escaping @Sendable (Int32) -> Int32
  ) {
    (self.psm, self.maximumSize, self.packetSize) = (psm, Int(maximumSize), packetSize)
    state = Mutex(State(descriptor: descriptor))
  }

  deinit { close() }

  /// Accepts the first connection, and reads from it until the end or ``close()``; `deliver` is called on the loop's thread.
  package func serve(on loop: EventLoop, deliver: @escaping @Sendable (Event) -> Void) {
    state.withLock { $0.deliver = deliver }
    let watch = loop.watch(self)
    state.withLock { $0.watch = watch }
  }

  /// Sends bytes in packets that the other side takes; call it on the loop's thread.
  package func send(_ bytes: [UInt8]) {
    state.withLock { state in
      guard state.packetSize > 0 else { return }
      for start in stride(from: 0, to: bytes.count, by: state.packetSize) {
        state.waiting.append(bytes[start..<min(start + state.packetSize, bytes.count)])
      }
      state.write()
    }
  }

  /// Closes the socket or the connection; nothing is delivered after it returns.
  package func close() {
    let watch = state.withLock { state in
      state.close()
      state.deliver = nil
      return state.watch.take()
    }
    watch?.stop()
  }

  // MARK: The loop's thread

  package func interests(_ descriptors: inout [pollfd]) -> Int32 {
    state.withLock { state in
      // poll(2) passes over a descriptor of -1.
      let events = state.waiting.isEmpty ? POLLIN : POLLIN | POLLOUT
      descriptors.append(pollfd(fd: state.descriptor, events: Int16(events), revents: 0))
    }
    return -1
  }

  package func ready(_ descriptors: ArraySlice<pollfd>) {
    let (event, deliver) = state.withLock { state -> (Event?, (@Sendable (Event) -> Void)?) in
      guard state.descriptor >= 0 else { return (nil, nil) }
      let event = state.packetSize == 0 ? state.accept(packetSize) : state.read(atMost: maximumSize)
      state.write()
      if event == .closed { state.close() }
      return (event, state.deliver)
    }
    if let event { deliver?(event) }
  }
}

extension L2CAPListener.State {
  /// Takes the first connection in place of the socket that listens.
  fileprivate mutating func accept(_ size: (Int32) -> Int32) -> L2CAPListener.Event? {
    let connection = Glibc.accept(descriptor, nil, nil)
    guard connection >= 0 else { return Self.isPassing(errno) || errno == ECONNABORTED ? nil : .closed }
    Glibc.close(descriptor)
    descriptor = connection
    packetSize = Int(size(connection))
    return packetSize > 0 && fcntl(connection, F_SETFD, FD_CLOEXEC) == 0 ? nil : .closed
  }

  fileprivate func read(atMost size: Int) -> L2CAPListener.Event? {
    var bytes = [UInt8](repeating: 0, count: size)
    let count = recv(descriptor, &bytes, size, Int32(MSG_DONTWAIT))
    guard count >= 0 else { return Self.isPassing(errno) ? nil : .closed }
    return count == 0 ? .closed : .packet(Array(bytes.prefix(count)))
  }

  /// Writes what the kernel has room for; if the connection has failed, the next read says so.
  fileprivate mutating func write() {
    while let packet = waiting.first {
      let count = packet.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
      }
      if count < 0, Self.isPassing(errno) { return }
      waiting.removeFirst()
    }
  }

  fileprivate mutating func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    (descriptor, waiting, packetSize) = (-1, [], 0)
  }

  private static func isPassing(_ number: Int32) -> Bool { number == EAGAIN || number == EINTR }
}
