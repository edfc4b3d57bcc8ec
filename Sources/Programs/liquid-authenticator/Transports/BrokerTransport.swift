import CLinux
import CTAPHID
import ControlProtocol
import EventLoop
import Glibc
import HelperProcess
import ProcessIO
import StateDirectory
import UHID

/// The device of `liquid-auth-broker`, which opens `/dev/uhid` for us: `BrokerMessage`.
struct BrokerTransport: ReportTransport {
  /// How long systemd may take to start the broker.
  private static let limit = Duration.seconds(30)

  let name = "broker"
  private let connect: @Sendable () throws(SystemNumber) -> Int32
  private let trusted: [uid_t]
  private let clock: any MonotonicClock
  private let loop: EventLoop
  private let findNode: HIDRawNode.Search

  /// Uses a socket at which root listens.
  ///
  /// - Parameter connect: connects to it.
  init(connect: @escaping @Sendable () throws(SystemNumber) -> Int32, loop: EventLoop) {
    self.init(
      connect: connect, trusted: [UserNamespace.root], clock: loop, loop: loop, findNode: HIDRawNode.wait)
  }

  /// - Parameters:
  ///   - trusted: the users who may listen at the socket: systemd listens for the broker.
  ///   - findNode: finds the node of the device.
  init(
    connect: @escaping @Sendable () throws(SystemNumber) -> Int32, trusted: [uid_t],
    clock: any MonotonicClock, loop: EventLoop, findNode: @escaping HIDRawNode.Search
  ) {
    (self.connect, self.trusted) = (connect, trusted)
    (self.clock, self.loop, self.findNode) = (clock, loop, findNode)
  }

  /// Waits for a limited time until the broker has made the device, or has refused to; less if the task is cancelled.
  func attach() async throws(TransportError) -> any DeviceLink {
    let connecting = Task(executorPreference: loop) {
      await OwnThread.run(cancellable: { [self] cancellation in
        Result { () throws(TransportError) in try connected(cancellation) }
      })
    }
    let limit = Task(executorPreference: loop) { [clock] in
      do throws(CancellationError) { try await clock.sleep(until: clock.now.advanced(by: Self.limit)) } catch { return }
      connecting.cancel()
    }
    let outcome = await withTaskCancellationHandler {
      await connecting.value
    } onCancel: {
      connecting.cancel()
    }
    limit.cancel()
    guard let outcome else { throw TransportError("start a thread", errno: EAGAIN) }
    guard let connection = try outcome.get() else {
      throw TransportError(
        Task.isCancelled
          ? "the device was detached while the broker started"
          : "the broker does not answer; see: systemctl status liquid-auth-broker.socket")
    }
    return HIDDevice(BrokerConnection(descriptor: connection), clock: clock, on: loop) { [findNode] in
      findNode(.broker, String(geteuid()))
    }
  }

  /// A connection at which the broker is ready, or `nil` after a cancellation; blocks.
  private func connected(_ cancellation: Cancellation) throws(TransportError) -> Int32? {
    let connection: Int32
    do throws(SystemNumber) {
      connection = try connect()
    } catch {
      throw TransportError(
        "reach the broker at \(BrokerMessage.path)", errno: error.number, hint: Self.hint(error.number),
        remedy: Self.remedy(error.number))
    }
    do throws(TransportError) {
      if try isReady(connection, cancellation) { return connection }
    } catch {
      close(connection)
      throw error
    }
    close(connection)
    return nil
  }

  /// Waits until the broker is ready; returns `false` after a cancellation.
  private func isReady(_ connection: Int32, _ cancellation: Cancellation) throws(TransportError) -> Bool {
    var listener: uid_t = 0
    guard clinux_peer_user(connection, &listener) == 0, trusted.contains(listener) else {
      throw TransportError(
        "the broker at \(BrokerMessage.path) does not belong to root: another program listens there")
    }
    guard cancellation.wait(for: connection, POLLIN, until: nil) == .ready else { return false }
    var packet = [UInt8](repeating: 0, count: BrokerMessage.maximumSize)
    let count = recv(connection, &packet, packet.count, Int32(MSG_DONTWAIT))
    switch BrokerMessage(packet.prefix(max(0, count))) {
    case .ready: return true
    case .refused(let reason): throw TransportError("the broker made no device: \(reason)")
    case .closed, nil:
      throw TransportError("the broker ended; see: journalctl -u liquid-auth-broker")
    }
  }

  static func hint(_ number: Int32, hasSystemd: Bool = HelperProcess.hasSystemd) -> String {
    switch number {
    case EAGAIN: "the broker is busy; try again later"
    case ENOENT where !hasSystemd, ECONNREFUSED where !hasSystemd:
      "it needs systemd, which this machine does not run; use --transport uhid"
    case ENOENT, ECONNREFUSED: "start it with: \(starting.joined(separator: " "))"
    default: "see: systemctl status liquid-auth-broker.socket"
    }
  }

  /// What starts the broker, if nothing listens there.
  static func remedy(_ number: Int32, hasSystemd: Bool = HelperProcess.hasSystemd) -> Remedy? {
    hasSystemd && [ENOENT, ECONNREFUSED].contains(number) ? Remedy(starting) : nil
  }

  private static let starting = ["sudo", "systemctl", "enable", "--now", "liquid-auth-broker.socket"]
}

/// A connection at which the broker is ready.
private struct BrokerConnection: HIDConnection {
  /// How many packets are read in one call.
  private static let packetsAtOnce = 32
  /// How long the broker may take to remove the device.
  private static let removal = Duration.seconds(1)

  let descriptor: Int32

  func read(_ take: (DeviceEvent) -> Void) -> Bool {
    let size = Report.size
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size * Self.packetsAtOnce) { packets in
      withUnsafeTemporaryAllocation(of: Int.self, capacity: Self.packetsAtOnce) { lengths in
        let count = Int(
          clinux_receive_packets(descriptor, packets.baseAddress, size, Int32(Self.packetsAtOnce), lengths.baseAddress))
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        for index in 0..<count {
          // An empty packet is the end of the connection.
          guard lengths[index] > 0 else { return false }
          let packet = UnsafeBufferPointer(rebasing: packets[index * size..<index * size + min(lengths[index], size)])
          if lengths[index] == size, let report = Report(packet) {
            take(.report(report))
          } else if BrokerMessage(packet) == .closed {
            // The last client waits for no answer.
            take(.left(nil))
          }
        }
        return true
      }
    }
  }

  func write(_ reports: [Report]) {
    clinux_send_packets(descriptor, reports.flatMap(\.bytes), Report.size, Int32(reports.count))
  }

  /// Ends the connection, and waits until the broker has removed the device and closed its end.
  func close() {
    defer { Glibc.close(descriptor) }
    guard shutdown(descriptor, Int32(SHUT_WR)) == 0 else { return }
    let deadline = ContinuousClock.now + Self.removal
    var ended = pollfd.readable(descriptor)
    while deadline > .now, poll(&ended, 1, Int32((deadline - .now) / .milliseconds(1)) + 1) > 0 {
      var packet = [UInt8](repeating: 0, count: Report.size)
      guard recv(descriptor, &packet, packet.count, Int32(MSG_DONTWAIT)) > 0 else { return }
    }
  }
}
