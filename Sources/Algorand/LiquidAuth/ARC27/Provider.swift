import CBOR
import CryptoPrimitives
import DeterministicKeys

/// The wallet's side of ARC-27 on one data channel: a message in, a message of the same kind out.
///
/// It answers one request after the other: ``answer(_:)`` is mutating, so two cannot be open at once. Meanwhile further
/// messages wait in the ``PeerChannel``, which limits them.
///
/// A channel exists only after its user has linked this wallet with the dApp's page. So `enable` returns the account
/// without another prompt, and `disable` ends the sessions but not the channel. Each signature has its own prompt.
public struct Provider: Sendable {
  /// The id of this wallet for ARC-27, the same on every machine.
  public static let liquidAuthID = "e62ef06c-3439-45fd-bf9f-a02cef6b0237"
  /// The most bytes of all transactions of one request.
  ///
  /// A browser sends at most 262 144 bytes at once, which hold 147 456, as base64 in CBOR in base64. With their
  /// envelope, the transactions go to the authenticator in one message of at most 163 840 bytes.
  public static let maximumTransactionsSize = 160_000
  /// The longest message that is signed, bytes of UTF-8: the prompt shows all of it.
  public static let maximumMessageSize = 1024

  let configuration: Configuration
  let signer: any TransactionSigner
  private var randomness: any RandomNumberGenerator & Sendable
  /// The session of each enabled network, by its genesis hash.
  private var sessions: [[UInt8]: String] = [:]

  /// Makes the provider of one channel.
  public init(
    _ configuration: Configuration, signer: any TransactionSigner, randomness: any RandomNumberGenerator & Sendable
  ) {
    self.configuration = configuration
    self.signer = signer
    self.randomness = randomness
  }

  /// Answers a message, after a prompt if the request needs one.
  ///
  /// Cancelling the task withdraws the prompt. A request that is refused is not signed in part.
  public mutating func answer(_ message: PeerMessage) async -> Answer {
    let request: ARC27Envelope
    do throws(UnansweredFrame) {
      request = try ARC27Envelope(ARC27Frame.decode(message))
    } catch {
      guard error == .json, let ac2 = AC2Message(message) else { return .none(error) }
      return .reply(
        Reply(
          frame: ac2.refusal(id: UUIDv4.make(using: &randomness), answering: message), method: ac2.type,
          error: .methodNotSupported(ac2.type), posted: []))
    }
    do throws(ARC27Error) {
      let result = try await result(of: request)
      let posted = result["txnIDs"]?.array?.compactMap(\.text) ?? []
      return .reply(reply(to: request, in: message, "result", result, error: nil, posted: posted))
    } catch {
      var members: [LooseCBORName: LooseCBORValue] = [
        "code": .unsigned(UInt64(error.code)), "message": .text(error.message),
      ]
      members["data"] = error.data
      return .reply(reply(to: request, in: message, "error", members, error: error, posted: error.posted))
    }
  }

  /// ARC-27, Response Message Schema.
  private mutating func reply(
    to request: ARC27Envelope, in message: PeerMessage, _ name: String, _ members: [LooseCBORName: LooseCBORValue],
    error: ARC27Error?, posted: [String]
  ) -> Reply {
    var members = members
    members["providerId"] = .text(Self.liquidAuthID)
    let frame = ARC27Frame.encode(
      [
        "id": .text(UUIDv4.make(using: &randomness)),
        "reference": .text("\(ARC27Reference(request.method, .response))"),
        "requestId": .text(request.id),
        LooseCBORName(name): .map(members),
      ], answering: message)
    return Reply(
      frame: frame, method: request.method, error: error, posted: posted,
      introduction: request.method == DAppIntroduction.method ? DAppIntroduction(request.params) : nil)
  }
}

// MARK: - Discover, enable, disable

extension Provider {
  func discover() -> [LooseCBORName: LooseCBORValue] {
    let networks = configuration.networks.map { network -> LooseCBORValue in
      let methods = ARC27Method.allCases.filter { $0 != .discover && (network.algod != nil || !$0.isForNodes) }
      return [
        "genesisHash": .text(Base64.encode(network.genesisHash)), "genesisId": .text(network.genesisID),
        "methods": .array(methods.map { .text($0.rawValue) }),
      ]
    }
    var result: [LooseCBORName: LooseCBORValue] = ["name": .text(configuration.name), "networks": .array(networks)]
    result["host"] = configuration.host.map(LooseCBORValue.text)
    return result
  }

  mutating func enable(_ network: Network) -> [LooseCBORName: LooseCBORValue] {
    let session = sessions[network.genesisHash] ?? UUIDv4.make(using: &randomness)
    sessions[network.genesisHash] = session
    var account: [LooseCBORName: LooseCBORValue] = ["address": .text(configuration.account.text)]
    account["name"] = configuration.accountName.map(LooseCBORValue.text)
    return network.members.merging(["accounts": [.map(account)], "sessionId": .text(session)]) { $1 }
  }

  /// Without ids, it ends all sessions of the network.
  mutating func disable(_ network: Network, _ ids: [String]) -> [LooseCBORName: LooseCBORValue] {
    var ended: [LooseCBORValue] = []
    if let session = sessions[network.genesisHash], ids.isEmpty || ids.contains(session) {
      sessions[network.genesisHash] = nil
      ended = [.text(session)]
    }
    return network.members.merging(["sessionIds": .array(ended)]) { $1 }
  }

  /// Answers `biatec:hello`: the account, the wallet's name, and the methods.
  func hello() -> [LooseCBORName: LooseCBORValue] {
    let hasNode = configuration.networks.contains { $0.algod != nil }
    let methods = ARC27Method.allCases.filter { hasNode || !$0.isForNodes }
    return [
      "wallet": .text(configuration.account.text), "name": .text(configuration.name),
      "methods": .array(methods.map { .text("arc0027:\($0.rawValue)") }),
    ]
  }

  /// The network with a genesis hash; without a hash, the first.
  func network(_ genesisHash: [UInt8]?) throws(ARC27Error) -> Network {
    guard let genesisHash else { return configuration.networks[0] }
    return try configuration.network(genesisHash)
  }
}

extension Provider.Network {
  fileprivate var members: [LooseCBORName: LooseCBORValue] {
    ["genesisHash": .text(Base64.encode(genesisHash)), "genesisId": .text(genesisID)]
  }
}

/// Random UUIDs: RFC 9562 §5.4, which ARC-27 requires for every id.
package enum UUIDv4 {
  /// Draws one, in lower case.
  package static func make(using generator: inout some RandomNumberGenerator) -> String {
    var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = Array("0123456789abcdef")
    return bytes.enumerated().reduce(into: "") { text, byte in
      if [4, 6, 8, 10].contains(byte.offset) { text += "-" }
      text += "\(digits[Int(byte.element >> 4)])\(digits[Int(byte.element & 15)])"
    }
  }
}
