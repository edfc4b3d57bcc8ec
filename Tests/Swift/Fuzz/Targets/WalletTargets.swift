import LiquidAuth

/// The configuration of the wallet.
///
/// The wallet itself is not a part of this program, because it needs the network packages. The directory `Wallet` has symbolic
/// links to the files that read the configuration.
enum WalletTargets {
  static let all: [Target] = [
    Target(
      "wallet-conf", of: "the configuration file of the wallet", atMost: 2048,
      words: [
        "ice-server = ", "stun:", "turn:", "?transport=tcp", "none", "ca-file = ", "~/", "algod ", "testnet-v1.0",
        "mainnet-v1.0", "keyri-api = ", "keyri ", "https://", "http://127.0.0.1", "[::1]", ":3478", "\n", " = ", "#",
      ],
      seeds: {
        [
          """
          # Ours.
          ice-server = stun:stun.example
            ice-server=turn:[::1]:443?transport=tcp  anna  pass=word#1
          ca-file = ~/a b.pem
          algod testnet-v1.0 = https://node.example/
          algod mainnet-v1.0 = http://127.0.0.1:4001 token
          keyri-api = https://prod.api.keyri.com
          keyri acme = https://app.example.org APP-KEY
          """, "ice-server = none\n",
        ].map { Array($0.utf8) }
      }, read: read)
  ]

  private static func read(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    let configuration: WalletConfiguration
    do throws(WalletFailure) {
      configuration = try WalletConfiguration(text, path: "wallet.conf", home: "/home/a")
    } catch {
      expect(error.description.hasPrefix("wallet.conf, line "), "an error without a place: \(error)")
      expect(!error.description.contains("\n"), "an error on two lines")
      return
    }
    if !text.unicodeScalars.contains("\r") {
      let other = try WalletConfiguration(
        text.replacing("\n", with: "\r\n"), path: "wallet.conf", home: "/home/a")
      expect(other == configuration, "with CR and LF it is another configuration")
    }
    for server in configuration.iceServers ?? [] {
      let url = try ICEServerURL(server.urls[0])
      expect((url.kind == .turn) == (server.credential != nil), "a password where none belongs")
      expect(!url.authority.hasSuffix(":0"), "port 0")
    }
    expect(configuration.certificateAuthorities?.path.hasPrefix("/") ?? true, "a relative path")
    expect(
      Set(configuration.keyri.all.map(\.linkOrigin)).count == configuration.keyri.all.count, "a service is there twice")
  }
}

/// In the place of the wallet's own error, which has exit codes.
struct WalletFailure: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
