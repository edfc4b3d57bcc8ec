import Glibc
import LiquidAuth
import Testing

@testable import liquid_auth_wallet

struct ConfigurationTests {
  @Test func `a node prints its address and no token`() throws {
    let configuration = try WalletConfiguration(
      "algod testnet-v1.0 = https://node.example s3cret-t0ken", path: "f", home: nil)
    #expect(configuration.nodes["testnet-v1.0"]?.token == "s3cret-t0ken")
    var dumped = ""
    dump(configuration, to: &dumped)
    for text in [dumped, "\(configuration)", String(reflecting: configuration)] {
      #expect(text.contains("node.example") && !text.contains("s3cret-t0ken"))
    }
  }

  @Test func `a configuration has servers, authorities and nodes`() throws {
    let configuration = try WalletConfiguration(
      """
      # Ours.
      ice-server = stun:stun.example

        ice-server=turn:turn.example:443?transport=tcp  anna  pass=word#1
      ca-file = /etc/a b.pem
      algod testnet-v1.0 = https://node.example/
      algod mainnet-v1.0 = http://127.0.0.1:4001 token
      """, path: "wallet.conf", home: nil)
    #expect(
      configuration.iceServers == [
        ICEServer(urls: ["stun:stun.example"]),
        ICEServer(urls: ["turn:turn.example:443?transport=tcp"], username: "anna", credential: "pass=word#1"),
      ])
    #expect(
      configuration.certificateAuthorities
        == CertificateFile(path: "/etc/a b.pem", place: "wallet.conf, line 5: ca-file"))
    #expect(configuration.nodes["testnet-v1.0"]?.origin.serialized == "https://node.example")
    #expect(configuration.nodes["testnet-v1.0"]?.token == nil)
    #expect(configuration.nodes["mainnet-v1.0"]?.origin.serialized == "http://127.0.0.1:4001")
    #expect(configuration.nodes["mainnet-v1.0"]?.token == "token")
  }

  static let hash = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

  @Test func `a network that is not public has a name, a hash, and perhaps a node`() throws {
    let configuration = try WalletConfiguration(
      """
      network dockernet-v1 = \(Self.hash) algod http://localhost:4001 token
      network voimain-v1.0 = //8CAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
      """, path: "f", home: nil)
    #expect(configuration.networks.map(\.genesisID) == ["dockernet-v1", "voimain-v1.0"])
    #expect(configuration.networks[0].genesisHash == [UInt8](0..<32))
    #expect(configuration.node(of: "dockernet-v1")?.origin.serialized == "http://localhost:4001")
    #expect(configuration.node(of: "voimain-v1.0") == nil && configuration.node(of: "mainnet-v1.0") == nil)
    #expect(configuration.genesisHash(of: "voimain-v1.0")?.prefix(2) == [0xFF, 0xFF])
    #expect(configuration.genesisHash(of: "testnet-v1.0")?.count == 32)
    #expect(configuration.holdsSecret, "it has a token")
    #expect(!"\(configuration)".contains("token"))
  }

  @Test(arguments: [
    "network = \(hash)", "network a b = \(hash)", "network a = AAEC", "network a = \(hash) https://node.example",
    "network a = \(hash) algod", "network a = \(hash) algod ftp://node.example", "network testnet-v1.0 = \(hash)",
    "network a = SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=",
    "network a = \(hash)\nnetwork a = //8CAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "network a = \(hash)\nnetwork b = \(hash)", "network \(String(repeating: "a", count: 65)) = \(hash)",
  ])
  func `a malformed network is refused, without its values`(_ text: String) {
    let error = #expect(throws: WalletFailure.self) { try WalletConfiguration(text, path: "w.conf", home: nil) }
    #expect(error?.description.contains(Self.hash) == false)
  }

  @Test func `an empty file configures nothing; ice-server = none means no server`() throws {
    #expect(try WalletConfiguration("\n# nothing\n", path: "f", home: nil) == WalletConfiguration(file: "f"))
    #expect(try WalletConfiguration("ice-server = none", path: "f", home: nil).iceServers == [])
  }

  @Test func `lines can end with CR and LF`() throws {
    let configuration = try WalletConfiguration("# Ours.\r\nice-server = none\r\n", path: "f", home: nil)
    #expect(configuration.iceServers == [])
    let error = #expect(throws: WalletFailure.self) {
      try WalletConfiguration("\r\n# Ours.\r\nca-file\r\n", path: "w.conf", home: nil)
    }
    #expect(error?.description == "w.conf, line 3: a line must be NAME = VALUE")
  }

  // Holds: INPUT-1
  @Test func `a path begins with / or ~/`() throws {
    let file = try WalletConfiguration("ca-file = ~/ca.pem", path: "w.conf", home: "/h").certificateAuthorities
    #expect(file?.path == "/h/ca.pem")
    for text in ["ca-file = ca.pem", "ca-file = ~anna/ca.pem"] {
      let error = #expect(throws: WalletFailure.self) {
        try WalletConfiguration(text, path: "w.conf", home: "/h")
      }
      #expect(error?.description == "w.conf, line 1: a path must begin with / or ~/")
    }
  }

  // Holds: KEYRI-11, INPUT-1
  @Test(arguments: [
    (
      "ice_server = stun:a",
      "unknown setting; expected ice-server, ca-file, algod GENESIS-ID, network NAME, tunnel, tunnel-number, "
        + "bluetooth-channel, keyri-api or keyri NAME"
    ),
    (
      "turn:turn.example anna s3cr3t=",
      "a setting has no value"
    ),
    (
      "turn:turn.example anna s3cr3t = x",
      "unknown setting; expected ice-server, ca-file, algod GENESIS-ID, network NAME, tunnel, tunnel-number, "
        + "bluetooth-channel, keyri-api or keyri NAME"
    ),
    (
      "stun-server = a",
      "unknown setting stun-server; expected ice-server, ca-file, algod GENESIS-ID, network NAME, tunnel, tunnel-number, "
        + "bluetooth-channel, keyri-api or keyri NAME"
    ),
    ("ice-server = s3cr3t", "this is not a STUN or TURN server: it begins with neither stun: nor turn:"),
    ("ca-file", "a line must be NAME = VALUE"),
    ("ca-file = ", "ca-file has no value"),
    ("ca-file = /a\nca-file = /b", "duplicate setting: ca-file"),
    ("ice-server = none\nice-server = stun:a", "ice-server = none cannot be combined with other servers"),
    ("ice-server = stun:a\nice-server = none", "ice-server = none cannot be combined with other servers"),
    (
      "ice-server = turns:a u p",
      "this is not a STUN or TURN server: STUN and TURN over TLS are not supported; give turn: with "
        + "?transport=tcp"
    ),
    (
      "ice-server = turn:a", "a TURN server takes a user and a password: turn:HOST USER PASSWORD"
    ),
    ("ice-server = stun:a b", "a STUN server takes only an address"),
    (
      "algod devnet-v1.0 = https://a.example",
      """
      unknown network after algod; expected mainnet-v1.0, testnet-v1.0, betanet-v1.0; for another one, write: \
      network NAME = GENESIS-HASH algod https://node.example.org
      """
    ),
    (
      "algod testnet-v1.0 = http://a.example",
      "this is not the address of a node: http is only for this machine, not for a.example; write https"
    ),
    (
      "algod testnet-v1.0 = https://10.0.0.1",
      "this is not the address of a node: its host is an IP address; write its name"
    ),
    (
      "keyri acme = https://a.example/login",
      "invalid service address: an address has no path; write scheme, host and port alone: "
        + "https://node.example.org:443"
    ),
    (
      "algod = https://a.example",
      "algod takes a network, one of mainnet-v1.0, testnet-v1.0, betanet-v1.0: algod testnet-v1.0 = "
        + "https://node.example.org"
    ),
    (
      "keyri = https://a.example",
      "keyri takes the name of a service: keyri NAME = https://app.example.org APP-KEY"
    ),
    ("algod testnet-v1.0 = https://a.example t o", "algod takes an address, and a token if the node needs one"),
  ])
  func `an error names the line and the setting`(text: String, fault: String) {
    let lines = text.split(separator: "\n").count
    let error = #expect(throws: WalletFailure.self) {
      try WalletConfiguration("\n" + text, path: "w.conf", home: "/h")
    }
    #expect(error?.description == "w.conf, line \(lines + 1): \(fault)")
  }

  @Test func `the default path follows XDG_CONFIG_HOME`() {
    #expect(
      WalletConfiguration.usualPath(["HOME": "/h"].lookUp) == "/h/.config/liquid-auth/wallet.conf")
    #expect(
      WalletConfiguration.usualPath(["HOME": "/h", "XDG_CONFIG_HOME": "/c"].lookUp) == "/c/liquid-auth/wallet.conf")
    #expect(
      WalletConfiguration.usualPath(["HOME": "/h", "XDG_CONFIG_HOME": "c"].lookUp)
        == "/h/.config/liquid-auth/wallet.conf")
    #expect(WalletConfiguration.usualPath([:].lookUp) == nil)
  }

  @Test func `a named file must exist; the default file is optional`() throws {
    #expect(
      try WalletConfiguration(readFrom: nil, environment: ["HOME": "/nowhere"].lookUp)
        == WalletConfiguration(file: "/nowhere/.config/liquid-auth/wallet.conf"))
    let error = #expect(throws: WalletFailure.self) {
      try WalletConfiguration(readFrom: "/nowhere/w.conf", environment: [:].lookUp)
    }
    #expect(error?.description == "cannot read /nowhere/w.conf: No such file or directory")
  }

  // Holds: INPUT-2
  @Test(arguments: ["ice-server = turn:a anna s3cr3t", "algod testnet-v1.0 = https://a.example token"])
  func `a file with a secret that others can access is refused`(line: String) throws {
    let file = try TemporaryFile(line)
    for mode: mode_t in [0o600, 0o400] {
      chmod(file.path, mode)
      _ = try WalletConfiguration(readFrom: file.path, environment: [:].lookUp)
    }
    for mode: mode_t in [0o604, 0o602, 0o606] {
      chmod(file.path, mode)
      let error = #expect(throws: WalletFailure.self) {
        try WalletConfiguration(readFrom: file.path, environment: [:].lookUp)
      }
      #expect(
        error?.description
          == "\(file.path) has a password or a token, and other users can read it; run: chmod 600 "
          + file.path)
    }
  }

  @Test func `a file without a secret may be readable by all`() throws {
    let file = try TemporaryFile(
      "ice-server = stun:a\nalgod testnet-v1.0 = https://a.example\nkeyri a = https://a.example KEY")
    chmod(file.path, 0o644)
    _ = try WalletConfiguration(readFrom: file.path, environment: [:].lookUp)
  }

  // Holds: INPUT-3
  @Test func `a file that other users can write is refused`() throws {
    let file = try TemporaryFile("ice-server = stun:a")
    for mode: mode_t in [0o666, 0o646, 0o602] {
      chmod(file.path, mode)
      let error = #expect(throws: WalletFailure.self) {
        try WalletConfiguration(readFrom: file.path, environment: [:].lookUp)
      }
      #expect(
        error?.description
          == "\(file.path) can be changed by other users; run: chmod go-w "
          + file.path)
    }
  }

  // Holds: INPUT-3
  /// No account has this group; Tests/EndToEnd/support/accounts.py tests private groups.
  @Test(arguments: [
    ("stun:a", 0o664 as mode_t), ("stun:a", 0o620), ("turn:a anna s3cr3t", 0o640), ("turn:a anna s3cr3t", 0o660),
  ])
  func `a file that a shared group can write, or read with a secret, is refused`(server: String, mode: mode_t) throws {
    let configuration = try WalletConfiguration("ice-server = \(server)", path: "w.conf", home: nil)
    var status = stat()
    (status.st_uid, status.st_gid, status.st_mode) = (geteuid(), 424_242, S_IFREG | mode)
    #expect(
      configuration.fault(of: status, user: geteuid())
        == (server == "stun:a"
          ? "can be changed by other users; run: chmod go-w"
          : "has a password or a token, and other users can read it; run: chmod 600"))
  }

  // Holds: INPUT-3
  @Test func `a file of another user than the user or root is refused`() {
    let configuration = WalletConfiguration(file: "w.conf")
    func fault(ofOwner owner: uid_t) -> String? {
      var status = stat()
      (status.st_uid, status.st_mode) = (owner, S_IFREG | 0o644)
      return configuration.fault(of: status, user: 1000)
    }
    #expect(fault(ofOwner: 1000) == nil)
    #expect(fault(ofOwner: 0) == nil)
    #expect(
      fault(ofOwner: 1001)
        == "belongs to another user, who can change it; run: sudo chown 1000")
  }

  // Holds: INPUT-2
  @Test func `the command line names TURN servers; the file has their passwords`() throws {
    let configuration = try WalletConfiguration("ice-server = turn:a anna s3cr3t", path: "w.conf", home: nil)
    #expect(try configuration.iceServer(named: "stun:b") == ICEServer(urls: ["stun:b"]))
    #expect(
      try configuration.iceServer(named: "turn:a")
        == ICEServer(urls: ["turn:a"], username: "anna", credential: "s3cr3t"))
    #expect(throws: WalletFailure("w.conf has no line for it: ice-server = turn:b USER PASSWORD")) {
      try configuration.iceServer(named: "turn:b")
    }
    #expect(
      throws: WalletFailure(
        "other users can read command lines, and may have read this password; write the server into "
          + "w.conf, as ice-server = turn:HOST USER PASSWORD, and name its address alone", code: .mistake)
    ) { try configuration.iceServer(named: "turn:a anna s3cr3t") }
  }
}

extension [String: String] {
  fileprivate var lookUp: (String) -> String? { { self[$0] } }
}

/// A temporary file, removed when the object is released.
private final class TemporaryFile: Sendable {
  let path: String

  init(_ text: String) throws {
    var name = Array("/tmp/wallet-configuration-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    try #require(descriptor >= 0)
    path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    let bytes = Array(text.utf8)
    try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
  }

  deinit { unlink(path) }
}
