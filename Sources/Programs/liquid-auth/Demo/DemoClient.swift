import CBOR
import CTAPHID
import CryptoPrimitives

/// The browser of the demo: client data, CTAP2 messages, CTAPHID reports.
struct DemoClient {
  /// The number of reports that went over the transport so far.
  private(set) var reportsSent = 0
  private(set) var reportsReceived = 0
  private var machine = ClientMachine()
  private var device: DemoDevice

  init(_ device: DemoDevice) { self.device = device }

  /// Opens a channel.
  mutating func open() async throws(CommandFailure) -> ChannelID {
    switch try await exchange([machine.open(nonce: randomBytes(8))]) {
    case .opened(let channel, let identity) where identity.capabilities.contains(.cbor): return channel
    case let event: throw CommandFailure("the answer to INIT was \(event)")
    }
  }

  /// authenticatorGetInfo.
  mutating func getInfo() async throws(CommandFailure) -> CBORMap { try await command(0x04, [:]) }

  /// authenticatorMakeCredential, with what `navigator.credentials.create()` would give it.
  mutating func create(_ request: DemoRelyingParty.CreationRequest) async throws(CommandFailure) -> CBORMap {
    var parameters: CBORMap = [
      0x01: .bytes(SHA256.hash(request.clientData)),
      0x02: ["id": .text(DemoRelyingParty.rpID), "name": "Demo"],
      0x03: ["id": .bytes(request.userID), "name": "alice@demo.example", "displayName": "Alice"],
      0x04: [["alg": -7, "type": "public-key"]],
      0x07: ["rk": .bool(request.isDiscoverable), "uv": .bool(request.isDiscoverable)],
    ]
    if !request.excluded.isEmpty { parameters[0x05] = Self.descriptors(request.excluded) }
    return try await command(0x01, parameters)
  }

  /// authenticatorGetAssertion, with what `navigator.credentials.get()` would give it.
  mutating func get(_ request: DemoRelyingParty.SignInRequest) async throws(CommandFailure) -> CBORMap {
    var parameters: CBORMap = [
      0x01: .text(DemoRelyingParty.rpID), 0x02: .bytes(SHA256.hash(request.clientData)),
      0x05: ["uv": .bool(request.needsVerification)],
    ]
    if !request.allowed.isEmpty { parameters[0x03] = Self.descriptors(request.allowed) }
    return try await command(0x02, parameters)
  }

  private static func descriptors(_ ids: [[UInt8]]) -> CBORValue {
    .array(ids.map { ["id": .bytes($0), "type": "public-key"] })
  }

  private mutating func command(_ code: UInt8, _ parameters: CBORMap) async throws(CommandFailure) -> CBORMap {
    let message = [code] + (parameters.isEmpty ? [] : CBOREncoder.encode(.map(parameters)))
    let reports: [Report]
    do { reports = try machine.request(.cbor, message) } catch { throw CommandFailure("the request is too long") }
    guard case .response(.cbor, let answer) = try await exchange(reports), let status = answer.first else {
      throw CommandFailure("the request was not answered")
    }
    guard status == 0 else { throw Self.refusal(status) }
    do { return try CBORDecoder.decode(Array(answer.dropFirst())).map ?? [:] } catch {
      throw CommandFailure("the key's answer cannot be read: \(error)")
    }
  }

  /// The failure that ends the demo after an unexpected status of the key.
  static func refusal(_ status: UInt8) -> CommandFailure {
    CommandFailure("the key answered with status 0x\(status.hexadecimal)")
  }

  /// Sends a message's reports and returns the message that answers them.
  private mutating func exchange(_ reports: [Report]) async throws(CommandFailure) -> ClientMachine.Event {
    var answer: ClientMachine.Event?
    for report in reports {
      reportsSent += 1
      for received in await device.receive(report) {
        reportsReceived += 1
        if let event = machine.receive(received) { answer = event }
      }
    }
    guard let answer else { throw CommandFailure("there was no answer") }
    return answer
  }
}
