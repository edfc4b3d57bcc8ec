import Assuan
import CTAP2
import DisplayText
import Messages
import Recovery
import Testing

@testable import Prompts

@Suite struct PromptPagesTests {
  private static func pages(_ purpose: UserPrompt.Purpose, origin: String? = "https://d.example") -> [PromptText] {
    let address = String(repeating: "A", count: 58)
    let pages = PromptPages(UserPrompt(purpose: purpose, algorandAddress: address, origin: origin))
    return pages.all
  }

  @Test(arguments: PromptTextTests.cases)
  func `a ceremony is one dialog`(_ ceremony: PromptTextTests.Case) {
    #expect(PromptPages(ceremony.prompt).before.isEmpty)
  }

  // Holds: PERSON-6
  @Test func `only the pages of prompts that destroy, set or sign need reading`() {
    func needsReading(_ prompt: UserPrompt) -> Set<Bool> {
      let pages = PromptPages(prompt)
      return Set(pages.all.map(\.needsReading))
    }
    #expect(needsReading(UserPrompt(purpose: .wallet(.signMessage(String(repeating: "a\n", count: 99))))) == [true])
    #expect(needsReading(UserPrompt(purpose: .reset(importedPasskeys: 1))) == [true])
    #expect(needsReading(UserPrompt(purpose: .export(passkeys: 1, sites: nil))) == [true])
    #expect(needsReading(UserPrompt(purpose: .signIn, rpID: "a", algorandAddress: "A")) == [true])
    #expect(needsReading(UserPrompt(purpose: .signIn, rpID: "a")) == [false])
    #expect(needsReading(UserPrompt(purpose: .register, rpID: "a")) == [false])
    #expect(needsReading(UserPrompt(purpose: .register, rpID: "a", replacesPasskey: true)) == [true])
  }

  /// Texts that take the most room, or imitate other lines.
  static let hostile = [
    "a", "%", "\u{1F600}", "\u{202E}", "e\u{301}\u{302}\u{303}\u{304}", "\"", "\\", "\u{0}", "\t", "\u{2028}", "\r",
    "\u{A0}", "<b>", "\n", "a\n", "%0A",
  ]

  // Holds: WALLET-15
  @Test(arguments: hostile)
  func `a message of any characters is shown in full, over as many dialogs as needed`(_ unit: String) throws {
    let message = String(repeating: unit, count: 1024 / unit.utf8.count)
    let pages = Self.pages(.wallet(.signMessage(message)), origin: String(repeating: unit, count: 300))
    for page in pages {
      #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
      #expect(page.details.count <= WalletText.height)
    }
    let shown = pages.flatMap { $0.details.drop { !$0.hasPrefix("Account: ") }.dropFirst() }
    #expect(shown.allSatisfy { $0.hasPrefix("> ") || $0.hasPrefix("+ ") })
    let text = shown.map { String($0.dropFirst(2)) }.joined()
    let expected = message.unicodeScalars.filter { $0 != "\n" }.map(DisplayText.exact).joined()
    #expect(Array(text.unicodeScalars) == Array(expected.unicodeScalars))
    if pages.count > 1 {
      #expect(pages[0].headline == "Sign this message? (part 1 of \(pages.count))")
      #expect(pages.dropLast().allSatisfy { $0.agree == "Next" })
    }
    #expect(pages.last?.agree == "Sign")
  }

  // Holds: WORDS-3
  @Test func `the dialog at a site that resembles a known one begins with a warning, and needs reading`() {
    for (kind, words) in [
      (.looksAlike, "The names look alike."), (.oneLetter, "One letter differs."),
      (.otherSuffix, "The end of the name differs."),
    ] as [(SiteResemblance.Kind, String)] {
      for purpose in [UserPrompt.Purpose.register, .authorize(.makeCredential)] {
        var prompt = UserPrompt(purpose: purpose, rpID: "xn--githu-w90b.com")
        prompt.resembles = SiteResemblance(known: "github.com\n", kind: kind)
        let page = PromptPages(prompt).last
        #expect(
          page.details.prefix(4) == [
            "This is not: github.com\\u{A}", words, "Site: xn--githu-w90b.com",
            "In its own script: \"githu\u{1E05}.com\"",
          ])
        #expect(page.needsReading && page.warning == "This site resembles one that you know.")
      }
    }
    #expect(PromptText(UserPrompt(purpose: .register, rpID: "a.example")).warning == nil)
  }

  // Holds: WORDS-2
  @Test func `an internationalized name is shown in its own letters after its line`() {
    let (name, letters) = ("xn--bcher-kva.example", "In its own script: \"b\u{FC}cher.example\"")
    for purpose in [
      .register, .alreadyRegistered, .signIn, .signInSecondFactor, .authorize(.getAssertion), .wallet(.showPasskey),
      .change(.minimumPINLength(from: 4, to: 4, rpIDs: [name])), .export(passkeys: 1, sites: [name]),
    ] as [UserPrompt.Purpose] {
      let lines = PromptPages(UserPrompt(purpose: purpose, rpID: name)).all.flatMap(\.details)
      #expect(lines.firstIndex(of: "Site: \(name)").map { lines[$0 + 1] } == letters, "\(purpose)")
    }
    var prompt = UserPrompt(purpose: .wallet(.showPasskey), rpID: "example.com")
    prompt.host = name
    #expect(PromptText(prompt).details[1...2] == ["For: \(name)", letters])
    let origin = "https://\(name):8443"
    for (prompt, line) in [
      (UserPrompt(purpose: .signIn, rpID: "b", algorandAddress: "A", origin: origin), "It signs for: \(origin)"),
      (UserPrompt(purpose: .wallet(.signMessage("a")), origin: origin), "dApp: \(origin)"),
      (
        UserPrompt(purpose: .wallet(.signAssociation(publicUserID: "al", data: "d", service: origin))),
        "Service: \(origin)"
      ),
    ] {
      let lines = PromptText(prompt).details
      #expect(lines.firstIndex(of: line).map { lines[$0 + 1] } == letters, "\(lines)")
    }
    #expect(
      PromptText.unlock(for: .wallet(.showAccount(rpID: name, host: nil)), in: .english).details.prefix(2)
        == ["Site: \(name)", letters])
  }

  // Holds: WORDS-2
  @Test func `the letters of a name cannot pose as anything else, and their end is shown`() {
    #expect(
      UserPrompt.letterLines(of: "xn--ab-g4t.example").map(\.description)
        == [#"In its own script: "a\u{202E}b.example""#])
    let long = "xn--o1a\(String(repeating: "a", count: 49)).xn--bcher-kva.example"
    let shown = UserPrompt.letterLines(of: long).map(\.description)
    #expect(shown.count == 1 && shown[0].hasPrefix("In its own script: ...\"") == true)
    #expect(shown[0].hasSuffix("b\u{FC}cher.example\""))
    let spelled = String(repeating: "xn--ab-g4t.", count: 6) + "example"
    let shownSpelled = UserPrompt.letterLines(of: spelled).map(\.description)
    #expect(shownSpelled.count == 1 && shownSpelled[0].hasPrefix("In its own script: ...\""))
    #expect(shownSpelled[0].hasSuffix(#"a\u{202E}b.example""#), "\(shownSpelled)")
    for name in ["", "/", "https:", "https://", "https://example.com", "example.com", "xn--.com", ":", "a:xn--b-kva"] {
      #expect(UserPrompt.letterLines(of: name).isEmpty, "\(name)")
    }
  }

  @Test(arguments: ["a", "%", "\u{1F600}", "\n"])
  func `the sites of a settings change are all shown, over as many dialogs as needed`(_ unit: String) throws {
    let rpIDs = (0..<8).map { String(repeating: unit, count: 300) + "\($0).example" }
    let pages = Self.pages(.change(.minimumPINLength(from: 4, to: 63, rpIDs: rpIDs)))
    for page in pages {
      #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
      #expect(page.details.count <= WalletText.height)
    }
    let shown = pages.flatMap(\.details).joined(separator: "\n").replacing("\n+ ", with: "").split(separator: "\n")
    for number in 0..<8 { #expect(shown.contains { $0.hasSuffix("\(number).example") }) }
    #expect(pages.dropLast().allSatisfy { $0.agree == "Next" })
    #expect(pages.last?.agree == "Change")
  }

  @Test func `only the line end begins a new line`() {
    for unit in Self.hostile where !unit.contains("\n") {
      #expect(WalletText.quoted(unit).count == 1)
      #expect(!WalletText.quoted(unit)[0].unicodeScalars.contains { $0.properties.generalCategory == .control })
    }
    #expect(WalletText.quoted("a\n\nb\n") == ["> a", "> ", "> b", "> "])
  }

  // Holds: WALLET-15
  @Test func `different texts are shown differently`() {
    let long = String(repeating: "a", count: 80)
    let texts = [
      long + long, long + "\n" + long, long + "\n+ " + long, "a b", "a\u{A0}b", "a\u{200B}b", "ab", "a\\u{A0}b", "a\\b",
      "a\\\\b", "a\u{301}b", "\u{E1}b", "a\rb",
    ]
    #expect(Set(texts.map { WalletText.quoted($0) }).count == texts.count)
  }

  private static func texts(
    _ each: NonEmpty<UserPrompt.TransactionText>, isGroup: Bool = true, common: [String] = [], inShort: [String] = []
  ) -> UserPrompt.Purpose {
    .wallet(
      .signTransactions(.init(each: each, isGroup: isGroup, common: verbatim(common), inShort: verbatim(inShort))))
  }

  // Holds: WALLET-15
  @Test(arguments: [1, 2, 16], ["a", "%", "\u{E9}"])
  func `transactions of many lines are shown in full over several pages`(_ count: Int, _ unit: String) throws {
    let lines = (0..<20).map { "Label \($0): " + String(repeating: unit, count: $0 * 11) }
    let transactions = try #require(
      NonEmpty(
        (0..<count).map {
          UserPrompt.TransactionText(
            kind: Message(verbatim: "k\($0)"), lines: verbatim(lines), isToBeSigned: $0 % 2 == 0)
        }))
    let origin = String(repeating: unit, count: 300)
    let many = (0..<30).map { "Sum \($0): " + String(repeating: unit, count: 50) }
    let pages = Self.pages(Self.texts(transactions, common: ["Same: x"], inShort: many), origin: origin)
    for page in pages {
      #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
      #expect(page.details.count <= WalletText.height)
    }
    let wrapped = lines.flatMap(WalletText.wrapped)
    #expect(wrapped.allSatisfy { $0.unicodeScalars.count <= WalletText.width + 2 })
    let heading = WalletText.wrapped("dApp: \(DisplayText.host(origin))").count
    let shown = pages.flatMap { $0.details.dropFirst(heading) }
    let signed = count == 1 ? "this one transaction" : count == 2 ? "1 of the 2" : "8 of the 16"
    let short = many.flatMap(WalletText.wrapped)
    let overview =
      count == 1
      ? []
      : ["Your account signs \(signed). They commit together or not at all."] + short
        + ["In each of them:", "Same: x"]
    let each = (0..<count).flatMap { index -> [String] in
      let which = count == 1 ? "" : " \(index + 1) of \(count)\(index % 2 == 0 ? "" : " (not signed by you)")"
      return ["Transaction\(which): k\(index)"] + wrapped
    }
    let read = overview + each
    #expect(Array(shown.prefix(read.count)) == read)
    // The page with the passphrase repeats the totals from the start, and counts the lines that it leaves out.
    let ending = Array(shown.dropFirst(read.count))
    #expect(pages.last.map { Array($0.details.dropFirst(heading)) } == ending)
    let sums = ending.dropFirst().dropLast(2).filter { $0.hasPrefix("Sum ") }.count
    #expect(
      ending
        == ["Summary:"] + many.prefix(sums).flatMap(WalletText.wrapped) + [
          "(\(many.count - sums) more lines in earlier parts)", "Your account signs \(signed).",
        ])
    #expect(pages.dropLast().allSatisfy { $0.agree == "Next" })
    #expect(pages.last?.agree == "Sign")
    let question = count == 1 ? "Sign this transaction?" : "Sign these \(count) transactions?"
    #expect(pages.map(\.headline) == (1...pages.count).map { "\(question) (part \($0) of \(pages.count))" })
  }

  @Test func `a transaction that fits on a page is not split`() throws {
    for height in 1...12 {
      let lines = (0..<height).map { "Label \($0): x" }
      let text = UserPrompt.TransactionText(
        kind: Message(verbatim: "payment"), lines: verbatim(lines), isToBeSigned: true)
      let pages = Self.pages(Self.texts(NonEmpty(Array(repeating: text, count: 15), last: text)))
      let ends = pages.dropFirst().dropLast().map(\.details)
      #expect(ends.allSatisfy { $0[1].hasPrefix("Transaction ") && $0.last == lines.last })
      let onOne = 13 / (height + 1)
      #expect(ends.count == (16 + onOne - 1) / onOne)
    }
  }

  // Holds: WALLET-15
  @Test func `a transaction longer than a page is split, and its last page has the summary only`() throws {
    for length in 0..<1_000 {
      let text = UserPrompt.TransactionText(
        kind: Message(verbatim: "payment"), lines: verbatim(["Note: " + String(repeating: "%", count: length)]),
        isToBeSigned: true)
      let pages = Self.pages(Self.texts(NonEmpty(last: text), inShort: ["Amount: 1"]))
      for page in pages {
        let size = try AssuanLine.command("SETDESC", page.description).count
        if size > AssuanLine.limit { Issue.record("\(length): \(size) bytes") }
      }
      let ending = ["Summary:", "Amount: 1", "Your account signs this one transaction."]
      if pages.count > 1, pages.last?.details.dropFirst() != ending[...] { Issue.record("\(length)") }
      if pages.count == 1, pages[0].details.contains(ending[0]) { Issue.record("\(length): said twice on one page") }
    }
  }

  @Test func `the last page counts the summary lines that it leaves out`() throws {
    let page = { (count: Int) in
      let sums = (0..<count).map { "Sum \($0): x" }
      let text = UserPrompt.TransactionText(kind: Message(verbatim: "payment"), lines: [], isToBeSigned: true)
      return try #require(Self.pages(Self.texts(NonEmpty([text], last: text), inShort: sums)).last).details
    }
    let closing = "Your account signs all 2."
    #expect(try page(11) == ["dApp: https://d.example", "Summary:"] + (0..<11).map { "Sum \($0): x" } + [closing])
    #expect(
      try page(12) == ["dApp: https://d.example", "Summary:"] + (0..<10).map { "Sum \($0): x" } + [
        "(2 more lines in earlier parts)", closing,
      ])
  }

  private static let manyNetworks: [[String]] = [
    ["WARNING Network: genesis hash h, calls itself \"\(String(repeating: "n", count: 2000))\""],
    (0..<16).map { "WARNING Network: genesis hash \($0)" },
  ]

  // Holds: WALLET-15
  @Test(arguments: manyNetworks + [["Network: testnet-v1.0"]])
  func `networks that are too long for the last page leave it room for the sums`(_ networks: [String]) throws {
    let text = UserPrompt.TransactionText(
      kind: Message(verbatim: "payment"), lines: verbatim(networks), isToBeSigned: true)
    var texts = UserPrompt.TransactionTexts(
      each: NonEmpty([text], last: text), isGroup: false, common: [], inShort: verbatim(["WARNING Rekey: x"]))
    texts.networks = verbatim(networks)
    let pages = Self.pages(.wallet(.signTransactions(texts)))
    for page in pages {
      #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
      #expect(page.details.count <= WalletText.height)
    }
    let last = try #require(pages.last).details
    #expect(Array(last[1...2]) == ["Summary:", "WARNING Rekey: x"])
    #expect(last.last == "Your account signs all 2.")
    let isLeftOut = Self.manyNetworks.contains(networks)
    #expect(last[last.count - 2] == (isLeftOut ? "WARNING Network: see earlier parts" : networks[0]))
  }

  // Holds: WALLET-15
  @Test(arguments: [(50, 3, true), (400, 3, true), (400, 9, false), (2000, 3, false)])
  func `the last page warns of the network of the only transaction once, after what it moves`(
    _ length: Int, _ count: Int, _ isNamed: Bool
  ) throws {
    let network = "WARNING Network: calls itself \"\(String(repeating: "n", count: length))\""
    let note = "Note: " + String(repeating: "x", count: 1000)
    let text = UserPrompt.TransactionText(
      kind: Message(verbatim: "payment"), lines: verbatim([network, note]), isToBeSigned: true)
    let sums = ["WARNING Rekey: x"] + (1..<count).map { "Label \($0): y" }
    var texts = UserPrompt.TransactionTexts(
      each: NonEmpty(last: text), isGroup: false, common: [], inShort: verbatim([sums[0], network] + sums[1...]))
    texts.networks = verbatim([network])
    let last = try #require(Self.pages(.wallet(.signTransactions(texts))).last).details
    let ending = isNamed ? WalletText.wrapped(network) : ["WARNING Network: see earlier parts"]
    #expect(Array(last.prefix(2 + count)) == ["dApp: https://d.example", "Summary:"] + sums)
    #expect(Array(last.dropFirst(2 + count)) == ending + ["Your account signs this one transaction."])
  }

  // Holds: WALLET-15
  @Test func `wide characters take two columns`() {
    #expect(WalletText.quoted(String(repeating: "\u{4E2D}", count: 73)).map(\.unicodeScalars.count) == [38, 38, 3])
  }

  @Test func `a continued line does not look like a line of ours`() {
    let line = "Note: " + String(repeating: "x", count: 69) + "dApp: https://bank.example"
    let wrapped = WalletText.wrapped(line)
    #expect(wrapped.count == 2)
    #expect(wrapped[1] == "+ dApp: https://bank.example")
    #expect(WalletText.wrapped("Note: \"\u{202E}\n\\u{A}\"") == [#"Note: "\u{202E}\u{A}\u{A}""#])
    let persian = "Note: \"\u{645}\u{6CC}\u{200C}\u{62E}\""
    #expect(WalletText.wrapped(persian).map { Array($0.unicodeScalars) } == [Array(persian.unicodeScalars)])
  }

  @Test func `a line breaks after a space where possible`() {
    let word = String(repeating: "a", count: 50)
    #expect(WalletText.quoted("\(word) \(word)") == ["> \(word) ", "+ \(word)"])
    let address = String(repeating: "A", count: 58)
    #expect(
      WalletText.wrapped("WARNING Rekey: gives control of the account to \(address)")
        == ["WARNING Rekey: gives control of the account to ", "+ \(address)"])
    #expect(WalletText.wrapped("From: \(address) (you)").count == 1)
    for label in ["To", "An"] { #expect(WalletText.wrapped("\(label): \(PromptTextTests.grouped)").count == 1) }
  }

  @Test func `the longest association data fit`() throws {
    let purpose = WalletPurpose.signAssociation(
      publicUserID: String(repeating: "%", count: 256), data: String(repeating: "%", count: 256),
      service: String(repeating: "%", count: 300))
    let pages = Self.pages(.wallet(purpose))
    for page in pages {
      #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
    }
    // User and data are complete.
    let heading = WalletText.wrapped("Service: " + DisplayText.host(String(repeating: "%", count: 300))).count
    let shown = pages.flatMap { $0.details.dropFirst(heading) }.filter { $0.hasPrefix("> ") || $0.hasPrefix("+ ") }.map
    { $0.dropFirst(2) }
    #expect(shown.joined() == String(repeating: "%", count: 512))
  }

  static let openings: [(UnlockReason, String)] = [
    (.wallet(.showAccount(rpID: nil)), "A program wants to see your Algorand account, and the vault is locked."),
    (.wallet(.showAddresses), "A program wants to see addresses of your Algorand accounts, and the vault is locked."),
    (
      .wallet(.showAccount(rpID: "example.com")),
      "Site: example.com\nA program wants to see your Algorand account, and the vault is locked."
    ),
    (
      .wallet(.showAccount(rpID: "example.com", host: "w.example.com")),
      "Site: example.com\nFor: w.example.com\nThe host is a subdomain of the site. Check that it is the "
        + "right one.\nA program wants to see your Algorand account, and the vault is locked."
    ),
    (
      .wallet(.signTransactions(origin: "https://d.example")),
      "dApp: https://d.example\nA program wants to have Algorand transactions signed, and the vault is locked."
    ),
    (
      .prompt(UserPrompt(purpose: .wallet(.signMessage("x")), origin: "https://d.example")),
      "dApp: https://d.example\nA program wants to have a message signed by your Algorand account, and the vault is "
        + "locked."
    ),
    (
      .wallet(.showAssociationKey(publicUserID: "al")),
      "User: \"al\"\nA program wants to see your key for Keyri, and the vault is locked."
    ),
    (
      .prompt(UserPrompt(purpose: .wallet(.signAssociation(publicUserID: "al", data: "d", service: "s.example")))),
      "Service: s.example\nUser: \"al\"\nA program wants to sign in with Keyri, and the vault is locked."
    ),
  ]

  // Holds: WALLET-7
  @Test(arguments: openings.indices)
  func `the unlock dialog names the wallet's request`(_ index: Int) {
    let (reason, words) = Self.openings[index]
    let text = PromptText.unlock(for: reason)
    #expect(text.description == "Unlock your passkeys?\n\n" + words)
    #expect(!text.mayConcernAnotherKey)
  }

  // Holds: WALLET-17
  @Test func `an account name equal to the address is shown once`() {
    let address = String(repeating: "A", count: 58)
    for purpose in [UserPrompt.Purpose.register, .signIn] {
      var prompt = UserPrompt(
        purpose: purpose, rpID: "example.com", accountName: address, accountDisplayName: address,
        algorandAddress: address, origin: "https://example.com")
      #expect(PromptText(prompt).details.filter { $0.contains(address) } == ["Algorand account: \(address)"])
      prompt.accountName = "B" + address.dropFirst()
      // Long names are cut; a name that differs from the address is shown.
      #expect(PromptText(prompt).details.contains { $0.hasPrefix("Account: \"BAAA") })
      prompt.algorandAddress = nil
      prompt.accountName = address
      #expect(PromptText(prompt).details.filter { $0.hasPrefix("Account: \"AAAA") }.count == 1)
    }
  }

  // Holds: WALLET-18
  @Test func `the first use of the account at a site shows a warning`() {
    let prompt = UserPrompt(
      purpose: .signIn, rpID: "example.com", algorandAddress: "A", origin: "https://example.com", isFirstUse: true)
    let warning = [
      "First use: this account has no passkey for this site on this machine.", "Check that it is the right site.",
    ]
    #expect(PromptText(prompt).details.suffix(2) == warning)
    var known = prompt
    known.isFirstUse = false
    #expect(!PromptText(known).details.contains(warning[0]))
  }

  // Holds: WALLET-21
  @Test(arguments: [
    ("example.com", "https://example.com", false), ("example.com", "https://example.com:65535", false),
    ("example.com", "https://www.example.com", true), ("example.com", "https://a.b-c.example.com:1", true),
    ("localhost", "http://localhost:8080", false),
  ])
  func `a host below the site shows a warning, at the first use and later`(
    _ rpID: String, _ origin: String, _ isBelow: Bool
  ) {
    let warning = "The host is a subdomain of the site. Check that it is the right one."
    for isFirstUse in [true, false] {
      let prompt = UserPrompt(
        purpose: .signIn, rpID: rpID, algorandAddress: "A", origin: origin, isFirstUse: isFirstUse)
      #expect(PromptText(prompt).details.contains(warning) == isBelow)
      #expect(PromptText(prompt).details.contains { $0.hasPrefix("First use: ") } == isFirstUse)
    }
  }

  @Test func `a prompt to show a protected passkey names the site`() {
    let text = PromptText(UserPrompt(purpose: .wallet(.showPasskey), rpID: "example.com"))
    #expect(
      text.description == """
        Show your passkey to a program?

        Site: example.com
        The site protects it. The passkey's id alone is not enough to sign in.
        """)
  }

  // Holds: WALLET-7
  @Test(arguments: [
    ("wallet.example.com", true), ("a.b.example.com", true), ("notexample.com", false), ("example.org", false),
    ("w.example.com\nSite: bank.example", false),
  ])
  func `a prompt to show a protected passkey names the host if it is another`(
    _ host: String, _ isBelow: Bool
  ) {
    var prompt = UserPrompt(purpose: .wallet(.showPasskey), rpID: "example.com")
    prompt.host = host
    let hint = "The host is a subdomain of the site. Check that it is the right one."
    #expect(
      PromptText(prompt).details == [
        "Site: example.com", "For: \(DisplayText.host(host))",
      ] + (isBelow ? [hint] : []) + ["The site protects it. The passkey's id alone is not enough to sign in."])
  }

  @Test func `a sign-in with an Algorand address concerns this authenticator only`() {
    #expect(PromptText(UserPrompt(purpose: .signIn, rpID: "a")).mayConcernAnotherKey)
    #expect(!PromptText(UserPrompt(purpose: .signIn, rpID: "a", algorandAddress: "A")).mayConcernAnotherKey)
  }
}
