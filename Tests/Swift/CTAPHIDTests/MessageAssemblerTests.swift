import CTAPHID
import TestVectors
import Testing

struct MessageAssemblerTests {
  @Test(arguments: [0, 1, 57, 58, 116, 117, 1800, 7608, 7609])
  func `a message of every length is split and reassembled`(length: Int) throws {
    let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    let message = CTAPHIDMessage(channel: ChannelID(rawValue: 7), command: .ping, payload: payload)
    let reports = try message.reports()
    #expect(reports.count == (length <= 57 ? 1 : 1 + (length - 57 + 58) / 59))
    var assembler = try MessageAssembler(reports[0])
    for report in reports.dropFirst() {
      #expect(assembler.message == nil)
      guard case .continuation(let sequence, let payload) = report.packet else { throw CTAPHIDError.other }
      try assembler.append(sequence: sequence, payload: payload)
    }
    #expect(assembler.message == message)
  }

  @Test func `a message of 7610 bytes cannot be split`() {
    let message = CTAPHIDMessage(channel: .broadcast, command: .ping, payload: [UInt8](repeating: 0, count: 7610))
    #expect(throws: CTAPHIDError.invalidLength) { try message.reports() }
  }

  @Test func `a message cannot begin with a continuation packet`() {
    #expect(throws: CTAPHIDError.invalidSequence) { try MessageAssembler(report("0a0b0c01 00")) }
  }

  @Test func `a message of 7610 bytes is refused at its first packet`() {
    #expect(throws: CTAPHIDError.invalidLength) { try MessageAssembler(report("0a0b0c01 81 1dba")) }
  }

  @Test func `a packet after the end of a message is refused`() throws {
    var assembler = try MessageAssembler(report("0a0b0c01 81 0001"))
    #expect(throws: CTAPHIDError.invalidSequence) { try assembler.append(sequence: 0, payload: [1]) }
  }
}

/// Reports of real devices, from libfido2's fuzzing harness.
struct DeviceReportReplayTests {
  static func replays() throws -> [Vector] {
    try Vector("ctaphid-device-reports").reports.members.sorted { $0.key < $1.key }.map(\.value)
  }

  @Test func `the file holds all fifteen sequences`() throws {
    #expect(try Self.replays().count == 15)
  }

  @Test(arguments: try replays())
  func `a device's reports reassemble to the recorded messages`(replay: Vector) throws {
    var assembler: MessageAssembler?
    var messages: [CTAPHIDMessage] = []
    for frame in replay.frames.array {
      let report = try #require(Report(frame.bytes))
      switch report.packet {
      case .initialization: assembler = try MessageAssembler(report)
      case .continuation(let sequence, let payload): try assembler?.append(sequence: sequence, payload: payload)
      }
      if let message = assembler?.message { messages.append(message) }
    }
    #expect(messages.map(\.payload) == replay.messages.array.map(\.payload.bytes))
    #expect(messages.map(\.command.rawValue) == replay.messages.array.map { $0.cmd.integer() })
    #expect(messages.map(\.channel.bigEndianBytes) == replay.messages.array.map(\.cid.bytes))
    #expect(messages.map(\.payload.count) == replay.messages.array.map { $0.len.integer() })
  }

  @Test(arguments: try replays())
  func `a recorded message is split into the reports that the device sent`(replay: Vector) throws {
    let cut = try replay.messages.array.flatMap { message in
      try CTAPHIDMessage(
        channel: ChannelID(rawValue: message.cid.bytes.reduce(0) { $0 << 8 | UInt32($1) }),
        command: CTAPHIDCommand(rawValue: message.cmd.integer()), payload: message.payload.bytes
      ).reports()
    }
    // A device pads the last report in its own way, and one recording changes its channel in mid-message: compare
    // sequence, length and payload only.
    // compared is what BCNT counts, and how it is numbered.
    let recorded = try replay.frames.array.map { try #require(Report($0.bytes)) }
    #expect(cut.count == recorded.count)
    var rest = 0
    for (ours, theirs) in zip(cut, recorded) {
      if case .initialization(_, let length, _) = ours.packet { rest = length + 2 }
      let end = min(64, 5 + rest)
      #expect(Hex(ours.bytes[4..<end]) == Hex(theirs.bytes[4..<end]))
      #expect(ours.bytes[end...].allSatisfy { $0 == 0 })
      rest -= end - 5
    }
  }
}
