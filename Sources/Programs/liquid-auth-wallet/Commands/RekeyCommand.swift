import AlgorandTransaction
import ArgumentParser
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import EventLoop
import LiquidAuth

/// `liquid-auth-wallet rekey`: gives the Algorand account of the old phrase to that of the new phrase.
struct RekeyCommand: WalletOperation {
  static let configuration = CommandConfiguration(
    commandName: "rekey",
    abstract: "Give the Algorand account of the old phrase to the account of the new phrase.",
    discussion: """
      For a move to a new phrase: see `liquid-auth rotate`. The command makes one transaction of 0 ALGO from the old \
      account to itself, which gives control of it to the new account. The authenticator shows it and asks you before \
      it signs with the old account. The old address, its assets and its applications stay; from then on, only the new \
      account signs for it. Without the new phrase, nobody can undo this.

      If an earlier move gave another account to the old account, give that account as well, with --account: \
      after `liquid-auth rotate end`, this machine can no longer sign for it.

      The network is one of those in wallet.conf: algod testnet-v1.0 = https://node.example.org [TOKEN]. Repeat the \
      command for each network on which you use the account.
      """)

  @Argument(help: "The network: mainnet-v1.0, testnet-v1.0 or betanet-v1.0.") var network: String
  @Option(
    help: ArgumentHelp(
      "Give this account, which an earlier move gave to the old account. (default: the old account)",
      valueName: "address"))
  var account: String?
  @OptionGroup var options: WalletOptions

  func validate() throws {
    guard Network(rawValue: network) != nil else {
      let names = Network.allCases.map(\.genesisID).joined(separator: ", ")
      throw ValidationError("the network is one of \(names)")
    }
    guard account == nil || givenAccount != nil else {
      throw ValidationError("--account takes an Algorand address, which has 58 characters")
    }
  }

  /// The account of the option; `nil` without one, or if it is no address.
  private var givenAccount: AlgorandAddress? { account.flatMap { AlgorandAddress(text: Array($0.utf8)) } }

  func perform(on loop: EventLoop) async throws {
    let (output, configuration) = (options.output, try options.configuration())
    guard let network = Network(rawValue: network), let node = configuration.nodes[network.genesisID] else {
      throw WalletFailure(
        "\(configuration.file) names no node of \(self.network); add the line: algod \(self.network) = "
          + "https://node.example.org")
    }
    let ports = try WalletPorts(
      controlPath: options.controlPath(), in: options.place, configuration: configuration, on: loop
    ) {
      output.report(.prompt)
    }
    let algod = node.client(over: ports.http)
    try await ports.closing { try await rekey(on: network, algod, ports.socket, output) }
  }

  private func rekey(
    on network: Network, _ algod: AlgodClient, _ socket: ControlSocket, _ output: EventOutput
  ) async throws {
    let answer: GetRekeying.Answer = try await asked { () async throws(PortError) in try await socket.ask(GetRekeying())
    }
    guard let old = AlgorandAddress(text: Array(answer.previous.utf8)),
      let new = AlgorandAddress(text: Array(answer.present.utf8))
    else {
      throw WalletFailure("the authenticator returned an invalid address; see its log")
    }
    let account = givenAccount ?? old
    output.report(.rekey(.rekeying(from: account.text, to: new.text, network: network.genesisID)))
    let signer = try await atNode { () async throws(PortError) in try await algod.signer(of: account) }
    if signer == new { return output.report(.rekey(.alreadyRekeyed)) }
    guard signer == old else {
      let reason =
        account == old
        ? "the old account \(old) is controlled by \(signer)"
        : "the account \(account) is controlled by \(signer), and not by the old account \(old)"
      throw WalletFailure("\(reason), so the old phrase cannot sign for it; nothing was sent")
    }
    let parameters = try await atNode { () async throws(PortError) in try await algod.transactionParameters() }
    guard Network(genesisHash: parameters.genesisHash) == network, parameters.fee <= Transaction.usualFee else {
      throw WalletFailure(
        "the node is not one of \(network.genesisID), or asks for a fee above \(Transaction.usualFee) microalgos; "
          + "nothing was sent")
    }
    let transaction: Transaction
    do { transaction = try Transaction(rekeying: account, to: new, parameters) } catch {
      throw WalletFailure("the node's answer gives no valid transaction: \(error)")
    }
    output.report(.signing(.transactions(1, of: 1)))
    let signature = try await asked { () async throws(PortError) in
      try await socket.ask(SignRekeying(transaction.bytes)).bytes
    }
    guard Ed25519.isValidSignature(signature, for: transaction.signingInput, publicKey: old.publicKey) else {
      throw WalletFailure("the authenticator's signature is not valid; nothing was sent")
    }
    output.report(.signing(.signedTransactions([transaction.id])))
    let signed = SignedTransaction(transaction, signature: signature, signer: old)
    do throws(PortError) { try await algod.post(signed.bytes) } catch {
      throw WalletFailure(
        error.kind == .refused
          ? "the node refused the transaction: \(error.description)"
          : "it is not known whether the node accepted the transaction: \(error.description); run the command again to see"
      )
    }
    output.report(.signing(.posted([transaction.id])))
  }

  /// A failure of the authenticator, or a refusal of the user.
  private func asked<Answer>(
    _ request: () async throws(PortError) -> Answer
  ) async throws(WalletFailure) -> Answer {
    do throws(PortError) { return try await request() } catch {
      throw WalletFailure(unsigned: error)
    }
  }

  /// A failure of the node before anything is sent to the network.
  private func atNode<Answer>(
    _ request: () async throws(PortError) -> Answer
  ) async throws(WalletFailure) -> Answer {
    do throws(PortError) { return try await request() } catch {
      throw WalletFailure("cannot ask the node: \(error.description); nothing was sent")
    }
  }
}
