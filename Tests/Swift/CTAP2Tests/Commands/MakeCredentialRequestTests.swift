import CBOR
import CTAP2
import Recovery
import Testing

// Holds: MSG-3, MSG-4, MSG-6
@Suite struct MakeCredentialRequestTests {
  static let refused: [RequestCase] = [missing, wrongTypes, entities, lists, options, pinUvAuth, enterprise].flatMap(
    \.self)

  static let enterprise: [RequestCase] = [
    RequestCase("enterpriseAttestation 1", 0x0A, 1, .invalidParameter),
    RequestCase("enterpriseAttestation 0", 0x0A, 0, .invalidParameter),
  ]

  static let missing: [RequestCase] = [
    RequestCase("no clientDataHash", 1, nil, .missingParameter), RequestCase("no rp", 2, nil, .missingParameter),
    RequestCase("no user", 3, nil, .missingParameter), RequestCase("no pubKeyCredParams", 4, nil, .missingParameter),
  ]

  static let wrongTypes: [RequestCase] = [
    RequestCase("clientDataHash a text", 1, "x", .cborUnexpectedType),
    RequestCase("clientDataHash of 31 bytes", 1, .bytes([UInt8](repeating: 0, count: 31)), .invalidLength),
    RequestCase("clientDataHash of 33 bytes", 1, .bytes([UInt8](repeating: 0, count: 33)), .invalidLength),
    RequestCase("clientDataHash empty", 1, .bytes([]), .invalidLength),
    RequestCase("rp a text", 2, "example.com", .cborUnexpectedType),
    RequestCase("user an array", 3, [], .cborUnexpectedType),
    RequestCase("pubKeyCredParams a map", 4, [:], .cborUnexpectedType),
    RequestCase("excludeList a map", 5, [:], .cborUnexpectedType),
    RequestCase("extensions an array", 6, [], .cborUnexpectedType),
    RequestCase("options an array", 7, [], .cborUnexpectedType),
    RequestCase("pinUvAuthParam a text", 8, "x", .cborUnexpectedType),
    RequestCase("pinUvAuthProtocol a text", 9, "1", .cborUnexpectedType),
    RequestCase("pinUvAuthProtocol negative", 9, -1, .cborUnexpectedType),
    RequestCase("enterpriseAttestation a boolean", 0x0A, true, .cborUnexpectedType),
    RequestCase("attestationFormatsPreference a text", 0x0B, "none", .cborUnexpectedType),
  ]

  static let entities: [RequestCase] = [
    RequestCase("rp without id", 2, ["name": "Example"], .missingParameter),
    RequestCase("rp.id bytes", 2, ["id": .bytes([1])], .cborUnexpectedType),
    RequestCase("rp.id empty", 2, ["id": ""], .invalidLength),
    RequestCase("rp.name a number", 2, ["id": "example.com", "name": 1], .cborUnexpectedType),
    RequestCase("user without id", 3, ["name": "alice"], .missingParameter),
    RequestCase("user.id a text", 3, ["id": "alice"], .cborUnexpectedType),
    RequestCase(
      "user.id empty, rk", [(3, ["id": .bytes([])]), (7, ["rk": true, "uv": true])], .invalidLength),
    RequestCase("user.id of 65 bytes", 3, ["id": .bytes([UInt8](repeating: 1, count: 65))], .invalidLength),
    RequestCase("user.name bytes", 3, ["id": .bytes([1]), "name": .bytes([1])], .cborUnexpectedType),
    RequestCase("user.displayName a number", 3, ["id": .bytes([1]), "displayName": 1], .cborUnexpectedType),
  ]

  private static let es256: CBORValue = ["alg": -7, "type": "public-key"]

  static let lists: [RequestCase] = [
    RequestCase("no algorithm", 4, [], .unsupportedAlgorithm),
    RequestCase("no algorithm of ours", 4, [["alg": -257, "type": "public-key"]], .unsupportedAlgorithm),
    RequestCase("our algorithm of another type", 4, [["alg": -7, "type": "public-kez"]], .unsupportedAlgorithm),
    RequestCase("an algorithm that is no map", 4, [es256, "x"], .cborUnexpectedType),
    RequestCase("an algorithm without alg", 4, [es256, ["type": "public-key"]], .missingParameter),
    RequestCase("an algorithm without type", 4, [es256, ["alg": -7]], .missingParameter),
    RequestCase("alg a text", 4, [es256, ["alg": "7", "type": "public-key"]], .cborUnexpectedType),
    RequestCase("type bytes", 4, [es256, ["alg": -7, "type": .bytes([1])]], .cborUnexpectedType),
    RequestCase("an excluded text", 5, [good, "x"], .cborUnexpectedType),
    RequestCase("an excluded entry without id", 5, [good, ["type": "public-key"]], .missingParameter),
    RequestCase("an excluded entry without type", 5, [good, ["id": .bytes([1])]], .missingParameter),
    RequestCase("an excluded id a text", 5, [good, ["id": "x", "type": "public-key"]], .cborUnexpectedType),
    RequestCase("an excluded type a number", 5, [good, ["id": .bytes([1]), "type": 1]], .cborUnexpectedType),
    RequestCase(
      "transports a text", 5, [["id": .bytes([1]), "type": "public-key", "transports": "usb"]], .cborUnexpectedType),
    RequestCase(
      "a transport a number", 5, [["id": .bytes([1]), "type": "public-key", "transports": ["usb", 1]]],
      .cborUnexpectedType),
  ]

  private static let good: CBORValue = ["id": .bytes([1]), "type": "public-key"]

  static let options: [RequestCase] = [
    RequestCase("rk a number", 7, ["rk": 1], .cborUnexpectedType),
    RequestCase("up a text", 7, ["up": "true"], .cborUnexpectedType),
    RequestCase("uv an array", 7, ["uv": []], .cborUnexpectedType),
    RequestCase("up false", 7, ["up": false], .invalidOption),
    RequestCase("rk without the verification that is set up", 7, ["rk": true], .operationDenied),
    RequestCase("rk with uv false", 7, ["rk": true, "uv": false], .operationDenied),
  ]

  static let pinUvAuth: [RequestCase] = [
    RequestCase("pinUvAuthParam without protocol", 8, .bytes([1]), .missingParameter),
    RequestCase("pinUvAuthProtocol 0", [(8, .bytes([1])), (9, 0)], .invalidParameter),
    RequestCase("pinUvAuthProtocol 3", [(8, .bytes([1])), (9, 3)], .invalidParameter),
  ]

  // Holds: CTAP2-4, CTAP2-5, MSG-8, MC-2, MC-3, MC-4, MC-10, MC-21
  @Test(arguments: refused)
  func `an invalid makeCredential request is refused before any prompt, locked or not`(of request: RequestCase) async {
    for isOpen in [true, false] {
      var world = TestWorld(isOpen: isOpen)
      let answer = await world.makeCredential(Requests.makeCredential(changes: request.changes))
      #expect(answer.bytes == [request.status.rawValue])
      #expect(world.person.shown.isEmpty)
      #expect(world.keySource.openings == 0)
      #expect(world.store.writes == 0)
    }
  }

  static let served: [RequestCase] = [
    RequestCase("an unknown member", 0x0C, 0, .success),
    RequestCase("a negative member", -1, "x", .success),
    RequestCase("a text member", "x", [], .success),
    RequestCase("rp without name", 2, ["id": "example.com"], .success),
    RequestCase("rp.icon of any type", 2, ["id": "example.com", "icon": 1], .success),
    RequestCase("user with id only", 3, ["id": .bytes([1])], .success),
    RequestCase("user.icon of any type", 3, ["id": .bytes([1]), "icon": [1]], .success),
    RequestCase("user.id empty", 3, ["id": .bytes([])], .success),
    RequestCase("user.id of 64 bytes", 3, ["id": .bytes([UInt8](repeating: 0xFF, count: 64))], .success),
    RequestCase("an algorithm with an unknown member", 4, [["alg": -7, "type": "public-key", "x": 1]], .success),
    RequestCase("an algorithm of another type first", 4, [["alg": -7, "type": "x"], es256], .success),
    RequestCase("an empty excludeList", 5, [], .success),
    RequestCase(
      "an excluded entry with transports", 5, [["id": .bytes([1]), "type": "public-key", "transports": ["usb", "x"]]],
      .success),
    RequestCase("an unknown extension", 6, ["x": 1, "appid": true], .success),
    RequestCase("no option", 7, [:], .success),
    RequestCase("unknown options", 7, ["x": 1, "plat": false], .success),
    RequestCase("up true", 7, ["up": true], .success),
    RequestCase("rk and uv false", 7, ["rk": false, "uv": false], .success),
    RequestCase("uv true", 7, ["uv": true], .success),
    RequestCase("pinUvAuthProtocol alone", 9, 1, .success),
  ]

  // Holds: CTAP2-6, MSG-6, MC-6, MC-17, MC-20, MC-21
  @Test(arguments: served)
  func `a makeCredential with unknown or default members succeeds`(_ request: RequestCase) async {
    var world = TestWorld()
    let answer = await world.makeCredential(Requests.makeCredential(changes: request.changes))
    #expect(answer.status == .success)
    #expect(answer.map?.count == 3)
  }

  // Holds: MC-5
  @Test(arguments: [
    RequestCase("uv", 7, ["uv": true], .invalidOption),
    RequestCase("rk and uv", 7, ["rk": true, "uv": true], .invalidOption),
    RequestCase("rk", 7, ["rk": true], .success),
  ])
  func `without verification set up, uv is an invalid option`(_ request: RequestCase) async {
    var world = TestWorld(canVerify: false)
    #expect(await world.makeCredential(Requests.makeCredential(changes: request.changes)).status == request.status)
  }

  // Holds: MC-1
  @Test(arguments: [
    (ScriptedPerson.Operation.agree, CTAPStatus.pinNotSet), (.fail(.declined), .operationDenied),
    (.fail(.timedOut), .userActionTimeout), (.fail(.cancelled), .keepaliveCancel),
  ])
  func `an empty pinUvAuthParam prompts for the selection of a key`(
    operation: ScriptedPerson.Operation, status: CTAPStatus
  ) async {
    for change: [(CBORValue, CBORValue?)] in [[(8, .bytes([]))], [(8, .bytes([])), (9, 1)]] {
      var world = TestWorld(isOpen: false)
      world.person.will(operation)
      #expect(await world.makeCredential(Requests.makeCredential(changes: change)).bytes == [status.rawValue])
      #expect(world.person.shown == [.init(prompt: UserPrompt(purpose: .select), verification: false)])
      #expect(world.keySource.openings == 0)
    }
  }
}
