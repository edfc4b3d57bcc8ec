import CBOR
import CTAP2
import Recovery
import Testing

// Holds: MC-5, MC-6, MC-9, GA-3
/// Every combination of rk, up and uv, with and without verification set up, against a second statement of the rules.
@Suite struct OptionsTests {
  struct Choice: Sendable, CustomTestStringConvertible {
    let rk, up, uv: Bool?
    let canVerify: Bool
    var testDescription: String {
      let told = [("rk", rk), ("up", up), ("uv", uv)].map { "\($0.0) \($0.1.map(String.init) ?? "absent")" }
      return told.joined(separator: ", ") + (canVerify ? "" : ", not set up")
    }
  }

  static let choices: [Choice] = {
    let values: [Bool?] = [nil, false, true]
    return values.flatMap { rk in
      values.flatMap { up in
        values.flatMap { uv in [true, false].map { Choice(rk: rk, up: up, uv: uv, canVerify: $0) } }
      }
    }
  }()

  @Test(arguments: choices)
  func `a registration follows the rules for its options`(choice: Choice) async throws {
    var world = TestWorld(canVerify: choice.canVerify)
    let answer = await world.makeCredential(Requests.makeCredential(rk: choice.rk, uv: choice.uv, up: choice.up))
    if choice.uv == true, !choice.canVerify { return #expect(answer.bytes == [0x2C]) }
    if choice.up == false { return #expect(answer.bytes == [0x2C]) }
    if choice.canVerify, choice.rk == true, choice.uv != true { return #expect(answer.bytes == [0x27]) }

    let data = try AuthenticatorData(parsing: answer.map?[2]?.bytes ?? [])
    #expect(data.flags.contains(.userPresent))
    #expect(data.flags.contains(.userVerified) == (choice.uv == true))
    #expect(world.store.writes == (choice.rk == true ? 1 : 0))
    #expect(world.person.shown.map(\.verification) == [choice.uv == true])
  }

  @Test(arguments: choices)
  func `a sign-in follows the rules for its options`(choice: Choice) async throws {
    var world = TestWorld(canVerify: choice.canVerify)
    let registration = try await world.register()
    var request = Requests.getAssertion(allowing: [registration.credentialID], up: choice.up, uv: choice.uv)
    if let rk = choice.rk {
      var options = request[5]?.map ?? CBORMap()
      options["rk"] = .bool(rk)
      request[5] = .map(options)
    }
    let answer = await world.getAssertion(request)
    if choice.uv == true, !choice.canVerify { return #expect(answer.bytes == [0x2C]) }
    if choice.rk != nil { return #expect(answer.bytes == [0x2B]) }

    let data = try AuthenticatorData(parsing: answer.map?[2]?.bytes ?? [])
    let isAsked = choice.up != false || choice.uv == true
    #expect(data.flags.contains(.userPresent) == isAsked)
    #expect(data.flags.contains(.userVerified) == (choice.uv == true))
    #expect(world.person.shown.dropFirst().map(\.verification) == (isAsked ? [choice.uv == true] : []))
  }
}
