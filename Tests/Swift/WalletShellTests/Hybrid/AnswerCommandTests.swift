import ArgumentParser
import ControlProtocol
import Hybrid
import Testing

@testable import liquid_auth_wallet

struct AnswerCommandTests {
  @Test(arguments: [
    [], ["FIDO:/1", "--image", "code.png"], ["-", "--tunnel-number", "65536"], ["-", "--tunnel-number", "-1"],
    ["-", "--tunnel-number", "2"], ["-", "--tunnel", "https://a.example"], ["-", "--tunnel", "wss://localhost:8443"],
    ["-", "--no-tunnel", "--tunnel-number", "0"], ["-", "--no-tunnel", "--tunnel", "wss://cable.auth.com"],
  ])
  func `contradictory, missing or invalid options are refused`(arguments: [String]) {
    #expect(throws: (any Error).self) { try AnswerCommand.parse(arguments) }
  }

  @Test func `all options are read`() throws {
    let command = try AnswerCommand.parse([
      "--image", "code.png", "--tunnel", "wss://a.example", "--tunnel-number", "300", "--yes", "--json", "--hold",
      "--control", "/c", "--ca-file", "/p",
    ])
    #expect(command.image == "code.png" && command.tunnel == "wss://a.example" && command.tunnelNumber == 300)
    #expect(command.yes && command.options.json && command.hold && command.options.control == "/c")
    #expect(command.files.contains("code.png") && !command.noTunnel)
    #expect(try AnswerCommand.parse(["-", "--no-tunnel"]).noTunnel)
  }

  // Holds: HYBRID-12
  @Test(arguments: ["tunnel-number = 2", "tunnel = wss://tunnel.example", "tunnel = x\ntunnel-number = 300"])
  func `without a tunnel, settings that name none do not matter`(_ settings: String) throws {
    let configuration = try WalletConfiguration(settings, path: "w", home: nil)
    let place = try AnswerCommand.parse(["-", "--no-tunnel"]).tunnelPlace(configuration)
    #expect(place.service.number == 0)
    #expect(throws: WalletFailure.self) { try AnswerCommand.parse(["-"]).tunnelPlace(configuration) }
  }

  // Holds: HYBRID-12
  @Test func `without a tunnel, the number of the settings is still used`() throws {
    let configuration = try WalletConfiguration("tunnel-number = 300", path: "w", home: nil)
    #expect(try AnswerCommand.parse(["-", "--no-tunnel"]).tunnelPlace(configuration).service.number == 300)
  }

  @Test func `the settings of wallet.conf name a tunnel service`() throws {
    let text = "tunnel = wss://tunnel.example:8443\ntunnel-number = 300\nbluetooth-channel = on"
    let read = try WalletConfiguration(text, path: "w", home: nil)
    #expect(read.tunnel == "wss://tunnel.example:8443" && read.tunnelNumber == 300)
    #expect(read.bluetoothChannel == true)
    #expect(try WalletConfiguration("bluetooth-channel = off", path: "w", home: nil).bluetoothChannel == false)
    for wrong in ["bluetooth-channel = yes", text + "\nbluetooth-channel = off"] {
      #expect(throws: WalletFailure.self) { try WalletConfiguration(wrong, path: "w", home: nil) }
    }
    for wrong in ["tunnel-number = x", "tunnel-number = 65536", text + "\ntunnel-number = 300", text + "\ntunnel = a"] {
      #expect(throws: WalletFailure.self) { try WalletConfiguration(wrong, path: "w", home: nil) }
    }
  }
}

struct TunnelPlaceTests {
  /// 256 and its name, from the vectors in `hybrid.json`.
  private static let named: UInt16 = 256

  @Test func `without options the service is number 0, by its name`() throws {
    let place = try TunnelPlace(number: nil, address: nil)
    #expect(place.service.number == 0 && place.reached == "cable.ua5v.com")
  }

  @Test func `the name of a number gives the number`() throws {
    let host = try #require(TunnelService(Self.named)).host
    let place = try TunnelPlace(number: nil, address: "wss://\(host)/")
    #expect(place.service.number == Self.named && place.reached == host)
    #expect(try TunnelPlace(number: nil, address: "wss://cable.auth.com").service.number == 1)
  }

  @Test func `another address needs the number by which the browser finds it`() throws {
    let place = try TunnelPlace(number: 0, address: "wss://localhost:8443")
    #expect(place.service.number == 0 && place.reached == "localhost:8443")
    let failure = try #require(throws: WalletFailure.self) {
      try TunnelPlace(number: nil, address: "wss://localhost:8443")
    }
    #expect(failure.code == .mistake && failure.description.contains("--tunnel-number"))
  }

  @Test(arguments: [
    "https://a.example", "ws://a.example", "wss://", "wss://a.example/path", "wss://a.example:x", "a.example", "",
  ])
  func `an address that is none is refused`(_ address: String) {
    #expect(throws: WalletFailure.self) { try TunnelPlace(number: 0, address: address) }
  }

  @Test(arguments: [2, 255] as [UInt16]) func `a number that is not assigned is refused`(_ number: UInt16) {
    #expect(throws: WalletFailure.self) { try TunnelPlace(number: number, address: nil) }
  }
}

struct HybridEventTests {
  @Test(
    arguments: [
      (nil, "a browser wants to sign in"), (12, "a browser wants to sign in; the code is 12 s old"),
      (-3, "a browser wants to sign in; by its clock, the code is from the future"),
    ] as [(Int64?, String)])
  func `a code is told with its age`(_ age: Int64?, _ text: String) {
    #expect(HybridEvent.code(nil, age: age).text == text)
  }

  @Test func `a request is read from its message, and nothing else is one`() {
    // {1: "a.example"}, and {2: {"id": "b.example"}}
    let signIn: [UInt8] = [0x02, 0xA1, 0x01, 0x69] + Array("a.example".utf8)
    let registration: [UInt8] = [0x01, 0xA1, 0x02, 0xA1, 0x62, 0x69, 0x64, 0x69] + Array("b.example".utf8)
    #expect(HybridRequestKind.read(signIn)?.kind == .signIn && HybridRequestKind.read(signIn)?.rpID == "a.example")
    #expect(HybridRequestKind.read(registration)?.kind == .registration)
    #expect(HybridRequestKind.read(registration)?.rpID == "b.example")
    #expect(HybridRequestKind.read([0x02, 0xFF])?.rpID == nil)
    #expect(HybridRequestKind.read([0x04]) == nil && HybridRequestKind.read([]) == nil)
  }

  @Test func `a request with salts for a named passkey is read`() {
    // {1: "a.example", 4: {"prf": {"evalByCredential": {h'01': {"first": h''}}}}}
    var signIn: [UInt8] = [0x02, 0xA2, 0x01, 0x69]
    signIn += "a.example".utf8
    signIn += [0x04, 0xA1, 0x63]
    signIn += "prf".utf8
    signIn += [0xA1, 0x70]
    signIn += "evalByCredential".utf8
    signIn += [0xA1, 0x41, 0x01, 0xA1, 0x65]
    signIn += "first".utf8
    signIn += [0x40]
    #expect(HybridRequestKind.read(signIn)?.rpID == "a.example")
  }

  @Test(
    arguments: [
      (0x27, .refused), (0x2F, .refused), (0x32, .refused), (0x2D, .failed), (0x2E, .failed), (0x19, .failed),
      (0x26, .failed), (0x28, .failed), (0x7F, .failed),
    ] as [(UInt8, WalletFailure.Code)])
  func `each status of the authenticator has an exit status`(_ status: UInt8, _ code: WalletFailure.Code) {
    #expect(WalletFailure(status: status).code == code)
  }

  @Test func `a lock of the vault is not taken for a person who did not answer`() {
    #expect(WalletFailure(status: 0x2D) != WalletFailure(status: 0x2F))
    #expect(WalletFailure(status: 0x32).problem.remedy?.commands == [["liquid-auth", "unlock"]])
  }

  @Test func `events for programs have names and members`() {
    let events: [(HybridEvent, String)] = [
      (.code(.makeCredential, age: 5), #"{"event": "code", "ms": 1, "hint": "mc", "age": 5}"#),
      (.code(nil, age: nil), #"{"event": "code", "ms": 1, "hint": null, "age": null}"#),
      (.connecting(host: "a"), #"{"event": "connecting", "ms": 1, "host": "a"}"#),
      (.advertising, #"{"event": "advertising", "ms": 1}"#), (.connected, #"{"event": "connected", "ms": 1}"#),
      (
        .requested(.signIn, rpID: "a.example"),
        #"{"event": "requested", "ms": 1, "request": "signIn", "rpId": "a.example"}"#
      ),
      (.answered(.registration), #"{"event": "answered", "ms": 1, "request": "registration"}"#),
    ]
    for (event, json) in events { #expect(WalletEvent.hybrid(event).json(milliseconds: 1) == json) }
  }

  @Test(arguments: [
    ("a\u{1B}[2J", #"a\u{1B}[2J"#), ("you are signed in. Now", #"you\u{20}are\u{20}signed\u{20}in.\u{20}Now"#),
    ("\u{440}.example", #"\u{440}.example"#), ("", "a site"), ("a.example", "a.example"),
  ])
  func `the site's name cannot act on a terminal, or pose as a sentence of ours`(_ rpID: String, _ shown: String) {
    let text = WalletEvent.hybrid(.requested(.signIn, rpID: rpID)).text
    #expect(text?.hasPrefix("\(shown) wants you to sign in") == true)
  }
}
