// tutorial: begin
import CTAPHID
// tutorial: end
import Testing

@Test func `the tutorial of CTAPHID answers a request`() throws {
  // tutorial: begin
  let identity = DeviceIdentity(major: 1, minor: 0, build: 0, capabilities: [.cbor, .nmsg])
  var device = CTAPHIDStateMachine(identity: identity, firstChannel: 1)
  var client = ClientMachine()
  let now = Instant(nanoseconds: 0)
  // tutorial: end

  // tutorial: begin
  for case .send(let report) in device.receive(client.open(nonce: [1, 2, 3, 4, 5, 6, 7, 8]), at: now) {
    if case .opened(let channel, _)? = client.receive(report) { print("opened channel \(channel)") }
  }
  // tutorial: end
  #expect(client.channel == ChannelID(rawValue: 1))

  // tutorial: begin
  var request: CTAPHIDStateMachine.Request?
  for report in try client.request(.cbor, [UInt8](repeating: 0x04, count: 100)) {
    for case .dispatch(let whole) in device.receive(report, at: now) { request = whole }
  }
  // tutorial: end
  #expect(request?.payload == [UInt8](repeating: 0x04, count: 100) && request?.kind == .cbor)

  // tutorial: begin
  guard let request, let deadline = device.deadline else {
    Issue.record("no request")
    return
  }
  for case .send(let report) in device.tick(at: deadline) {
    let event = client.receive(report)
    #expect(event == .keepalive(.processing))
    if case .keepalive(let status)? = event { print("the device is \(status)") }
  }
  // tutorial: end

  // tutorial: begin
  var answer: ClientMachine.Event?
  for case .send(let report) in device.respond([0x00], to: request.transaction) { answer = client.receive(report) }
  // tutorial: end
  #expect(answer == .response(.cbor, [0x00]) && device.deadline == nil)

  // tutorial: begin
  let ping = try client.request(.ping, [UInt8](repeating: 0, count: 100))
  _ = device.receive(ping[0], at: now)
  for case .send(let report) in device.tick(at: now.advanced(by: CTAPHIDStateMachine.messageTimeout)) {
    answer = client.receive(report)
  }
  // tutorial: end
  #expect(ping.count == 2 && answer == .failed(.messageTimeout))
}
