public import AlgorandTransaction
public import DeterministicKeys

extension Provider {
  /// Who a provider is, and for whom.
  public struct Configuration: Sendable {
    /// What dApps call the wallet.
    public let name: String
    /// Where people read about it.
    public let host: String?
    /// The one account that signs.
    public let account: AlgorandAddress
    /// What dApps call the account.
    public let accountName: String?
    /// The networks, at least one; the first is meant where a dApp names none.
    public let networks: [Network]
    /// The dApp's origin, which the person is shown: that of the link.
    public let origin: String
    /// What stands in `stxns`.
    public let signedTransactionForm: SignedTransactionForm

    /// Joins the members.
    ///
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

    /// The network of a block's hash.
    func network(_ genesisHash: [UInt8]) throws(ARC27Error) -> Network {
      guard let network = networks.first(where: { $0.genesisHash == genesisHash }) else {
        throw .networkNotSupported(genesisHash: Base64.encode(genesisHash))
      }
      return network
    }
  }

  /// A network that a provider takes part in.
  public struct Network: Sendable {
    /// The hash of its first block, 32 bytes.
    public let genesisHash: [UInt8]
    /// Its name for people.
    public let genesisID: String
    /// A node of it; without one, nothing is posted there.
    public let algod: (any AlgodPort)?

    /// Joins the three.
    ///
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

  /// What a dApp is given for a transaction that was signed.
  public enum SignedTransactionForm: Sendable {
    /// The 64 bytes of the signature, in base64url: what the dApps of Liquid Auth join with the transaction themselves.
    case signature
    /// The signed transaction in base64: what ARC-27 says.
    case signedTransaction
  }

  /// What becomes of a frame.
  public enum Answer: Equatable, Sendable {
    /// A frame to send.
    case reply(Reply)
    /// Nothing to send; what the person is told.
    case none(UnansweredFrame)
  }

  /// An answer, and what it was to.
  public struct Reply: Equatable, Sendable {
    /// What is sent: one message, of the request's kind.
    public let frame: PeerMessage
    /// The method that was asked for, in snake case; it may be one that we do not have.
    public let method: String
    /// Why it was refused; `nil` if it was done.
    public let error: ARC27Error?
    /// The ids of the transactions that their network took, also where others were refused.
    public let posted: [String]
  }
}
