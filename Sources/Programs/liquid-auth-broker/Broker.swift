import CLinux
import CTAPHID
import Glibc
import UHID

/// Makes one device for each user who sits at this machine, and relays its reports: `BrokerMessage`.
///
/// A client can choose nothing about the device, and cannot send any event of uhid but a report of 64 bytes.
struct Broker {
  /// How many clients can have a device.
  static let maximumClients = 16
  /// How long the broker waits for the next client after the last one has disconnected, in milliseconds.
  static let lingering: Int32 = 10_000
  /// How long the broker waits before it ends because it could not open `/dev/uhid`, in milliseconds.
  ///
  /// This limits clients to five starts of the broker a second. After 20 starts in two seconds, systemd stops the socket:
  /// `TriggerLimitBurst=` in systemd.socket(5).
  fileprivate static let pauseAfterFailure: UInt32 = 200
  /// The most threads that close connections: removals of devices need some, too.
  fileprivate static let maximumClosings: Int32 = 64
  /// How long clients wait, at most, for the removal of another client's device, in milliseconds.
  fileprivate static let removal: Int32 = 200

  /// A listening SOCK_SEQPACKET socket, non-blocking.
  let listener: Int32
  /// Opens `/dev/uhid`; -1 with errno if that fails.
  let open: () -> Int32
  /// Whether a user has a session at this machine; with `isActive`, one in the foreground.
  let isAtSeat: (_ user: uid_t, _ isActive: Bool) -> Bool
  let log: (String) -> Void
  private(set) var relays: [Relay] = []
  /// Whether `/dev/uhid` could not be opened.
  ///
  /// systemd allows only the devices that exist when it starts the broker: `DeviceAllow=`. If the module was loaded
  /// later, only the next broker can open the device.
  private var hasFailedToOpen = false

  init(
    listener: Int32, open: @escaping () -> Int32, isAtSeat: @escaping (uid_t, Bool) -> Bool,
    log: @escaping (String) -> Void
  ) {
    (self.listener, self.open, self.isAtSeat, self.log) = (listener, open, isAtSeat, log)
    clinux_refuse_descriptors(listener)
  }

  /// How long ``run(sessions:isReplaced:)`` waits for the next client while none has a device, in milliseconds.
  var rest: Int32 { hasFailedToOpen ? 0 : Self.lingering }

  /// Serves clients until none is left and none comes, or until none is left and an upgrade has replaced this program or
  /// `/dev/uhid` could not be opened.
  ///
  /// It also waits for its threads: until the last one ends, the process remains, and systemd starts no other.
  ///
  /// - Parameter sessions: a descriptor that is readable after a change of sessions; or -1.
  mutating func run(sessions: Int32, isReplaced: () -> Bool) {
    while true {
      let hasThreads = clinux_running_threads() > 0
      let limit = hasThreads ? Self.removal : rest
      let isIdle = !serve(sessions: sessions, timeout: relays.isEmpty ? limit : -1)
      guard relays.isEmpty && clinux_running_threads() == 0 else { continue }
      if hasFailedToOpen {
        usleep(Self.pauseAfterFailure * 1000)
        return
      }
      if isReplaced() || isIdle && !hasThreads { return }
    }
  }

  /// Waits for events and handles them; returns `false` if none came in time.
  mutating func serve(sessions: Int32, timeout: Int32) -> Bool {
    var descriptors = [pollfd(listener), pollfd(sessions)]
    for relay in relays { descriptors += [pollfd(relay.client), pollfd(relay.device.descriptor)] }
    let count = poll(&descriptors, nfds_t(descriptors.count), timeout)
    guard count > 0 else { return count < 0 && errno == EINTR }
    for index in relays.indices.reversed() {
      let (client, device) = (descriptors[2 + 2 * index].revents, descriptors[3 + 2 * index].revents)
      if let end = relays[index].relay(isClientReady: client != 0, isDeviceReady: device != 0) { remove(index, end) }
    }
    if descriptors[1].revents != 0 { sessionsChanged(sessions) }
    if descriptors[0].revents != 0 { accept() }
    return true
  }

  private mutating func accept() {
    let client = Glibc.accept(listener, nil, nil)
    guard client >= 0 else {
      // The system has no descriptor or memory, and poll(2) reports the connection again.
      if errno != EAGAIN && errno != ECONNABORTED { usleep(100_000) }
      return
    }
    // A client that connected before the broker started can still pass descriptors.
    clinux_refuse_descriptors(client)
    var user: uid_t = 0
    guard clinux_peer_user(client, &user) == 0 else {
      disconnect(client)
      return
    }
    do throws(Refusal) {
      let device = try makeDevice(for: user)
      relays.append(Relay(client: client, user: user, device: device))
      BrokerMessage.ready.send(to: client)
      log("user \(user): the device was made")
    } catch {
      log("user \(user): refused: \(error.reason)")
      BrokerMessage.refused(error.reason).send(to: client)
      disconnect(client)
    }
  }

  private struct Refusal: Error {
    let reason: String
  }

  private mutating func makeDevice(for user: uid_t) throws(Refusal) -> UHIDConnection {
    guard isAtSeat(user, true) else {
      throw Refusal(reason: "you have no active session at this machine; log in at its screen, not over the network")
    }
    guard !relays.contains(where: { $0.user == user }) else {
      throw Refusal(reason: "another program of yours has a device; stop the other liquid-authenticator")
    }
    guard relays.count < Self.maximumClients else {
      throw Refusal(reason: "\(Self.maximumClients) users have a device already")
    }
    let descriptor = open()
    guard descriptor >= 0 else {
      hasFailedToOpen = true
      throw Refusal(reason: "the broker cannot open \(UHIDConnection.path): \(systemMessage())")
    }
    guard let device = UHIDConnection(creating: .broker, serial: String(user), on: descriptor) else {
      let fault = systemMessage()
      close(descriptor)
      throw Refusal(reason: "the broker cannot create the device: \(fault)")
    }
    return device
  }

  /// Removes the devices of users who have logged out.
  private mutating func sessionsChanged(_ sessions: Int32) {
    var events = [UInt8](repeating: 0, count: 4096)
    while read(sessions, &events, events.count) > 0 {}
    for index in relays.indices.reversed() where !isAtSeat(relays[index].user, false) { remove(index, .loggedOut) }
  }

  private mutating func remove(_ index: Int, _ end: Relay.End) {
    let relay = relays.remove(at: index)
    destroy(relay.device)
    disconnect(relay.client)
    log("user \(relay.user): the device was removed: \(end.rawValue)")
  }
}

/// Removes a device on a thread of its own.
///
/// The kernel removes no device while a program asks any hidraw node for a feature report. That can be the node of another
/// client, and then the main thread has to answer. It waits only for a short time, so that usually the old node is gone
/// before the same user gets a new one.
private func destroy(_ device: UHIDConnection) {
  let argument = UnsafeMutablePointer<UHIDConnection>.allocate(capacity: 1)
  argument.initialize(to: device)
  let work: @convention(c) (UnsafeMutableRawPointer?) -> Void = { argument in
    let device = argument?.assumingMemoryBound(to: UHIDConnection.self)
    device?.pointee.destroy()
    device?.deallocate()
  }
  // Without room for a thread, the device is removed here.
  if clinux_run_on_thread(work, argument, Broker.removal) != 0 { work(argument) }
}

/// Closes a connection on a thread of its own.
///
/// This drops the packets that were not received. One of them can hold the last reference to a file whose close waits for
/// as long as the client chooses: a socket with SO_LINGER, or a file of FUSE, for which not even SIGKILL ends the wait.
/// If too many threads wait already, the descriptor stays open.
private func disconnect(_ client: Int32) {
  shutdown(client, Int32(SHUT_RDWR))
  // Other threads end in less than that.
  for _ in 0..<50 where clinux_running_threads() >= Broker.maximumClosings { usleep(1000) }
  guard clinux_running_threads() < Broker.maximumClosings else { return }
  _ = clinux_run_on_thread({ close(Int32(Int(bitPattern: $0))) }, UnsafeMutableRawPointer(bitPattern: Int(client)), 0)
}

/// One device and its client.
struct Relay {
  /// How many packets are read, or written, in one system call.
  private static let packetsAtOnce = 32

  /// Why a device was removed.
  enum End: String {
    case left = "its client has left"
    case invalid = "its client sent a packet that is not a report"
    case ended = "the kernel has ended it"
    case loggedOut = "its user has logged out"
  }

  /// The connection; it is read and written without waiting.
  let client: Int32
  let user: uid_t
  let device: UHIDConnection

  /// Relays what waits, at most ``packetsAtOnce`` reports in each direction; returns why the device ended, if it did.
  func relay(isClientReady: Bool, isDeviceReady: Bool) -> End? {
    if isDeviceReady, let end = toClient() { return end }
    return isClientReady ? toDevice() : nil
  }

  private func toDevice() -> End? {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Report.size * Self.packetsAtOnce) { packets in
      guard let start = packets.baseAddress else { return .left }
      var count = 0
      var end: End?
      while end == nil && count < Self.packetsAtOnce {
        let length = clinux_receive_packet(client, start + count * Report.size, Report.size)
        if length < 0 && (errno == EAGAIN || errno == EINTR) { break }
        switch length {
        case Report.size: count += 1
        case 0: end = .left
        case -1: end = errno == EBADMSG ? .invalid : .left
        default: end = .invalid
        }
      }
      if count > 0 { device.write(start, count: count) }
      return end
    }
  }

  private func toClient() -> End? {
    var reports: [UInt8] = []
    var end: End?
    read: for _ in 0..<Self.packetsAtOnce {
      switch device.next() {
      case .report(let report): reports += report.bytes
      case .closed:
        send(&reports)
        BrokerMessage.closed.send(to: client)
      case .other: continue
      case .none: break read
      case .ended:
        end = .ended
        break read
      }
    }
    send(&reports)
    return end
  }

  /// Sends reports; those for which the socket has no room are lost, as in the kernel's ring.
  private func send(_ reports: inout [UInt8]) {
    guard !reports.isEmpty else { return }
    clinux_send_packets(client, reports, Report.size, Int32(reports.count / Report.size))
    reports = []
  }
}

extension BrokerMessage {
  /// Sends the packet, unless the socket has no room for it.
  fileprivate func send(to client: Int32) {
    let bytes = bytes
    clinux_send_packets(client, bytes, bytes.count, 1)
  }
}

extension pollfd {
  fileprivate init(_ descriptor: Int32) { self.init(fd: descriptor, events: Int16(POLLIN), revents: 0) }
}
