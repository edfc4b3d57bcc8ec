import AlgorandTransaction
import CTAP2
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import Foundation
import Recovery
import Testing

@testable import Prompts
@testable import liquid_authenticator

/// The account of the previous phrase is given to that of the present one: Recovery §14.
@Suite struct RekeyingTests {
  let world: WalletWorld
  let old: AlgorandAddress

  init() throws {
    world = try WalletWorld(isRotated: true)
    old = try #require(world.previousAccount)
  }

  static let parameters = TransactionParameters(
    fee: 1000, firstValid: 10, lastValid: 1010, genesisID: "testnet-v1.0",
    genesisHash: [UInt8](Data(base64Encoded: Network.testnet.genesisHash) ?? Data()))

  private func refusal(_ command: some WalletCommand, in world: WalletWorld) async -> ControlFailure? {
    do throws(ControlFailure) {
      _ = try await world.ask(command)
      return nil
    } catch {
      return error
    }
  }

  // Holds: ROTATE-9
  @Test func `the rekeying is shown with its warning, and signed by the account of the previous phrase`() async throws {
    let addresses = try await world.ask(GetRekeying())
    #expect(addresses == GetRekeying.Answer(previous: old.text, present: world.account.text))
    #expect(world.dialogs.read.isEmpty)
    let transaction = try Transaction(rekeying: old, to: world.account, Self.parameters)
    let signature = try await world.ask(SignRekeying(transaction.bytes))
    #expect(
      Ed25519.isValidSignature(signature.bytes, for: transaction.signingInput, publicKey: old.publicKey))
    #expect(world.counts.algorand == 1 && world.dialogs.verified == 1)
    let shown = world.dialogs.read.map(\.description).joined(separator: "\n")
    #expect(shown.contains("Moves an account from your old phrase to your new phrase"))
    #expect(shown.contains("WARNING Rekey: gives control of the account to "))
    let whole = shown.replacing("\n+ ", with: "")
    #expect(whole.contains(world.account.grouped) && whole.contains(old.grouped))
    #expect(world.dialogs.read.last?.needsReading == true)
  }

  // Holds: ROTATE-9
  @Test func `an account of an earlier phrase is shown, and signed for by the account of the previous phrase`()
    async throws
  {
    let transaction = try Transaction(rekeying: world.other, to: world.account, Self.parameters)
    let signature = try await world.ask(SignRekeying(transaction.bytes))
    #expect(
      Ed25519.isValidSignature(signature.bytes, for: transaction.signingInput, publicKey: old.publicKey))
    #expect(world.counts.algorand == 1 && world.dialogs.verified == 1)
    let shown = world.dialogs.read.map(\.description).joined(separator: "\n")
    #expect(shown.contains("Moves an account from your old phrase to your new phrase"))
    #expect(shown.contains("WARNING Rekey: gives control of the account to "))
    #expect(shown.contains("WARNING Signer: your account"))
    let whole = shown.replacing("\n+ ", with: "")
    for address in [world.other, old, world.account] { #expect(whole.contains(address.grouped)) }
  }

  // Holds: ROTATE-9
  @Test func `a refusal signs nothing`() async throws {
    world.dialogs.agree(to: 0)
    let transaction = try Transaction(rekeying: old, to: world.account, Self.parameters)
    #expect(await refusal(SignRekeying(transaction.bytes), in: world) == ControlFailure(.operationDenied, ""))
    #expect(world.counts.algorand == 0)
  }

  // Holds: ROTATE-9
  @Test func `every other transaction is refused without a prompt`() async throws {
    var payment = WrittenTransaction(sender: old, receiver: old)
    (payment.amount, payment.rekeyTo) = (1, world.account)
    let others = [
      payment.bytes, try Transaction(rekeying: old, to: world.other, Self.parameters).bytes,
      try Transaction(rekeying: world.account, to: old, Self.parameters).bytes,
      try Transaction(rekeying: world.other, to: old, Self.parameters).bytes,
    ]
    for other in others {
      #expect(await refusal(SignRekeying(other), in: world)?.status == .invalidParameter)
    }
    for malformed in [[], [0x80], [0xC0], [UInt8](repeating: 0, count: 99)] as [[UInt8]] {
      #expect(await refusal(SignRekeying(malformed), in: world)?.status == .cannotBeShown)
    }
    #expect(world.dialogs.read.isEmpty && world.counts.algorand == 0)
  }

  // Holds: ROTATE-9
  @Test func `other requests use the account of the present phrase`() async throws {
    #expect(try await world.ask(GetAccount()).address == world.account.text)
    let payment = WrittenTransaction(sender: old, receiver: world.other)
    let request = SignTransactions([.init(payment.bytes, isToBeSigned: true)], origin: "https://d.example")
    #expect(await refusal(request, in: world)?.status == .notOurSigner)
  }

  // Holds: ROTATE-9
  @Test func `without a previous phrase there is no rekeying`() async throws {
    let world = try WalletWorld()
    let transaction = try Transaction(rekeying: world.other, to: world.account, Self.parameters)
    #expect(await refusal(GetRekeying(), in: world)?.status == .notAllowed)
    #expect(await refusal(SignRekeying(transaction.bytes), in: world)?.status == .notAllowed)
    #expect(world.dialogs.read.isEmpty)
  }
}
