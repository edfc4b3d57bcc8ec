import CTAPHID
import Glibc
import Synchronization

/// The device behind a listening socket.
///
/// All clients see all answers, as all that have a hidraw node open do: the channel says whose they are.
final class UnixSocketDevice: DeviceLink, Polled {
  /// How many clients may be connected; one more is turned away.
  static let clientLimit = 32

  let reports: AsyncStream<Report>

  private let incoming: AsyncStream<Report>.Continuation
  private let listener: ListeningSocket
  private let clients = Mutex<[Int32]>([])
  private let arrivals = ArrivalPause()
  private let thread = Mutex<PollThread?>(nil)

  /// Serves the clients of the listener, which is closed with the device.
  init(_ listener: ListeningSocket) throws(TransportError) {
    self.listener = listener
    (reports, incoming) = ReportBuffer.make()
    do throws(TransportError) {
      let thread = try PollThread(self)
      self.thread.withLock { $0 = thread }
    } catch {
      listener.removeFile()
      Glibc.close(listener.descriptor)
      throw error
    }
  }

  func node() async -> DeviceNode? { DeviceNode(listener.path) }

  func send(_ reports: [Report]) {
    clients.withLock { clients in
      for client in clients {
        for report in reports { _ = Glibc.send(client, report.bytes, report.bytes.count, Int32(MSG_NOSIGNAL)) }
      }
    }
  }

  func close() {
    guard let thread = thread.withLock({ $0.take() }) else { return }
    listener.removeFile()
    thread.stop()
    Glibc.close(listener.descriptor)
    clients.withLock { clients in
      clients.forEach { Glibc.close($0) }
      clients = []
    }
    incoming.finish()
  }

  // MARK: The reading thread

  func interests() -> (descriptors: [pollfd], timeout: Int32) {
    let (arriving, timeout) = arrivals.interest(in: listener.descriptor)
    return ([arriving] + clients.withLock { $0 }.map(pollfd.readable), timeout)
  }

  func ready(_ descriptors: [pollfd]) {
    for client in descriptors.dropFirst() where client.isReadable && !read(client.fd) { drop(client.fd) }
    arrivals.end()
    if descriptors[0].isReadable { accept() }
  }

  /// Takes one packet; false when the client has gone.
  private func read(_ client: Int32) -> Bool {
    var packet = [UInt8](repeating: 0, count: Report.size + 2)
    let count = recv(client, &packet, packet.count, 0)
    guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
    // A packet of another size is no report, and is not answered.
    if let report = Report(hostBytes: packet.prefix(count)) { incoming.yield(report) }
    return true
  }

  private func drop(_ client: Int32) {
    clients.withLock { clients in
      clients.removeAll { $0 == client }
      Glibc.close(client)
    }
  }

  private func accept() {
    switch listener.accept() {
    case .none: return
    case .noRoom: arrivals.begin()
    case .connection(let client):
      let isTaken = clients.withLock { clients in
        guard clients.count < Self.clientLimit else { return false }
        clients.append(client)
        return true
      }
      if !isTaken { Glibc.close(client) }
    }
  }
}
