import LiquidAuth
import Testing

@testable import liquid_auth_wallet

struct ConfigurationTests {
  @Test func `a configuration says servers, authorities and nodes`() throws {
    let configuration = try WalletConfiguration(
      """
      # Ours.
      ice-server = stun:stun.example

        ice-server=turn:turn.example:443?transport=tcp  anna  pass=word#1
      ca-file = /etc/a b.pem
      algod testnet-v1.0 = https://node.example/
      algod mainnet-v1.0 = http://127.0.0.1:4001 token
      """, path: "wallet.conf")
    #expect(
      configuration.iceServers == [
        ICEServer(urls: ["stun:stun.example"]),
        ICEServer(urls: ["turn:turn.example:443?transport=tcp"], username: "anna", credential: "pass=word#1"),
      ])
    #expect(configuration.certificateAuthorities == "/etc/a b.pem")
    #expect(configuration.nodes["testnet-v1.0"]?.origin.serialized == "https://node.example")
    #expect(configuration.nodes["testnet-v1.0"]?.token == nil)
    #expect(configuration.nodes["mainnet-v1.0"]?.origin.serialized == "http://127.0.0.1:4001")
    #expect(configuration.nodes["mainnet-v1.0"]?.token == "token")
  }

  @Test func `without a line nothing is configured, and none is no server`() throws {
    #expect(try WalletConfiguration("\n# nothing\n", path: "f") == WalletConfiguration())
    #expect(try WalletConfiguration("ice-server = none", path: "f").iceServers == [])
  }

  @Test(arguments: [
    (
      "ice_server = stun:a",
      "what stands before = is no setting; there are ice-server, ca-file, algod GENESIS-ID, keyri-api and keyri NAME"
    ),
    (
      "turn:turn.example anna s3cr3t=",
      "what stands before = has no value"
    ),
    (
      "turn:turn.example anna s3cr3t = x",
      "what stands before = is no setting; there are ice-server, ca-file, algod GENESIS-ID, keyri-api and keyri NAME"
    ),
    (
      "stun-server = a",
      "stun-server is no setting; there are ice-server, ca-file, algod GENESIS-ID, keyri-api and keyri NAME"
    ),
    ("ice-server = s3cr3t", "this is no STUN or TURN server: it begins with neither stun: nor turn:"),
    ("ca-file", "a line is name = value"),
    ("ca-file = ", "ca-file has no value"),
    ("ca-file = a\nca-file = b", "ca-file stands there twice"),
    ("ice-server = none\nice-server = stun:a", "ice-server = none stands beside other servers"),
    ("ice-server = stun:a\nice-server = none", "ice-server = none stands beside other servers"),
    (
      "ice-server = turns:a u p",
      "this is no STUN or TURN server: GStreamer reaches no STUN or TURN server over TLS; give turn: with "
        + "?transport=tcp"
    ),
    ("ice-server = turn:a", "user and password follow the address of a TURN server"),
    ("ice-server = stun:a b", "nothing follows the address of a STUN server"),
    (
      "algod devnet-v1.0 = https://a.example",
      "what follows algod is no network; there are mainnet-v1.0, testnet-v1.0, betanet-v1.0"
    ),
    (
      "algod testnet-v1.0 = http://a.example",
      "this is no address of a node: http is for this machine only, and a.example is another; ask the dApp "
        + "for https"
    ),
    ("algod testnet-v1.0 = https://a.example t o", "algod is an address, and a token where one is needed"),
  ])
  func `what is wrong is named, and its line`(text: String, fault: String) {
    let lines = text.split(separator: "\n").count
    let error = #expect(throws: ConfigurationError.self) { try WalletConfiguration("\n" + text, path: "w.conf") }
    #expect(error?.description == "w.conf, line \(lines + 1): \(fault)")
  }

  @Test func `the usual place is the standard's`() {
    #expect(
      WalletConfiguration.usualPath(["HOME": "/h"].lookUp) == "/h/.config/liquid-auth/wallet.conf")
    #expect(
      WalletConfiguration.usualPath(["HOME": "/h", "XDG_CONFIG_HOME": "/c"].lookUp) == "/c/liquid-auth/wallet.conf")
    #expect(
      WalletConfiguration.usualPath(["HOME": "/h", "XDG_CONFIG_HOME": "c"].lookUp)
        == "/h/.config/liquid-auth/wallet.conf")
    #expect(WalletConfiguration.usualPath([:].lookUp) == nil)
  }

  @Test func `a file that is named must be there, the usual one need not`() throws {
    #expect(try WalletConfiguration(readFrom: nil, environment: ["HOME": "/nowhere"].lookUp) == WalletConfiguration())
    let error = #expect(throws: WalletFailure.self) {
      try WalletConfiguration(readFrom: "/nowhere/w.conf", environment: [:].lookUp)
    }
    #expect(error?.description == "cannot read /nowhere/w.conf: No such file or directory")
  }
}

extension [String: String] {
  fileprivate var lookUp: (String) -> String? { { self[$0] } }
}
