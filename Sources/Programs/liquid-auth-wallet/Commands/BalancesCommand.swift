import AlgorandTransaction
import ArgumentParser
import ControlProtocol
import DeterministicKeys
import EventLoop
import LiquidAuth
import ProcessIO

/// `liquid-auth-wallet accounts`: what a network knows of the phrase's accounts.
struct BalancesCommand: WalletOperation {
  static let configuration = CommandConfiguration(
    commandName: "accounts",
    abstract: "Show the ALGO of the phrase's accounts on a network.",
    discussion: """
      `liquid-auth accounts --network NETWORK` runs this command. It asks the node that wallet.conf names for the \
      network: algod testnet-v1.0 = https://node.example.org [TOKEN], or, for a network that is not a public one, \
      network NAME = GENESIS-HASH algod https://node.example.org [TOKEN]. The node learns the addresses.
      """)

  @Argument(help: "The network, by its name in wallet.conf: mainnet-v1.0, testnet-v1.0, betanet-v1.0 or another.")
  var network: String

  @Option(
    help: ArgumentHelp("The account number, 0 to 2147483647. (default: 0)", valueName: "number"),
    transform: wholeNumber(0...UInt32.max >> 1))
  var account: UInt32 = 0

  @Option(
    help: ArgumentHelp("The number of addresses, 1 to 32, from index 0 on. (default: 1)", valueName: "number"),
    transform: wholeNumber(1...GetAddresses.maximumCount))
  var count: UInt32 = 1

  @OptionGroup var options: WalletOptions

  func validate() throws {
    // A mistake in the settings is reported when the command runs.
    guard let configuration = try? options.configuration(), configuration.genesisHash(of: network) == nil else {
      return
    }
    throw ValidationError(unknownNetwork(in: configuration))
  }

  func perform(on loop: EventLoop) async throws {
    let (output, configuration) = (options.output, try options.configuration())
    guard let hash = configuration.genesisHash(of: network) else {
      throw WalletFailure(unknownNetwork(in: configuration), code: .mistake)
    }
    guard let node = configuration.node(of: network) else {
      let remedy =
        Network(rawValue: network) == nil
        ? "add to the end of the network's line: algod https://node.example.org"
        : "add the line: algod \(network) = https://node.example.org"
      throw WalletFailure("\(configuration.file) names no node of \(network); \(remedy)")
    }
    let ports = try WalletPorts(
      controlPath: options.controlPath(), in: options.place, configuration: configuration, on: loop
    ) {
      output.report(.prompt)
    }
    try await ports.closing {
      try await show(node.client(over: ports.http), of: hash, ports.socket, output)
    }
  }

  private func unknownNetwork(in configuration: WalletConfiguration) -> String {
    let names = Network.allCases.map(\.genesisID) + configuration.networks.map(\.genesisID)
    return "the network is one of \(names.joined(separator: ", "))"
  }

  private func show(
    _ algod: AlgodClient, of hash: [UInt8], _ socket: ControlSocket, _ output: EventOutput
  ) async throws(WalletFailure) {
    let texts: [String]
    do throws(PortError) {
      texts = try await socket.ask(GetAddresses(account: account, first: 0, count: count)).addresses
    } catch {
      throw WalletFailure(authenticator: error)
    }
    let addresses = texts.compactMap { AlgorandAddress(text: Array($0.utf8)) }
    guard addresses.count == texts.count else {
      throw WalletFailure("the authenticator returned an invalid address; see its log")
    }
    do throws(PortError) {
      guard try await algod.transactionParameters().genesisHash == hash else {
        throw .refused("it is not a node of \(network); change its address in wallet.conf")
      }
      for address in addresses {
        let (microalgos, signer) = try await algod.state(of: address)
        output.report(
          .account(address: address.text, microalgos: microalgos, signer: signer.text, network: network))
      }
    } catch {
      throw WalletFailure("cannot ask the node: \(error.description)")
    }
  }
}
