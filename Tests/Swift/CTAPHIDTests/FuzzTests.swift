import CTAPHID
import Foundation
import TestVectors
import Testing

/// Random reports.
///
/// The seed is printed; set `CTAPHID_FUZZ_SEED` to replay one.
struct FuzzTests {
  /// SplitMix64: small, and the same on every machine.
  struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var z = state
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return z ^ (z >> 31)
    }
  }

  /// A report that is likely to be valid: few channels, known commands, small and odd lengths.
  func randomReport(_ generator: inout Generator) -> Report {
    if UInt8.random(in: 0..<8, using: &generator) == 0 {
      let bytes = (0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) }
      return Report(bytes) ?? report("")
    }
    let channel = ChannelID(
      rawValue: [0, 0x0a0b_0c01, 0x0a0b_0c01, 0x0a0b_0c02, 0x1122_3344, 0xffff_ffff]
        .randomElement(using: &generator) ?? 0)
    let payload = (0..<59).map { _ in UInt8.random(in: 0...12, using: &generator) }
    if Bool.random(using: &generator) {
      let sequence = UInt8.random(in: 0...3, using: &generator)
      return Report(channel: channel, packet: .continuation(sequence: sequence, payload: payload[...]))
    }
    let command: UInt8 = [1, 3, 4, 6, 8, 0x10, 0x10, 0x11, 0x3b, 0x3f, 0x55].randomElement(using: &generator) ?? 1
    let length = [0, 1, 8, 57, 58, 100, 175, 7609, 7610].randomElement(using: &generator) ?? 0
    return Report(
      channel: channel,
      packet: .initialization(CTAPHIDCommand(rawValue: command), length: length, payload: payload[...]))
  }

  // Holds: REPORT-12
  @Test func `after 10,000 random reports the machine answers INIT and PING`() throws {
    let seed = ProcessInfo.processInfo.environment["CTAPHID_FUZZ_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
    print("CTAPHID fuzz seed: \(seed)")
    var generator = Generator(state: seed)
    var device = Device.open(channels: 2)
    var running: [CTAPHIDStateMachine.Request] = []

    for round in 0..<10_000 {
      device.wait(.milliseconds(Int.random(in: 0...120, using: &generator)))
      let actions = device.machine.receive(randomReport(&generator), at: device.now)
      for case .dispatch(let request) in actions {
        #expect((1...7609).contains(request.payload.count), "seed \(seed), round \(round)")
        running.append(request)
      }
      #expect(reports(actions).count <= 130, "seed \(seed), round \(round)")
      #expect(running.count(where: { device.machine.awaitsAnswer(to: $0.transaction) }) <= 1, "seed \(seed)")
      if let deadline = device.machine.deadline {
        #expect(device.now.duration(to: deadline) <= .milliseconds(500), "seed \(seed), round \(round)")
      }
      if let request = running.randomElement(using: &generator), UInt8.random(in: 0..<4, using: &generator) == 0 {
        let wanted = device.machine.awaitsAnswer(to: request.transaction)
        let answer = reports(device.machine.respond([0], to: request.transaction))
        #expect(answer.count == (wanted ? 1 : 0), "seed \(seed), round \(round)")
        running.removeAll { $0 == request }
      }
      if round.isMultiple(of: 500) { try expectAlive(&device, seed: seed) }
    }
  }

  /// Checks that a new client gets a channel and an echo, once running requests have ended.
  func expectAlive(_ device: inout Device, seed: UInt64) throws {
    device.wait(.seconds(11))
    _ = device.tick()
    var client = ClientMachine()
    let opened = reports(device.machine.receive(client.open(nonce: [1, 9, 9, 9, 9, 9, 9, 1]), at: device.now))
    #expect(opened.compactMap { client.receive($0) }.count == 1, "seed \(seed)")
    for channel in [UInt32(0x0a0b_0c01), 0x0a0b_0c02, 0x1122_3344] {
      var other = ClientMachine(channel: ChannelID(rawValue: channel))
      _ = device.machine.receive(other.open(nonce: [1, 2, 3, 4, 5, 6, 7, 8]), at: device.now)
    }
    // An exchange begun on a random channel ends by itself, or by INIT on that channel.
    let echo = try client.request(.ping, [1, 2, 3]).flatMap { reports(device.machine.receive($0, at: device.now)) }
    #expect(echo.compactMap { client.receive($0) } == [.response(.ping, [1, 2, 3])], "seed \(seed)")
  }
}
