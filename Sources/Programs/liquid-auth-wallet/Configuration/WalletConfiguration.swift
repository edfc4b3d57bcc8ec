import AlgorandTransaction
import CryptoPrimitives
import LiquidAuth

/// The wallet's configuration: lines of `name = value`, and comments that begin with `#`.
struct WalletConfiguration: Equatable {
  /// The file's name in errors, even if it does not exist.
  let file: String
  /// `ice-server`, one line for each; a single `none` for no server.
  var iceServers: [ICEServer]?
  /// `ca-file`: a private certificate authority, PEM, trusted in addition to those of the system.
  var certificateAuthorities: CertificateFile?
  /// `algod GENESIS-ID`: the node of a network, by the network's name, such as `testnet-v1.0`.
  var nodes: [String: AlgodNode] = [:]
  /// `network NAME`: the networks besides the public ones, in the order of the file.
  private(set) var networks: [OtherNetwork] = []
  /// `tunnel`: `wss://host[:port]`, where this machine reaches the tunnel service of `answer`.
  var tunnel: String?
  /// `tunnel-number`: by which browsers find that service.
  var tunnelNumber: UInt16?
  /// `bluetooth-channel`: whether `answer` also lets browsers connect by Bluetooth, if their code lists that.
  var bluetoothChannel: Bool?
  /// `keyri-api`, and one `keyri NAME` for each service with Keyri.
  var keyri: KeyriServices

  /// Whether the file holds a password or a token, which other users must not read.
  ///
  /// The app key of a service with Keyri is no secret: every copy of the service's app contains it.
  var holdsSecret: Bool {
    (iceServers ?? []).contains { $0.credential != nil } || nodes.values.contains { $0.token != nil }
      || networks.contains { $0.node?.token != nil }
  }

  /// Reads the file's text.
  ///
  /// - Parameters:
  ///   - path: the file's name in errors.
  ///   - home: the directory that `~` means at the beginning of a path.
  init(_ text: String, path: String, home: String?) throws(WalletFailure) {
    self.init(file: path)
    // CR and LF are one character, which differs from LF.
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let line = line.trimmed
      if line.isEmpty || line.hasPrefix("#") { continue }
      let place = "\(path), line \(index + 1)"
      do throws(WalletFailure) { try read(line, at: place, home: home) } catch {
        throw WalletFailure("\(place): \(error)")
      }
    }
  }

  /// The configuration without a file.
  init(file: String) {
    self.file = file
    keyri = KeyriServices(file: file)
  }

  private mutating func read(_ line: Substring, at place: String, home: String?) throws(WalletFailure) {
    let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw WalletFailure("a line must be NAME = VALUE") }
    let (name, value) = (parts[0].trimmed, String(parts[1].trimmed))
    guard !value.isEmpty else { throw WalletFailure("\(Self.shownName(name) ?? "a setting") has no value") }
    switch name {
    case "ice-server": try readICEServer(value)
    case "ca-file":
      guard certificateAuthorities == nil else { throw WalletFailure("duplicate setting: ca-file") }
      certificateAuthorities = CertificateFile(path: try Self.path(value, home: home), place: "\(place): ca-file")
    case "algod":
      throw WalletFailure(
        "algod takes a network, one of \(Self.publicNetworks): algod testnet-v1.0 = https://node.example.org")
    case "network":
      throw WalletFailure("network takes a name: network NAME = GENESIS-HASH algod https://node.example.org TOKEN")
    case _ where name.hasPrefix("network "): try readNetwork(name.dropFirst("network ".count).trimmed, value)
    case "keyri":
      throw WalletFailure("keyri takes the name of a service: keyri NAME = https://app.example.org APP-KEY")
    case _ where name.hasPrefix("algod "): try readNode(name.dropFirst("algod ".count).trimmed, value)
    case "tunnel":
      guard tunnel == nil else { throw WalletFailure("duplicate setting: tunnel") }
      tunnel = value
    case "tunnel-number":
      guard tunnelNumber == nil else { throw WalletFailure("duplicate setting: tunnel-number") }
      guard let number = UInt16(value) else { throw WalletFailure("tunnel-number takes a number, 0 to 65535") }
      tunnelNumber = number
    case "bluetooth-channel":
      guard bluetoothChannel == nil else { throw WalletFailure("duplicate setting: bluetooth-channel") }
      guard value == "on" || value == "off" else { throw WalletFailure("bluetooth-channel takes on or off") }
      bluetoothChannel = value == "on"
    case "keyri-api": try keyri.setAPI(value)
    case _ where name.hasPrefix("keyri "):
      try keyri.add(KeyriService(name: String(name.dropFirst("keyri ".count).trimmed), value))
    default:
      let shown = Self.shownName(name).map { " \($0)" } ?? ""
      throw WalletFailure(
        "unknown setting\(shown); expected ice-server, ca-file, algod GENESIS-ID, network NAME, tunnel, tunnel-number, "
          + "bluetooth-channel, keyri-api or keyri NAME")
    }
  }

  /// The name for an error message; `nil` unless it has only small letters, digits and hyphens.
  ///
  /// Messages show no other part of a line, since a malformed line may contain a password anywhere.
  private static func shownName(_ name: Substring) -> Substring? {
    let isPlain = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
      default: false
      }
    }
    return isPlain && !name.isEmpty ? name : nil
  }

  /// Reads a path that does not depend on the working directory.
  private static func path(_ text: String, home: String?) throws(WalletFailure) -> String {
    if text.hasPrefix("/") { return text }
    guard text.hasPrefix("~/"), let home else { throw WalletFailure("a path must begin with / or ~/") }
    return home + text.dropFirst()
  }

  private mutating func readICEServer(_ value: String) throws(WalletFailure) {
    if value == "none" {
      guard iceServers == nil else { throw WalletFailure("ice-server = none cannot be combined with other servers") }
      iceServers = []
      return
    }
    guard iceServers != [] else { throw WalletFailure("ice-server = none cannot be combined with other servers") }
    iceServers = try (iceServers ?? []) + [ICEServerText.server(value)]
  }

  private mutating func readNode(_ genesisID: Substring, _ value: String) throws(WalletFailure) {
    guard Network(rawValue: String(genesisID)) != nil else {
      throw WalletFailure(
        "unknown network after algod; expected \(Self.publicNetworks); for another one, write: "
          + "network NAME = GENESIS-HASH algod https://node.example.org")
    }
    guard nodes[String(genesisID)] == nil else { throw WalletFailure("duplicate setting: algod \(genesisID)") }
    nodes[String(genesisID)] = try AlgodNode(value)
  }

  private mutating func readNetwork(_ name: Substring, _ value: String) throws(WalletFailure) {
    let network = try OtherNetwork(String(name), value)
    guard networks.count < OtherNetwork.maximumCount else {
      throw WalletFailure("there are more than \(OtherNetwork.maximumCount) networks")
    }
    guard
      !networks.contains(where: { $0.genesisID.utf8.elementsEqual(name.utf8) || $0.genesisHash == network.genesisHash })
    else { throw WalletFailure("duplicate setting: a network with this name or genesis hash") }
    networks.append(network)
  }

  private static let publicNetworks = Network.allCases.map(\.genesisID).joined(separator: ", ")

  /// The node of a network, public or not, by its name; `nil` if the file names none.
  func node(of genesisID: String) -> AlgodNode? {
    nodes[genesisID] ?? networks.first { $0.genesisID.utf8.elementsEqual(genesisID.utf8) }?.node
  }

  /// The hash of the first block of a network that the wallet knows, by its name.
  func genesisHash(of genesisID: String) -> [UInt8]? {
    if let network = Network(rawValue: genesisID) { return Base64.decode(network.genesisHash) }
    return networks.first { $0.genesisID.utf8.elementsEqual(genesisID.utf8) }?.genesisHash
  }
}

/// A network that is not a public one: LocalNet, FNet, Voi and others.
struct OtherNetwork: Equatable {
  /// The most networks in a file: a dApp gets all of them in one answer.
  static let maximumCount = 16
  /// The longest name, bytes.
  private static let maximumNameSize = 64

  /// The readable id (`gen`).
  let genesisID: String
  /// The hash of the first block, 32 bytes.
  let genesisHash: [UInt8]
  let node: AlgodNode?

  /// Reads `GENESIS-HASH [algod ADDRESS [TOKEN]]`; the hash is in base64, as a node writes it.
  init(_ name: String, _ value: String) throws(WalletFailure) {
    guard 1...Self.maximumNameSize ~= name.utf8.count, name.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw WalletFailure(
        "the name of a network has 1 to \(Self.maximumNameSize) visible ASCII characters, and no space")
    }
    let words = value.split(maxSplits: 2, whereSeparator: \.isWhitespace)
    guard let hash = words.first.flatMap({ Base64.decode(String($0)) }), hash.count == 32 else {
      throw WalletFailure("a network takes the hash of its first block, 32 bytes in base64")
    }
    guard Network(rawValue: name) == nil, Network(genesisHash: hash) == nil else {
      throw WalletFailure(
        "this is a public network, which the wallet knows; name its node with: algod GENESIS-ID = ADDRESS")
    }
    (genesisID, genesisHash) = (name, hash)
    guard words.count > 1 else {
      node = nil
      return
    }
    guard words[1].utf8.elementsEqual("algod".utf8), words.count == 3 else {
      throw WalletFailure("after the hash of a network comes nothing, or algod and the address of a node")
    }
    node = try AlgodNode(String(words[2]))
  }
}

/// A node of an Algorand network, and its access token.
struct AlgodNode: Equatable {
  /// `https://host[:port]`; `http:` for this machine only.
  let origin: WebOrigin
  /// `X-Algo-API-Token`.
  let token: String?

  /// Reads `https://host[:port] [TOKEN]`.
  init(_ text: String) throws(WalletFailure) {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard 1...2 ~= words.count else { throw WalletFailure("algod takes an address, and a token if the node needs one") }
    do {
      origin = try WebOrigin(words[0].hasSuffix("/") ? words[0].dropLast() : words[0])
    } catch {
      throw WalletFailure("this is not the address of a node: \(error.inConfiguration)")
    }
    token = words.count > 1 ? String(words[1]) : nil
  }
}

extension AlgodNode {
  /// A client of the node.
  func client(over http: any HTTPPort) -> AlgodClient {
    AlgodClient(url: origin.serialized, token: token, http: http)
  }
}

extension AlgodNode: CustomStringConvertible, CustomReflectable {
  /// The address only, so that a token in a log stays secret.
  var description: String { "AlgodNode(\(origin))" }

  /// No children: a dump shows no more than ``description``.
  var customMirror: Mirror { Mirror(self, children: []) }
}

/// A file of certificates, and the setting that names it.
struct CertificateFile: Equatable {
  /// The path of the file.
  let path: String
  /// The prefix of an error about it: the option, or the line of the configuration.
  let place: String
}

// MARK: - Words and texts

extension LiquidAuthError {
  /// What is wrong with an address in the configuration or on the command line, and how to fix it.
  ///
  /// The error's own text is about links of dApps.
  var inConfiguration: String {
    guard case .origin(let fault) = kind else { return description }
    return switch fault {
    case .scheme: "it does not begin with https://"
    case .userInformation: "it has a user name before the host; remove it"
    case .noHost: "it names no host; write https://node.example.org"
    case .host: "its host is not a valid DNS name; write one such as https://node.example.org"
    case .path: "an address has no path; write scheme, host and port alone: https://node.example.org:443"
    case .notASCII: "its host has letters outside ASCII, which can look like others; write it in Punycode (xn--)"
    case .address: "its host is an IP address; write its name"
    case .port: "its port is not a number from 1 to 65535"
    case .insecure(let host): "http is only for this machine, not for \(host); write https"
    }
  }
}

extension StringProtocol {
  /// The text without white space at either end.
  var trimmed: SubSequence {
    let start = firstIndex { !$0.isWhitespace } ?? endIndex
    let end = lastIndex { !$0.isWhitespace }.map(index(after:)) ?? start
    return self[start..<end]
  }
}
