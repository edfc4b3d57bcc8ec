public import AlgorandTransaction
import CryptoPrimitives
public import DeterministicKeys

extension Provider {
  /// The wallet, account and networks that a provider presents to dApps.
  public struct Configuration: Sendable {
    /// The wallet's name, as shown by dApps.
    public let name: String
    /// The wallet's web site.
    public let host: String?
    /// The account that signs.
    public let account: AlgorandAddress
    /// The account's name, as shown by dApps.
    public let accountName: String?
    /// The networks, at least one; the first applies if a dApp names none.
    public let networks: [Network]
    /// The dApp's origin, taken from the link; prompts show it.
    public let origin: String
    /// The form of the elements of `stxns`.
    public let signedTransactionForm: SignedTransactionForm

    /// - Precondition: there is a network.
    public init(
      name: String, host: String? = nil, account: AlgorandAddress, accountName: String? = nil, networks: [Network],
      origin: String, signedTransactionForm: SignedTransactionForm = .signature
    ) {
      precondition(!networks.isEmpty, "a provider has at least one network")
      self.name = name
      self.host = host
      self.account = account
      self.accountName = accountName
      self.networks = networks
      self.origin = origin
      self.signedTransactionForm = signedTransactionForm
    }

    /// The network with a genesis hash.
    func network(_ genesisHash: [UInt8]) throws(ARC27Error) -> Network {
      guard let network = networks.first(where: { $0.genesisHash == genesisHash }) else {
        throw .networkNotSupported(genesisHash: Base64.encode(genesisHash))
      }
      return network
    }
  }

  /// A network that a provider supports.
  public struct Network: Sendable {
    /// The hash of its first block, 32 bytes.
    public let genesisHash: [UInt8]
    /// Its readable name.
    public let genesisID: String
    /// A node of the network; without one, nothing is posted there.
    public let algod: (any AlgodPort)?

    /// - Precondition: the hash has 32 bytes.
    public init(genesisHash: [UInt8], genesisID: String, algod: (any AlgodPort)? = nil) {
      precondition(genesisHash.count == 32, "the hash of a block has 32 bytes")
      self.genesisHash = genesisHash
      self.genesisID = genesisID
      self.algod = algod
    }

    /// One of the public networks.
    public init(_ network: AlgorandTransaction.Network, algod: (any AlgodPort)? = nil) {
      self.init(
        genesisHash: Base64.decode(network.genesisHash) ?? [], genesisID: network.genesisID, algod: algod)
    }
  }

  /// The form in which a dApp gets a signed transaction.
  public enum SignedTransactionForm: Sendable {
    /// The 64 bytes of the signature, in base64url: the dApps of Liquid Auth join it with the transaction themselves.
    case signature
    /// The signed transaction in base64, as ARC-27 defines it.
    case signedTransaction
  }

  /// The result of a frame.
  public enum Answer: Equatable, Sendable {
    /// A frame to send.
    case reply(Reply)
    /// No frame to send; the reason for the user.
    case none(UnansweredFrame)
  }

  /// An answer, with its method and outcome.
  public struct Reply: Equatable, Sendable {
    /// The message to send, of the request's kind.
    public let frame: PeerMessage
    /// The requested method, which may be unknown; of another namespace, `namespace:name`.
    public let method: String
    /// Why the request was refused; `nil` if it was done.
    public let error: ARC27Error?
    /// The ids of the transactions that their network accepted, even if others were refused.
    public let posted: [String]
    /// What the dApp says of itself, if the request was its introduction.
    public var introduction: DAppIntroduction?
  }
}
