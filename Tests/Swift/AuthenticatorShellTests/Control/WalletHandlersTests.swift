import AlgorandTransaction
import CTAP2
import ControlProtocol
import CryptoPrimitives
import DeterministicKeys
import Foundation
import Recovery
import Testing

@testable import Prompts
@testable import PromptsTests
@testable import liquid_authenticator

/// Wallet requests, from the packet to the dialogs and back.
@Suite struct WalletHandlersTests {
  typealias Item = SignTransactions.Item

  let world: WalletWorld

  init() throws { world = try WalletWorld() }

  private var payment: WrittenTransaction { WrittenTransaction(sender: world.account, receiver: world.other) }

  private func request(_ items: [Item], showsAll: Bool = false) -> SignTransactions {
    SignTransactions(items, origin: "https://d.example", showsAll: showsAll)
  }

  private func isSigned(_ signature: [UInt8]?, _ bytes: [UInt8], prefix: String = "TX") -> Bool {
    Ed25519.isValidSignature(signature ?? [], for: Array(prefix.utf8) + bytes, publicKey: world.account.publicKey)
  }

  /// A line as dialogs break it.
  private func broken(_ line: String) -> String { WalletText.wrapped(line).joined(separator: "\n") }

  /// The failure that a command throws, or `nil`.
  private func refusal(_ command: some WalletCommand) async -> ControlFailure? {
    do throws(ControlFailure) {
      _ = try await world.ask(command)
      return nil
    } catch {
      return error
    }
  }

  @Test func `account and addresses are returned without a prompt`() async throws {
    let account = try await world.ask(GetAccount())
    #expect(account.address == world.account.text)
    let accounts = try await world.ask(GetAddresses(account: 0, first: 0, count: 3))
    #expect(accounts.addresses.count == 3)
    #expect(accounts.addresses[0] == world.account.text)
    let second = try await world.ask(GetAddresses(account: 0, first: 1, count: 1))
    #expect(second.addresses == [accounts.addresses[1]])
    let other = try await world.ask(GetAddresses(account: 1, first: 0, count: 3))
    #expect(Set(other.addresses + accounts.addresses).count == 6)
    let passkey = try await world.ask(GetAccountPasskey(rpID: "example.com"))
    #expect(passkey.credentialID.count == 32)
    #expect(!passkey.isStored)
    #expect(world.dialogs.read.isEmpty)
  }

  @Test func `one transaction is one dialog, with verification`() async throws {
    let signatures = try await world.ask(request([Item(payment.bytes, isToBeSigned: true)]))
    #expect(signatures.signatures.count == 1)
    #expect(isSigned(signatures.signatures[0], payment.bytes))
    #expect(world.counts.algorand == 1)
    #expect(world.dialogs.verified == 1)
    let read = try #require(world.dialogs.read.first)
    #expect(world.dialogs.read.count == 1)
    #expect(
      read.description == """
        Sign this transaction?

        dApp: https://d.example
        Transaction: payment
        \(broken("From: \(world.account.grouped) (you)"))
        To: \(world.other.grouped)
        Amount: 1.500000 ALGO
        Fee: 0.001000 ALGO
        Network: testnet-v1.0
        Valid: rounds 10 to 1010
        """)
    #expect([read.agree, read.refuse] == ["Sign", "Deny"])
  }

  @Test func `closing the account and rekeying are shown as warnings`() async throws {
    var payment = payment
    payment.closeRemainderTo = world.other
    payment.rekeyTo = world.other
    _ = try await world.ask(request([Item(payment.bytes, isToBeSigned: true)]))
    let lines = try #require(world.dialogs.read.first?.details)
    let close = WalletText.wrapped("WARNING Close account: sends ALL that is left to \(world.other.grouped)")
    #expect(close.allSatisfy { lines.contains($0) })
    let rekey = try #require(lines.firstIndex { $0.hasPrefix("WARNING Rekey: gives control of the account to ") })
    #expect(
      lines[rekey...(rekey + 1)]
        == WalletText.wrapped("WARNING Rekey: gives control of the account to \(world.other.grouped)")[...])
    #expect(try #require(lines.firstIndex { $0.hasPrefix("From: ") }) > rekey, "warnings come first")
    #expect(world.dialogs.read.map(\.agree) == ["Sign rekey"])
  }

  // Holds: WALLET-27
  @Test func `the button names what the account gives away in what it signs`() async throws {
    var (closing, rekeying, foreign) = (payment, payment, payment)
    closing.closeRemainderTo = world.other
    (rekeying.rekeyTo, rekeying.amount) = (world.other, 2)
    (foreign.sender, foreign.rekeyTo) = (world.other, world.account)
    let control = "This gives away control of an account."
    for (transactions, signed, button, warning) in [
      ([closing], [true], "Sign closing", "This sends all that is left."), ([rekeying], [true], "Sign rekey", control),
      ([closing, rekeying], [true, true], "Sign rekey", control), ([payment, foreign], [true, false], "Sign", nil),
    ] as [([WrittenTransaction], [Bool], String, String?)] {
      let group = transactions.count == 1 ? transactions : try WrittenTransaction.group(transactions)
      let items = zip(group, signed).map { Item($0.bytes, isToBeSigned: $1) }
      _ = try await world.ask(request(items))
      #expect(world.dialogs.read.last?.agree == button)
      #expect(world.dialogs.read.last?.warning == warning)
      #expect(world.dialogs.read.dropLast().allSatisfy { $0.agree != "Next" || $0.warning == nil })
    }
  }

  @Test func `a group shows its totals, then each transaction, then the totals where the passphrase is typed`()
    async throws
  {
    var foreign = payment
    (foreign.sender, foreign.receiver) = (world.other, world.account)
    var last = payment
    (last.amount, last.rekeyTo) = (2, world.other)
    let group = try WrittenTransaction.group([payment, foreign, last])
    let signatures = try await world.ask(
      request(zip(group, [true, false, true]).map { Item($0.bytes, isToBeSigned: $1) }))
    #expect(signatures.signatures.map { $0 == nil } == [false, true, false])
    #expect(isSigned(signatures.signatures[0], group[0].bytes))
    #expect(isSigned(signatures.signatures[2], group[2].bytes))
    #expect(world.counts.algorand == 2)
    let id = try #require(group[0].group).prefix(9)
    let (you, other) = (world.account.grouped, world.other.grouped)
    let sent = broken("You send: 1.500002 ALGO to \(other)")
    let (from, rekey) = (
      broken("From: \(you) (you)"), broken("WARNING Rekey: gives control of the account to \(other)")
    )
    #expect(
      world.dialogs.read.map(\.description) == [
        """
        Sign these 3 transactions? (part 1 of 4)

        dApp: https://d.example
        Your account signs 2 of the 3. They commit together or not at all.
        Transactions: payment (3)
        WARNING Rekey: in transaction 3
        \(sent)
        You receive: 1.500000 ALGO
        Fees: 0.002000 ALGO
        In each of them:
        Network: testnet-v1.0
        Valid: rounds 10 to 1010
        Group: \(Data(id).base64EncodedString())...
        """,
        """
        Sign these 3 transactions? (part 2 of 4)

        dApp: https://d.example
        Transaction 1 of 3: payment
        \(from)
        To: \(other)
        Amount: 1.500000 ALGO
        Fee: 0.001000 ALGO
        Transaction 2 of 3 (not signed by you): payment
        \(broken("From: \(other)"))
        To: \(you)
        Amount: 1.500000 ALGO
        Fee: 0.001000 ALGO
        """,
        """
        Sign these 3 transactions? (part 3 of 4)

        dApp: https://d.example
        Transaction 3 of 3: payment
        \(rekey)
        \(from)
        To: \(other)
        Amount: 0.000002 ALGO
        Fee: 0.001000 ALGO
        """,
        """
        Sign these 3 transactions? (part 4 of 4)

        dApp: https://d.example
        Summary:
        Transactions: payment (3)
        WARNING Rekey: in transaction 3
        \(sent)
        You receive: 1.500000 ALGO
        Fees: 0.002000 ALGO
        Network: testnet-v1.0
        Your account signs 2 of the 3.
        """,
      ])
    #expect(world.dialogs.read.map(\.agree) == ["Next", "Next", "Next", "Sign rekey"])
    #expect(world.dialogs.read.map(\.isFollowed) == [true, true, true, false])
    #expect(world.dialogs.verified == 1)
  }

  // Holds: WALLET-9
  @Test func `sixteen payments are eight pages and one passphrase`() async throws {
    var payments = Array(repeating: payment, count: 16)
    for index in payments.indices { payments[index].amount = UInt64(index + 1) }
    let group = try WrittenTransaction.group(payments)
    let signatures = try await world.ask(
      request(group.map { Item($0.bytes, isToBeSigned: true) }))
    #expect(signatures.signatures.allSatisfy { $0?.count == 64 })
    let read = world.dialogs.read
    #expect(read.map(\.headline) == (1...8).map { "Sign these 16 transactions? (part \($0) of 8)" })
    #expect(world.dialogs.verified == 1)
    let headers = read.flatMap(\.details).filter { $0.hasPrefix("Transaction ") }
    #expect(headers == (1...16).map { "Transaction \($0) of 16: payment" })
    #expect(
      try #require(read.last).details == [
        "dApp: https://d.example", "Summary:", "Transactions: payment (16)",
      ] + WalletText.wrapped("You send: 0.000136 ALGO to \(world.other.grouped)") + [
        "Fees: 0.016000 ALGO", "Network: testnet-v1.0", "Your account signs all 16.",
      ])
    let from = WalletText.wrapped("From: \(world.account.grouped) (you)")
    let first = try #require(read.first).details
    #expect(from.allSatisfy { first.contains($0) })
  }

  @Test func `transactions without a group are described as independent`() async throws {
    var second = payment
    second.amount = 2
    _ = try await world.ask(
      request([payment, second].map { Item($0.bytes, isToBeSigned: true) }))
    #expect(
      try #require(world.dialogs.read.first).details[1] == "Your account signs all 2. Each can be committed alone.")
  }

  // Holds: WALLET-9
  @Test func `the last page of a long transaction repeats its summary`() async throws {
    var payment = payment
    payment.note = String(repeating: "x", count: 1024)
    payment.closeRemainderTo = world.other
    _ = try await world.ask(request([Item(payment.bytes, isToBeSigned: true)], showsAll: true))
    let read = world.dialogs.read
    #expect(read.map(\.headline) == (1...3).map { "Sign this transaction? (part \($0) of 3)" })
    #expect(
      try #require(read.last).details == [
        "dApp: https://d.example", "Summary:", "Transaction: payment",
      ] + WalletText.wrapped("WARNING Close account: sends ALL that is left to \(world.other.grouped)") + [
        "To: \(world.other.grouped)", "Amount: 1.500000 ALGO", "Fee: 0.001000 ALGO", "Network: testnet-v1.0",
        "Your account signs this one transaction.",
      ])
    #expect(world.dialogs.verified == 1)
    #expect(read.dropLast().allSatisfy { $0.agree == "Next" && $0.needsReading })
  }

  // Holds: WALLET-9
  @Test(arguments: [false, true])
  func `the last page names a network with a long name in short, after what is moved`(_ showsAll: Bool) async throws {
    var payment = payment
    payment.network = (String(repeating: "n", count: 2_000), [UInt8](repeating: 7, count: 32))
    payment.note = String(repeating: "x", count: 500)
    payment.rekeyTo = world.other
    _ = try await world.ask(request([Item(payment.bytes, isToBeSigned: true)], showsAll: showsAll))
    let digest = SHA256.hash(Array(payment.network.name.utf8)).map { String(format: "%02x", $0) }.joined()
    let network =
      "genesis hash \(Data(payment.network.hash).base64EncodedString()), name of 2000 bytes, beginning with "
      + "\"nnnnnnnnnnnnnnnn\"..., SHA-256 \(digest)"
    let summary = """
      dApp: https://d.example
      Summary:
      Transaction: payment
      \(broken("WARNING Rekey: gives control of the account to \(world.other.grouped)"))
      To: \(world.other.grouped)
      Amount: 1.500000 ALGO
      Fee: 0.001000 ALGO
      \(broken("WARNING Network: \(network)"))
      Your account signs this one transaction.
      """
    #expect(try #require(world.dialogs.read.last).details.joined(separator: "\n") == summary)
    #expect((shown.count { $0 == "n" } > 2_000) == showsAll)
  }

  // Holds: WALLET-14
  @Test(arguments: 0..<3)
  func `refusing any page signs nothing`(_ agreed: Int) async throws {
    var payments = [payment, payment, payment]
    for index in payments.indices { payments[index].amount = UInt64(index + 1) }
    let group = try WrittenTransaction.group(payments)
    world.dialogs.agree(to: agreed)
    #expect(
      await refusal(request(group.map { Item($0.bytes, isToBeSigned: true) }))
        == ControlFailure(.operationDenied, ""))
    #expect(world.dialogs.read.count == agreed + 1)
    #expect(world.dialogs.verified == 0)
    #expect(world.counts.algorand == 0)
  }

  @Test func `without verification each dialog has one button`() async throws {
    let world = try WalletWorld(verifies: false)
    let payment = WrittenTransaction(sender: world.account, receiver: world.other)
    let signatures = try await world.ask(request([Item(payment.bytes, isToBeSigned: true)]))
    #expect(signatures.signatures[0]?.count == 64)
    #expect(world.dialogs.verified == 0)
    #expect(world.dialogs.read.count == 1)
  }

  // MARK: Pairings

  private var pairing: KeepPairing {
    KeepPairing(
      origin: "https://d.example", path: "/auth", rpID: "d.example", pairingID: "p", credential: secret("token"))
  }

  /// Stores a passkey of the pairing's site.
  private func registerAtItsSite() throws {
    let vault = try #require(world.keySource.current)
    try vault.save(
      vault.makeDiscoverableCredential(
        CredentialRegistration(
          rpID: "d.example", user: PublicKeyCredentialUserEntity(id: [1]), algorithm: .es256), known: nil, now: 1))
  }

  // Holds: WALLET-29
  @Test func `a dApp is remembered after a prompt, and its pairing is given after another`() async throws {
    #expect(await refusal(GetPairing(site: "d.example"))?.status == .noCredentials)
    #expect(await refusal(pairing)?.status == .noCredentials, "no passkey of the site could be removed")
    #expect(world.dialogs.read.isEmpty)
    try registerAtItsSite()
    _ = try await world.ask(pairing)
    let answer = try await world.ask(GetPairing(site: "d.example"))
    let kept = GetPairing.Answer(
      origin: "https://d.example", path: "/auth", pairingID: "p", credential: secret("token"))
    #expect(answer == kept)
    #expect(world.dialogs.read.map(\.headline) == ["Remember this dApp?", "Connect to this dApp again?"])
    #expect(world.dialogs.read.map(\.agree) == ["Remember", "Connect"])
    #expect(world.dialogs.read.allSatisfy { $0.needsReading && $0.details.contains("dApp: https://d.example") })
    #expect(world.dialogs.verified == 2)
  }

  // Holds: WALLET-29
  @Test func `a dialog says that the pairing replaces another, which stays if the user refuses`() async throws {
    try registerAtItsSite()
    _ = try await world.ask(pairing)
    world.dialogs.agree(to: 0)
    var other = pairing
    other.pairingID = "q"
    #expect(await refusal(other)?.status == .operationDenied)
    let line = "It is remembered already; the new entry replaces the old one."
    #expect(world.dialogs.read.map { $0.details.contains(line) } == [false, true])
    #expect(world.dialogs.read.last?.agree == "Replace")
    world.dialogs.agree(to: .max)
    #expect(try await world.ask(GetPairing(site: "d.example")).pairingID == "p")
  }

  // Holds: WALLET-29
  @Test func `a dialog names the oldest dApp if there is no room for another`() async throws {
    try registerAtItsSite()
    let store = try #require(world.keySource.current).store
    var state = try store.state()
    for number in 0..<100 {
      try state.pairings.keep(
        Pairing(origin: "https://\(number).example", rpID: "example", id: "p", credential: secret("token")))
    }
    try store.setState(state)
    for _ in 0..<2 { _ = try await world.ask(pairing) }
    let line = "It replaces the oldest of 100 remembered dApps: https://0.example"
    #expect(world.dialogs.read.map { $0.details.contains(line) } == [true, false])
  }

  // Holds: WALLET-29
  @Test func `a pairing that the user refuses is neither kept nor given`() async throws {
    try registerAtItsSite()
    world.dialogs.agree(to: 0)
    #expect(await refusal(pairing)?.status == .operationDenied)
    #expect(await refusal(GetPairing(site: "d.example"))?.status == .noCredentials)
    world.dialogs.agree(to: .max)
    _ = try await world.ask(pairing)
    world.dialogs.agree(to: 0)
    #expect(await refusal(GetPairing(site: "d.example"))?.status == .operationDenied)
  }

  // MARK: Refused before any prompt

  // Holds: WALLET-5
  @Test func `a transaction of another sender is signed only with our key as its signer`() async throws {
    var foreign = payment
    foreign.sender = world.other
    for signer in [nil, world.other.text, "", world.account.text.lowercased()] {
      let failure = await refusal(
        request([Item(payment.bytes, isToBeSigned: true), Item(foreign.bytes, isToBeSigned: true, signer: signer)]))
      #expect(failure == ControlFailure(.notOurSigner, ""))
      #expect(failure?.transaction == 1)
    }
    // Our own transaction is not signed for another signer either.
    #expect(
      await refusal(request([Item(payment.bytes, isToBeSigned: true, signer: world.other.text)]))
        == ControlFailure(.notOurSigner, ""))
    #expect(world.dialogs.read.isEmpty)

    let signatures = try await world.ask(
      request([Item(foreign.bytes, isToBeSigned: true, signer: world.account.text)]))
    #expect(isSigned(signatures.signatures[0], foreign.bytes))
    let lines = try #require(world.dialogs.read.first?.details)
    let whole = lines.joined(separator: "\n").replacing("\n+ ", with: "")
    #expect(whole.contains("From: \(world.other.grouped)\n"))
    #expect(whole.contains("WARNING Signer: your account \(world.account.grouped); "))
  }

  // Holds: WALLET-3
  @Test func `a transaction that cannot be decoded is refused by its number`() async {
    let faults: [[UInt8]] = [
      [], [0x80], payment.bytes + [0], [0x81, 0xA1, 0x61, 0x01], Array(payment.bytes.dropLast()),
    ]
    for fault in faults {
      let failure = await refusal(
        request([Item(payment.bytes, isToBeSigned: true), Item(fault, isToBeSigned: false)]))
      #expect(failure == ControlFailure(.cannotBeShown, ""))
      #expect(failure?.transaction == 1)
      #expect(failure?.reason.hasPrefix("transaction 2: ") == true)
    }
    #expect(world.dialogs.read.isEmpty)
    #expect(world.counts.algorand == 0)
  }

  // Holds: WALLET-4
  @Test func `a wrong group is refused, with the id of the right one`() async throws {
    var second = payment
    second.amount = 7
    let group = try WrittenTransaction.group([payment, second])
    let id = try #require(group[0].group)
    let wrong: [[WrittenTransaction]] = [
      [group[1], group[0]], [group[0]], [group[0], second], [group[0], group[1], payment],
    ]
    for transactions in wrong {
      let failure = await refusal(request(transactions.map { Item($0.bytes, isToBeSigned: true) }))
      #expect(failure == ControlFailure(.wrongGroup, ""))
      #expect(failure?.group?.count == 32)
      #expect(failure?.group != id || transactions.count == 2 && transactions[1].group == nil)
    }
    #expect(world.dialogs.read.isEmpty)
  }

  // MARK: A locked vault

  // Holds: WALLET-6
  @Test func `the unlock prompt of a locked vault names the request and its dApp`() async throws {
    let locked = try WalletWorld(isOpen: false)
    let payment = WrittenTransaction(sender: locked.account, receiver: locked.other)
    _ = try await locked.ask(request([Item(payment.bytes, isToBeSigned: true)]))
    #expect(locked.keySource.reasons == [.wallet(.signTransactions(origin: "https://d.example"))])
    let other = try WalletWorld(isOpen: false)
    _ = try await other.ask(
      SignMessage([0x61], origin: "https://d.example"))
    #expect(
      other.keySource.reasons == [.prompt(UserPrompt(purpose: .wallet(.signMessage("a")), origin: "https://d.example"))]
    )
  }

  // Holds: WALLET-6, WALLET-8
  @Test func `a request that cannot be signed does not unlock a locked vault`() async throws {
    let locked = try WalletWorld(isOpen: false)
    let payment = WrittenTransaction(sender: locked.account, receiver: locked.other)
    let garbage: [(any WalletCommand, ControlStatus)] = [
      (request([Item([0x80], isToBeSigned: true)]), .cannotBeShown),
      (request([Item(payment.bytes, isToBeSigned: true), Item([], isToBeSigned: false)]), .cannotBeShown),
      (
        request(
          try WrittenTransaction.group([payment, payment]).prefix(1).map {
            Item($0.bytes, isToBeSigned: true)
          }), .wrongGroup
      ),
      (request([]), .invalidLength), (SignMessage([0xFF], origin: "o"), .cannotBeShown),
    ]
    for (request, status) in garbage {
      await #expect(throws: ControlFailure(status, "")) {
        _ = try await locked.ask(request)
      }
    }
    #expect(locked.keySource.reasons.isEmpty)
  }

  // Holds: WALLET-9
  @Test func `with all of its fields, a request is shown on as many pages as needed`() async throws {
    let items = try noted(3).map { Item($0.bytes, isToBeSigned: true) }
    let signatures = try await world.ask(request(items, showsAll: true))
    #expect(signatures.signatures.allSatisfy { $0?.count == 64 })
    #expect(20...60 ~= world.dialogs.read.count)
    #expect(world.dialogs.verified == 1)
    let text = shown
    #expect(text.count { $0 == "\\" } == 3 * 1_200, "none of the hidden characters is left out")
    #expect(!text.contains("--show-all"))
  }

  // Holds: WALLET-9
  @Test func `a long field is shown by length, beginning and SHA-256, and how to read it whole`() async throws {
    let group = try noted(16)
    _ = try await world.ask(request(group.map { Item($0.bytes, isToBeSigned: true) }))
    #expect(world.dialogs.read.count <= 20)
    let hash = SHA256.hash(Array((group[0].note ?? "").utf8)).map { String(format: "%02x", $0) }.joined()
    #expect(shown.split(separator: hash, omittingEmptySubsequences: false).count == 17)
    #expect(shown.contains("3600 bytes, beginning with "))
    #expect(world.dialogs.read.last?.details.joined(separator: " ").contains("--show-all") == true)
  }

  // Holds: WALLET-9
  @Test func `a request of more than 60 pages is refused without a prompt`() async throws {
    let items = try noted(16).map { Item($0.bytes, isToBeSigned: true) }
    let refused = await refusal(request(items, showsAll: true))
    #expect(refused?.status == .cannotBeShown && refused?.reason.contains("without --show-all") == true)
    #expect(world.dialogs.read.isEmpty && world.counts.algorand == 0)
  }

  /// A group of payments, each with a note of 1,200 characters that are spelled out.
  private func noted(_ count: Int) throws -> [WrittenTransaction] {
    var payment = payment
    payment.note = String(repeating: "\u{200B}", count: 1_200)
    var payments = Array(repeating: payment, count: count)
    for index in payments.indices { payments[index].amount = UInt64(index + 1) }
    return try WrittenTransaction.group(payments)
  }

  /// All lines of the dialogs, with those joined that were broken.
  private var shown: String {
    world.dialogs.read.flatMap(\.details).map { $0.hasPrefix("+ ") ? String($0.dropFirst(2)) : $0 }.joined()
  }

  // MARK: Messages

  @Test func `a message is shown whole, each line after a mark`() async throws {
    let text = "Sign in\ndApp: https://bank.example\n\nNonce: 5"
    let signature = try await world.ask(
      SignMessage(Array(text.utf8), origin: "https://d.example"))
    #expect(isSigned(signature.bytes, Array(text.utf8), prefix: "MX"))
    #expect(world.counts.algorand == 1)
    #expect(
      world.dialogs.read.map(\.description) == [
        """
        Sign this message?

        dApp: https://d.example
        \(broken("Account: \(world.account.grouped)"))
        > Sign in
        > dApp: https://bank.example
        >\u{20}
        > Nonce: 5
        """
      ])
    #expect(world.dialogs.verified == 1)
  }

  // Holds: WALLET-16
  @Test(arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]])
  func `a message that is not text is refused as cannotBeShown`(_ message: [UInt8]) async {
    #expect(
      await refusal(SignMessage(message, origin: "o")) == ControlFailure(.cannotBeShown, ""))
    #expect(world.dialogs.read.isEmpty)
  }

  @Test func `a denied message is not signed`() async {
    world.dialogs.agree(to: 0)
    #expect(
      await refusal(SignMessage([0x61], origin: "o")) == ControlFailure(.operationDenied, ""))
    #expect(world.counts.algorand == 0)
  }

  // MARK: Keyri

  @Test func `data for a service are signed by the key that GetAssociationKey returned`() async throws {
    let key = try await world.ask(GetAssociationKey(publicUserID: "al@example.com"))
    #expect(world.dialogs.read.isEmpty)
    let association = SignAssociation(
      publicUserID: "al@example.com", data: Array("1700000000000_x".utf8), service: "https://s.example")
    let signature = try await world.ask(association)
    let point = try P256.PublicKey(x: Array(key.bytes.prefix(32)), y: Array(key.bytes.suffix(32)))
    #expect(point.isValidSignature(signature.bytes, for: association.data))
    #expect(world.counts.association == 1)
    #expect(
      world.dialogs.read.map(\.description) == [
        """
        Sign in with Keyri?

        Service: https://s.example
        User:
        > al@example.com
        It signs:
        > 1700000000000_x
        """
      ])
    world.dialogs.agree(to: 1)
    #expect(await refusal(association) == ControlFailure(.operationDenied, ""))
    #expect(world.counts.association == 1)
  }
}
