import Glibc
import TestSupport
import TestVectors

@testable import CTAPHID
@testable import UHID

/// Reports between a client and the device, the events and packets that carry them, and the descriptors of other devices.
enum TransportTargets {
  static let all: [Target] = [
    Target(
      "ctaphid", of: "reports of several clients to the device, with time between them", atMost: 2048,
      seeds: { deviceSeeds }, read: readOfDevice),
    Target(
      "ctaphid-client", of: "reports of a device to a client, 64 bytes each", atMost: 2048,
      seeds: {
        try Vector("ctaphid-device-reports").reports.members.sorted { $0.key < $1.key }
          .map { $0.value.frames.array.flatMap(\.bytes) }
      }, read: readOfClient),
    Target(
      "uhid-event", of: "an event of /dev/uhid", atMost: 4380,
      seeds: {
        [event(6, size: 65), event(6, size: 64), [2, 0, 0, 0], [4, 0, 0, 0], [5, 0, 0, 0], event(9, size: 0)]
      },
      read: readEvent),
    Target(
      "broker-message", of: "a packet of liquid-auth-broker, or a report", atMost: 520,
      seeds: { [[1], [2], [0] + Array("no".utf8), [UInt8](repeating: 0, count: 65)] }, read: readBrokerMessage),
    Target(
      "report-descriptor", of: "the report descriptor of a HID device", atMost: 512,
      seeds: {
        let (ours, keyboard): ([UInt8], [UInt8]) = (
          UHIDIdentity.reportDescriptor, [0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0xC0]
        )
        // Our items after those of a keyboard, and after a long one; and a usage with its page.
        return [ours, keyboard + ours, [0xFE, 0x01, 0x00, 0x06] + ours, [0x0B, 0x01, 0x00, 0xD0, 0xF1]]
      }, read: readReportDescriptor),
  ]

  // MARK: - The device

  private static let clients: [UInt32] = [0x0A0B_0C01, 0x0A0B_0C02, 0x1122_3344, 0, 0xFFFF_FFFF]
  private static let commands: [CTAPHIDCommand] = [
    .ping, .msg, .lock, .initialize, .wink, .cbor, .cancel, .keepalive, .error, CTAPHIDCommand(rawValue: 0x55),
  ]
  private static let pauses: [Duration] = [
    .zero, .milliseconds(1), .milliseconds(79), .milliseconds(80), .milliseconds(499), .milliseconds(500), .seconds(1),
    .seconds(10),
  ]

  /// A machine, the time, and what it has to do.
  private struct Device {
    var machine: CTAPHIDStateMachine
    var now = Instant(nanoseconds: 0)
    var requests: [CTAPHIDStateMachine.Request] = []

    /// Checks actions: whole messages only, and at most one request that awaits an answer.
    mutating func check(_ actions: [CTAPHIDStateMachine.Action]) throws -> [CTAPHIDMessage] {
      var (messages, assembler): ([CTAPHIDMessage], MessageAssembler?) = ([], nil)
      for action in actions {
        switch action {
        case .send(let report):
          if case .continuation(let sequence, let payload) = report.packet {
            expect(assembler != nil, "a continuation packet without a message")
            try assembler?.append(sequence: sequence, payload: payload)
          } else {
            expect(assembler == nil, "a message within a message")
            assembler = try MessageAssembler(report)
          }
          if let message = assembler?.message {
            messages.append(message)
            assembler = nil
          }
        case .dispatch(let request):
          expect((1...CTAPHIDMessage.maximumLength).contains(request.payload.count), "a request of a wrong length")
          expect(!requests.contains { $0.transaction == request.transaction }, "a transaction's number is used twice")
          requests.append(request)
        case .cancel(let transaction):
          expect(requests.contains { $0.transaction == transaction }, "an unknown request is withdrawn")
        case .wink: break
        }
      }
      expect(assembler == nil, "a part of a message is sent")
      expect(requests.count(where: awaitsAnswer) <= 1, "two requests await an answer")
      return messages
    }

    func awaitsAnswer(_ request: CTAPHIDStateMachine.Request) -> Bool {
      var copy = machine
      return !copy.respond([], to: request.transaction).isEmpty
    }

    /// After a report or a tick, the next one is due within the time of a message.
    func expectDeadline() {
      guard let deadline = machine.deadline else { return }
      let rest = now.duration(to: deadline)
      expect(rest > .zero && rest <= CTAPHIDStateMachine.messageTimeout, "the next tick is due in \(rest)")
    }

    mutating func receive(_ report: Report) throws -> [CTAPHIDMessage] {
      let actions = machine.receive(report, at: now)
      expectDeadline()
      return try check(actions)
    }

    mutating func tick() throws {
      let actions = machine.tick(at: now)
      expectDeadline()
      _ = try check(actions)
    }
  }

  private static func readOfDevice(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let capabilities = Capabilities(rawValue: choices.byte())
    var device = Device(
      machine: CTAPHIDStateMachine(
        identity: DeviceIdentity(major: 1, minor: 2, build: 3, capabilities: capabilities),
        firstChannel: choices.bool() ? 0x0A0B_0C01 : 0xFFFF_FFFE))
    while !choices.isEmpty {
      switch choices.number(below: 8) {
      case 0: device.now = device.now.advanced(by: choices.one(of: pauses))
      case 1: try device.tick()
      case 2:
        guard let request = device.requests.last else { continue }
        let (payload, wasAwaited) = (choices.counted(), device.awaitsAnswer(request))
        let answer = try device.check(device.machine.respond(payload, to: request.transaction))
        expect(answer.map(\.payload) == (wasAwaited ? [payload] : []), "another answer")
        expect(!device.awaitsAnswer(request), "a request awaits a second answer")
      case 3:
        guard let request = device.requests.last else { continue }
        let status: KeepaliveStatus = choices.bool() ? .upNeeded : .processing
        _ = try device.check(device.machine.setStatus(status, of: request.transaction, at: device.now))
      case 4:
        guard let report = Report(choices.bytes(Report.size)) else { continue }
        _ = try device.receive(report)
      case 5:
        let channel = ChannelID(rawValue: choices.one(of: clients))
        let sequence = choices.byte()
        let packet = Packet.continuation(sequence: sequence, payload: choices.counted()[...])
        _ = try device.receive(Report(channel: channel, packet: packet))
      case 6:
        let (channel, command) = (ChannelID(rawValue: choices.one(of: clients)), choices.one(of: commands))
        let length = Int(choices.byte()) << 8 | Int(choices.byte())
        let packet = Packet.initialization(command, length: length, payload: choices.counted()[...])
        _ = try device.receive(Report(channel: channel, packet: packet))
      default:
        let (channel, command) = (ChannelID(rawValue: choices.one(of: clients)), choices.one(of: commands))
        let message = CTAPHIDMessage(channel: channel, command: command, payload: choices.counted())
        for report in try message.reports() { _ = try device.receive(report) }
      }
    }
    try expectAlive(&device)
  }

  /// Checks that a new client gets a channel and an echo, once locks and requests have ended.
  private static func expectAlive(_ device: inout Device) throws {
    for request in device.requests { _ = try device.check(device.machine.respond([0], to: request.transaction)) }
    device.now = device.now.advanced(by: .seconds(11))
    try device.tick()
    var client = ClientMachine()
    let nonce: [UInt8] = [1, 9, 9, 9, 9, 9, 9, 1]
    let opened = try device.receive(client.open(nonce: nonce)).flatMap { try $0.reports() }
    guard case .opened? = opened.compactMap({ client.receive($0) }).first else {
      fatalError("a new client gets no channel")
    }
    let pinged = try client.request(.ping, [1, 2, 3]).flatMap { try device.receive($0) }
    expect(
      pinged == [CTAPHIDMessage(channel: client.channel, command: .ping, payload: [1, 2, 3])], "a ping has no echo")
  }

  /// A client that opens a channel and sends a message of three packets; and two clients that disturb each other.
  private static let deviceSeeds: [[UInt8]] = [
    [0x05, 1, 7, 4, 3, 8] + [UInt8](0...7) + [7, 0, 0, 150] + [UInt8](repeating: 7, count: 150),
    [0x05, 1, 7, 4, 3, 8] + [UInt8](0...7) + [7, 0, 5, 1, 4, 2, 3, 0, 9, 9] + [3, 1, 0, 3, 1, 2, 2, 0, 1, 2],
    [0x01, 0, 7, 4, 3, 8] + [UInt8](0...7) + [7, 4, 3, 8] + [UInt8](8...15)
      + [6, 0, 0, 0, 60, 2, 1, 1, 7, 1, 0, 1, 9, 0, 5, 1, 5, 0, 0, 3, 1, 2, 3],
    [0x05, 1, 7, 4, 3, 8] + [UInt8](0...7) + [7, 0, 2, 1, 9, 7, 1, 0, 1, 5, 0, 7, 1],
  ]

  // MARK: - The client

  private static func readOfClient(_ input: [UInt8]) {
    let reports = stride(from: 0, to: input.count, by: Report.size).compactMap {
      Report(input[$0...].prefix(Report.size))
    }
    // A client without a channel, which takes the answer to the nonce of the first report.
    var new = ClientMachine()
    _ = new.open(nonce: reports.first.map { Array($0.bytes[7..<15]) } ?? [])
    // One that has the channel of the first report.
    var known = ClientMachine(channel: reports.first?.channel ?? .broadcast)
    for report in reports {
      for event in [new.receive(report), known.receive(report)] {
        guard case .response(_, let payload)? = event else { continue }
        expect(payload.count <= CTAPHIDMessage.maximumLength, "an answer of \(payload.count) bytes")
      }
    }
  }

  // MARK: - uhid and the broker

  /// A device, and the kernel's end of its socket.
  private static let connection: (kernel: Descriptor, device: UHIDConnection) = constant {
    let (kernel, other) = try Descriptor.pair()
    guard fcntl(other, F_SETFL, O_NONBLOCK) == 0,
      let device = UHIDConnection(creating: .broker, serial: "1000", on: other)
    else { throw Descriptor.Failure(errno) }
    _ = try kernel.read()
    return (kernel, device)
  }

  private static func readEvent(_ input: [UInt8]) throws {
    guard !input.isEmpty else { return }
    let (kernel, device) = connection
    try kernel.write(input)
    switch device.next() {
    case .report(let report): expect(report.bytes.count == Report.size, "a report of \(report.bytes.count) bytes")
    case .closed, .other: break
    case .none, .ended: fatalError("an event was not read")
    }
    while kernel.isReadable(within: 0) {
      expect(try kernel.read().count >= 4, "an answer to the kernel without a type")
    }
    guard case .none = device.next() else { fatalError("an event was read twice") }
  }

  /// An event with a report of ones in `size` bytes: type, data, size (16 bits), the type of the report.
  private static func event(_ type: UInt8, size: UInt16) -> [UInt8] {
    var event = [type, 0, 0, 0] + [UInt8](repeating: 1, count: 4096)
    if size == 65 { event[4] = 0 }
    return event + [UInt8(size & 0xFF), UInt8(size >> 8), 1]
  }

  private static func readBrokerMessage(_ input: [UInt8]) {
    if let report = input.withUnsafeBufferPointer({ Report(hostBytes: $0) }) {
      expect(report.bytes.elementsEqual(input.suffix(Report.size)), "another report")
    }
    guard let message = BrokerMessage(input) else { return }
    let bytes = message.bytes
    expect(bytes.count <= BrokerMessage.maximumSize, "a packet of \(bytes.count) bytes")
    // A long reason is cut.
    if bytes.count < BrokerMessage.maximumSize { expect(BrokerMessage(bytes) == message, "another message") }
  }

  /// What follows the usage of a security key does not matter.
  private static func readReportDescriptor(_ input: [UInt8]) {
    let isKey = UHIDIdentity.isSecurityKey(input)
    expect(!isKey || input.contains(0xD0) && input.contains(0xF1), "a security key without the usage page of FIDO")
    expect(!isKey || UHIDIdentity.isSecurityKey(input + [0x06]), "items after the usage matter")
    expect(UHIDIdentity.isSecurityKey(UHIDIdentity.reportDescriptor + input), "items after ours matter")
  }
}
