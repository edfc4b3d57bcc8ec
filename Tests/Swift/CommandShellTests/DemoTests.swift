import CBOR
import CTAP2
import CryptoPrimitives
import DeterministicKeys
import Synchronization
import Testing

@testable import liquid_auth

@Suite struct DemoTests {
  @Test func `every check of the demo holds`() async throws {
    let events = Mutex<[Demonstration.Event]>([])
    let holds = try await Demonstration { event in events.withLock { $0.append(event) } }.run()
    #expect(holds)
    let failed = events.withLock { events in
      events.filter { event in
        if case .check(_, holds: false) = event { true } else { false }
      }
    }
    #expect(failed.isEmpty)
    // The counts are lower if an answer has no check, or a step is left out.
    #expect(events.withLock { $0.count { if case .check = $0 { true } else { false } } } == 52)
    #expect(events.withLock { $0.count { if case .step = $0 { true } else { false } } } == 12)
  }

  @Test func `the results of checks are printed, and are in the JSON`() {
    let transcript = Transcript(isQuiet: true)
    let events: [Demonstration.Event] = [
      .step("begin"), .note("so"), .check("good", holds: true), .check("bad", holds: false), .step("end"),
    ]
    #expect(
      events.enumerated().map { Transcript.line($1, isFirst: $0 == 0) }
        == ["begin", "      so", "  ok  good", "FAILED bad", "\nend"])
    events.forEach(transcript.add)
    #expect(transcript.checkCount == 2)
    #expect(
      transcript.json(holds: false) == [
        "holds": .bool(false),
        "steps": [
          [
            "step": .string("begin"), "notes": [.string("so")],
            "checks": [
              ["check": .string("good"), "holds": .bool(true)], ["check": .string("bad"), "holds": .bool(false)],
            ],
          ],
          ["step": .string("end"), "notes": [], "checks": []],
        ],
      ])
  }
}

/// The demo's site must refuse wrong answers: otherwise its checks would prove nothing.
@Suite struct DemoRelyingPartyTests {
  let creation = DemoRelyingParty.CreationRequest(userID: [7], isDiscoverable: true)
  let registration: CBORMap
  let account: DemoRelyingParty.Account
  let request: DemoRelyingParty.SignInRequest
  let assertion: CBORMap

  init() async throws {
    var client = DemoClient(try DemoDevice(phrase: .generate(words: 12)) { _ in })
    _ = try await client.open()
    registration = try await client.create(creation)
    account = try DemoRelyingParty.verify(registration, of: creation).account
    request = DemoRelyingParty.SignInRequest(allowed: [account.credentialID], needsVerification: true)
    assertion = try await client.get(request)
  }

  private func failures(registration: CBORMap) throws -> [String] {
    try DemoRelyingParty.verify(registration, of: creation).checks.filter { !$0.holds }.map(\.name)
  }

  private func failures(assertion: CBORMap, userID: [UInt8]? = [7]) throws -> [String] {
    try DemoRelyingParty.verify(assertion, of: request, with: account, userID: userID).filter { !$0.holds }.map(\.name)
  }

  @Test func `the answers of the authenticator pass all checks`() throws {
    #expect(try failures(registration: registration).isEmpty)
    #expect(try failures(assertion: assertion).isEmpty)
  }

  @Test(arguments: [
    (0, "rpIdHash is that of demo.example"), (31, "rpIdHash is that of demo.example"),
    (36, "the signature counter is 0"), (37, "the AAGUID is that of Liquid Auth"),
  ])
  func `a changed byte in a registration fails its own check and the signature's`(_ offset: Int, _ name: String) throws
  {
    let changed = try registration.flipping(member: 0x02, byte: offset)
    #expect(try failures(registration: changed) == [name, "the attestation's signature is valid"])
  }

  @Test func `wrong flags are found`() throws {
    var data = try registration.requiredBytes(0x02)
    data[32] &= ~0x04  // UV
    var changed = registration
    changed[0x02] = .bytes(data)
    #expect(
      try failures(registration: changed) == ["the flags are UP UV BE BS", "the attestation's signature is valid"])
  }

  @Test func `a registration with another attestation format is found`() throws {
    var changed = registration
    changed[0x01] = "none"
    #expect(try failures(registration: changed) == ["the attestation is packed, by the key itself"])
  }

  @Test func `an answer to another challenge is found`() throws {
    let other = DemoRelyingParty.CreationRequest(userID: [7], isDiscoverable: true)
    #expect(other.clientData != creation.clientData)
    #expect(
      try DemoRelyingParty.verify(registration, of: other).checks.filter { !$0.holds }.map(\.name)
        == ["the attestation's signature is valid"])
    let otherSignIn = DemoRelyingParty.SignInRequest(allowed: [], needsVerification: true)
    #expect(
      try DemoRelyingParty.verify(assertion, of: otherSignIn, with: account, userID: [7]).filter { !$0.holds }
        .map(\.name) == ["the signature is valid"])
  }

  @Test(arguments: [
    (0, "rpIdHash is that of demo.example"), (32, "the flags are UP UV BE BS"), (33, "the signature counter is 0"),
  ])
  func `a changed byte in an assertion fails its own check and the signature's`(_ offset: Int, _ name: String) throws {
    let mask: UInt8 = offset == 32 ? 0x04 : 0x01
    let changed = try assertion.flipping(member: 0x02, byte: offset, mask: mask)
    #expect(try failures(assertion: changed) == [name, "the signature is valid"])
  }

  @Test func `another credential, user or signature is found`() throws {
    var changed = assertion
    changed[0x01] = ["id": .bytes([1]), "type": "public-key"]
    #expect(try failures(assertion: changed) == ["the credential is the registered one"])
    changed = assertion
    changed[0x04] = ["id": .bytes([8])]
    #expect(try failures(assertion: changed) == ["the user handle is the account's"])
    #expect(try failures(assertion: assertion, userID: nil) == ["the user handle is absent"])
    let last = try assertion.requiredBytes(0x03).count - 1
    #expect(try failures(assertion: assertion.flipping(member: 0x03, byte: last)) == ["the signature is valid"])
  }

  @Test func `malformed data are an error`() throws {
    var changed = assertion
    changed[0x02] = .bytes([1, 2, 3])
    #expect(throws: CBORError.self) { try failures(assertion: changed) }
    changed = registration
    changed[0x02] = assertion[0x02]
    #expect(throws: CBORError.self) { try failures(registration: changed) }
  }
}

extension CBORMap {
  fileprivate func flipping(member key: CBORValue, byte offset: Int, mask: UInt8 = 1) throws -> CBORMap {
    var bytes = try requiredBytes(key)
    bytes[offset] ^= mask
    var changed = self
    changed[key] = .bytes(bytes)
    return changed
  }
}
