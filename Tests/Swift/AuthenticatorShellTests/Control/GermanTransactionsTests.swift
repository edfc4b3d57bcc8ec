import AlgorandTransaction
import Assuan
import CTAP2
import ControlProtocol
import DeterministicKeys
import Messages
import TestSupport
import TestVectors
import Testing

@testable import Prompts
@testable import liquid_authenticator

/// The German dialogs of transactions: their words, and whether they fit where the English ones fit.
@Suite struct GermanTransactionsTests {
  private let german: Catalogue
  init() throws { german = try .german() }

  // Holds: LANGUAGE-1
  @Test func `a payment with warnings`() async throws {
    let world = try WalletWorld(catalogue: german)
    var payment = WrittenTransaction(sender: world.account, receiver: world.other, note: "Danke")
    payment.rekeyTo = world.other
    let request = SignTransactions([.init(payment.bytes, isToBeSigned: true)], origin: "https://d.example")
    try await world.ask(request)
    let text = try #require(world.dialogs.read.first)
    let broken = { (line: String) in WalletText.wrapped(line).joined(separator: "\n") }
    let (from, rekey) = (
      broken("Von: \(world.account.grouped) (Sie)"),
      broken("WARNUNG Rekey: überträgt die Kontrolle über das Konto an \(world.other.grouped)")
    )
    #expect(
      text.description == """
        Diese Transaktion signieren?

        dApp: https://d.example
        Transaktion: Zahlung
        \(rekey)
        \(from)
        An: \(world.other.grouped)
        Betrag: 1,500000 ALGO
        Gebühr: 0,001000 ALGO
        Notiz: "Danke"
        Netzwerk: testnet-v1.0
        Gültig: Runden 10 bis 1010
        """)
    #expect([text.agree, text.refuse] == ["Rekey signieren", "Ablehnen"])
  }

  // Holds: LANGUAGE-2
  @Test func `every kind of transaction fits, and no label is left in English`() throws {
    for vector in try Vector("algorand-transactions").transactions.array {
      let transaction = try Transaction(decoding: vector["bytes"].bytes)
      let request = SignTransactions([.init(vector["bytes"].bytes, isToBeSigned: true)], origin: "https://d.example")
      let review = try TransactionReview(
        of: TransactionReview.decode(request), account: transaction.sender, origin: "https://d.example")
      for page in PromptPages(review.prompt, in: german).all {
        #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
        #expect(page.details.count <= WalletText.height)
      }
      for line in transaction.summary {
        #expect(
          german.text(line.label) != "\(line.label)" || Self.sameInBoth.contains { "\(line.label)".hasPrefix($0) })
      }
    }
  }

  /// Labels that are words of Algorand, or the same in German.
  private static let sameInBoth = [
    "Asset", "Rekey", "Lease", "Opt-in", "URL", "Manager", "Reserve", "Argument ",
  ]
}
