import Assuan
import CTAP2
import Messages
import Recovery
import TestVectors
import Testing

@testable import Prompts

@Suite struct PromptTextTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let prompt: UserPrompt
    let text: String
    let buttons: [String]
  }

  static let address = "7777777777777777777777777777777777777777777777777774MSJUVU"

  static let grouped = "7777 7777 7777 7777 7777 7777 7777 7777 7777 7777 7777 7777 7774 MSJUVU"

  private static func selection(after site: String) -> UserPrompt {
    var prompt = UserPrompt(purpose: .select)
    prompt.unservedSite = site
    return prompt
  }

  private static func with(_ extras: UserPrompt.Extras, _ prompt: UserPrompt) -> UserPrompt {
    var prompt = prompt
    prompt.extras = extras
    return prompt
  }

  private static func first(_ prompt: UserPrompt) -> UserPrompt {
    var prompt = prompt
    prompt.isFirstPasskey = true
    return prompt
  }

  private static func ofPhrases(_ prompt: UserPrompt) -> UserPrompt {
    var prompt = prompt
    (prompt.movesFromPreviousPhrase, prompt.isOfPreviousPhrase) = (true, true)
    prompt.leavesOutPreviousPhrase = true
    return prompt
  }

  // Holds: PROMPT-17
  @Test(arguments: [0, 1, 2]) func `a token for a sign-in names the accounts of the site`(more: Int) {
    var prompt = UserPrompt(purpose: .authorize(.getAssertion), rpID: "a.example")
    (prompt.storedAccounts, prompt.moreStoredAccounts) = (["alice", "b\nob"], more)
    let rest = [[], ["and 1 more account"], ["and 2 more accounts"]]
    #expect(
      PromptText(prompt).details == [
        "Site: a.example", "Account: \"alice\"", "Account: \"b\\u{A}ob\"",
      ] + rest[more])
    prompt.storedAccounts = []
    #expect(PromptText(prompt).details == ["Site: a.example"], "nameless accounts only")
  }

  // Holds: HYBRID-1
  @Test(arguments: [0, 1, 2]) func `a sign-in without a choice counts the other accounts`(more: Int) {
    var prompt = UserPrompt(purpose: .signIn, rpID: "a.example", accountName: "alice")
    prompt.moreStoredAccounts = more
    let advice = "To sign in with another one, refuse, and type its name at the site first."
    let others = [
      [], ["1 more account of this site is stored here.", advice],
      ["2 more accounts of this site are stored here.", advice],
    ]
    #expect(PromptText(prompt).details == ["Site: a.example", "Account: \"alice\""] + others[more])
  }

  // Holds: PROMPT-15
  @Test func `a heading is the act and the site, or the headline`() {
    let all = TokenPermissions(rawValue: 0x77)
    for (purpose, heading) in [
      (.register, "Make a passkey at a.example"), (.alreadyRegistered, "You already have a passkey at a.example"),
      (.signIn, "Sign in at a.example"), (.signInSecondFactor, "Sign in at a.example"),
      (.authorize(all), "Make a passkey at a.example"), (.authorize(.getAssertion), "Sign in at a.example"),
      (.authorize(.credentialManagement), "Let a program manage this authenticator?"),
      (.reset(importedPasskeys: 0), "Reset this authenticator?"),
    ] as [(UserPrompt.Purpose, String)] {
      #expect(PromptText(UserPrompt(purpose: purpose, rpID: "a.example")).heading == heading)
    }
    for rpID in [nil, ""] {
      #expect(PromptText(UserPrompt(purpose: .signIn, rpID: rpID)).heading == "Sign in with your passkey?")
    }
    #expect(
      PromptText(UserPrompt(purpose: .signIn, rpID: "a\n<b>")).heading == "Sign in at a\\u{A}<b>", "as in its line")
    let unlock = { (reason: UnlockReason?) in PromptText.unlock(for: reason, in: .english).heading }
    #expect(unlock(.prompt(UserPrompt(purpose: .select, rpID: "make.me.blink"))) == "Unlock your passkeys?")
    let known = UnlockReason.prompt(UserPrompt(purpose: .signIn, rpID: "a.example"))
    #expect([unlock(known), unlock(nil)] == ["Unlock your passkeys for a.example", "Unlock your passkeys?"])
    let asked = PromptPages(PromptText.unlock(for: known, in: .english), askedThrough: ["b"])
    #expect(asked.last.heading == "Unlock your passkeys for a.example")
  }

  static let cases: [Case] = [
    Case(
      testDescription: "register",
      prompt: UserPrompt(
        purpose: .register, rpID: "example.com", accountName: "alice@example.com", accountDisplayName: "Alice Example"),
      text: """
        Make a new passkey?

        Site: example.com
        Account: "alice@example.com"
        Name: "Alice Example"
        """,
      buttons: ["Make passkey", "Deny"]),
    Case(
      testDescription: "register, the same name twice is said once",
      prompt: UserPrompt(purpose: .register, rpID: "example.com", accountName: "alice", accountDisplayName: "alice"),
      text: """
        Make a new passkey?

        Site: example.com
        Account: "alice"
        """,
      buttons: ["Make passkey", "Deny"]),
    Case(
      testDescription: "register the first passkey",
      prompt: first(UserPrompt(purpose: .register, rpID: "example.com", accountName: "alice")),
      text: """
        Make a new passkey?

        Site: example.com
        Account: "alice"
        No passkey is stored here yet.
        After you make the first one, run: liquid-auth backup FILE
        """,
      buttons: ["Make passkey", "Deny"]),
    Case(
      testDescription: "a token for the first passkey",
      prompt: first(UserPrompt(purpose: .authorize(.makeCredential), rpID: "example.com")),
      text: """
        Make a new passkey?

        Site: example.com
        No passkey is stored here yet.
        After you make the first one, run: liquid-auth backup FILE
        """,
      buttons: ["Make passkey", "Deny"]),
    Case(
      testDescription: "register, in the place of another",
      prompt: UserPrompt(purpose: .register, rpID: "example.com", accountName: "alice", replacesPasskey: true),
      text: """
        Make a new passkey?

        Site: example.com
        Account: "alice"
        It replaces the passkey that this account has here.
        """,
      buttons: ["Replace passkey", "Deny"]),
    Case(
      testDescription: "register, in the place of a key of the old phrase",
      prompt: ofPhrases(UserPrompt(purpose: .register, rpID: "example.com", accountName: "alice")),
      text: """
        Make a new passkey?

        Site: example.com
        Account: "alice"
        It takes the place of your key of the old phrase at this site.
        """,
      buttons: ["Make passkey", "Deny"]),
    Case(
      testDescription: "sign in with a key of the old phrase",
      prompt: ofPhrases(UserPrompt(purpose: .signIn, rpID: "example.com", accountName: "alice")),
      text: """
        Sign in with your passkey?

        Site: example.com
        Account: "alice"
        This key is of your old phrase.
        Register a new one at the site.
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "sign in with a second factor of the old phrase",
      prompt: ofPhrases(UserPrompt(purpose: .signInSecondFactor)),
      text: """
        Sign in with your second factor?

        An older kind of request (U2F). It does not name its site.
        This key is of your old phrase.
        Register a new one at the site.
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "register, with all that goes along",
      prompt: with([.secret, .largeBlobKey, .payment], UserPrompt(purpose: .register, rpID: "example.com")),
      text: """
        Make a new passkey?

        Site: example.com
        The site also gets a secret for encryption (PRF).
        The site also gets a key for the data it keeps here (large blob).
        Other sites may start payments with this passkey.
        """,
      buttons: ["Make passkey", "Deny"]),
    Case(
      testDescription: "sign in, with a secret",
      prompt: with(.secret, UserPrompt(purpose: .signIn, rpID: "example.com")),
      text: """
        Sign in with your passkey?

        Site: example.com
        The site also gets a secret for encryption (PRF).
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "sign in, for a payment",
      prompt: with([.largeBlobKey, .payment], UserPrompt(purpose: .signIn, rpID: "example.com")),
      text: """
        Sign in with your passkey?

        Site: example.com
        The site also gets a key for the data it keeps here (large blob).
        This may confirm a payment that another site started.
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "already registered",
      prompt: UserPrompt(purpose: .alreadyRegistered, rpID: "example.com", accountName: "alice"),
      text: """
        You already have a passkey here

        Site: example.com
        Account: "alice"
        The site requested another one. No new passkey is made.
        """,
      buttons: ["OK", "Close"]),
    Case(
      testDescription: "sign in, account not known",
      prompt: UserPrompt(purpose: .signIn, rpID: "login.example.com"),
      text: """
        Sign in with your passkey?

        Site: login.example.com
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "sign in, several accounts",
      prompt: UserPrompt(purpose: .signIn, rpID: "example.com", accountName: "alice", accountCount: 3),
      text: """
        Sign in with your passkey?

        Site: example.com
        Accounts: 3; you choose one next
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "sign in, liquid in challenge form",
      prompt: UserPrompt(
        purpose: .signIn, rpID: "example.com", accountName: "", accountDisplayName: "Bob", algorandAddress: address,
        origin: "https://app.example.com:8443"),
      text: """
        Sign in with your passkey?

        Site: example.com
        Name: "Bob"
        Algorand account: \(grouped)
        It signs for: https://app.example.com:8443
        The host is a subdomain of the site. Check that it is the right one.
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "register, liquid in bound form",
      prompt: UserPrompt(purpose: .register, rpID: "example.com", accountName: "a", algorandAddress: address),
      text: """
        Make a new passkey?

        Site: example.com
        Account: "a"
        Algorand account: \(grouped)
        It signs for this site only
        """,
      buttons: ["Make passkey", "Deny"]),
    Case(
      testDescription: "select", prompt: UserPrompt(purpose: .select),
      text: """
        Is this the authenticator you mean?

        A site or a program asks which of your security keys to use.
        This does not sign you in.
        """,
      buttons: ["Use this one", "Not this one"]),
    Case(
      testDescription: "select, after a sign-in without a passkey",
      prompt: selection(after: "example.com"),
      text: """
        You have no passkey for this sign-in

        Site: example.com
        The site accepts only certain passkeys.
        This authenticator has none of them, so the sign-in fails.
        """,
      buttons: ["OK", "Not this one"]),
    Case(
      testDescription: "sign in, no passkey",
      prompt: UserPrompt(purpose: .signIn, rpID: "example.com", accountCount: 0),
      text: """
        Sign in with your passkey?

        Site: example.com
        No passkey for this site is stored on this machine, so the sign-in fails.
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "manage passkeys", prompt: UserPrompt(purpose: .authorize(.credentialManagement)),
      text: """
        Let a program manage this authenticator?

        It may list, rename and remove your passkeys.
        """,
      buttons: ["Allow", "Deny"]),
    Case(
      testDescription: "manage the passkeys of one site",
      prompt: UserPrompt(purpose: .authorize(.credentialManagement), rpID: "example.com"),
      text: """
        Let a program manage this authenticator?

        Site: example.com
        It may list, rename and remove your passkeys of this site.
        """,
      buttons: ["Allow", "Deny"]),
    Case(
      testDescription: "list passkeys",
      prompt: UserPrompt(purpose: .authorize(.persistentCredentialManagementReadOnly)),
      text: """
        Let a program manage this authenticator?

        It may list your passkeys until you set a new PIN, or run: liquid-auth config forget-readers
        """,
      buttons: ["Allow", "Deny"]),
    Case(
      testDescription: "set up", prompt: UserPrompt(purpose: .authorize(.authenticatorConfiguration)),
      text: """
        Let a program manage this authenticator?

        It may change this authenticator's settings.
        """,
      buttons: ["Allow", "Deny"]),
    Case(
      testDescription: "a first PIN", prompt: UserPrompt(purpose: .setPIN),
      text: """
        Set a PIN for this authenticator?

        A program chose this PIN.
        Anyone who knows it can pass verification at sites, list and remove your passkeys, and change settings.
        """,
      buttons: ["Set PIN", "Deny"]),
    Case(
      testDescription: "alwaysUv on", prompt: UserPrompt(purpose: .change(.alwaysUV(true))),
      text: """
        Ask for verification every time?

        Every registration and sign-in would then ask for verification.
        This needs a PIN.
        Until you set one, no site can use this authenticator.
        """,
      buttons: ["Change", "Deny"]),
    Case(
      testDescription: "alwaysUv off", prompt: UserPrompt(purpose: .change(.alwaysUV(false))),
      text: """
        Stop asking for verification every time?

        A program asks to require verification only when a site does.
        """,
      buttons: ["Change", "Deny"]),
    Case(
      testDescription: "a minimum PIN length",
      prompt: UserPrompt(purpose: .change(.minimumPINLength(from: 4, to: 20, rpIDs: nil))),
      text: """
        Change the rule for PINs?

        A program wants a PIN to have at least 20 characters (now: 4).
        Only a reset undoes this.
        """,
      buttons: ["Change", "Deny"]),
    Case(
      testDescription: "who is told the minimum PIN length",
      prompt: UserPrompt(purpose: .change(.minimumPINLength(from: 4, to: 4, rpIDs: ["a.example", "b\n.example"]))),
      text: #"""
        Change the rule for PINs?

        Only these sites can read the minimum PIN length:
        Site: a.example
        Site: b\u{A}.example
        """#,
      buttons: ["Change", "Deny"]),
    Case(
      testDescription: "a minimum PIN length that nobody is told",
      prompt: UserPrompt(purpose: .change(.minimumPINLength(from: 4, to: 6, rpIDs: []))),
      text: """
        Change the rule for PINs?

        A program wants a PIN to have at least 6 characters (now: 4).
        Only a reset undoes this.
        No site can read the minimum PIN length.
        """,
      buttons: ["Change", "Deny"]),
    Case(
      testDescription: "large blobs", prompt: UserPrompt(purpose: .change(.largeBlobs(from: 8192, to: 8192))),
      text: """
        Replace the data that sites keep here?

        A program wants to replace all 8192 bytes of it by 8192 bytes.
        Anything that it does not write back is lost.
        """,
      buttons: ["Replace", "Deny"]),
    Case(
      testDescription: "reset", prompt: UserPrompt(purpose: .reset(importedPasskeys: 0)),
      text: """
        Reset this authenticator?

        Every passkey that was made or used on this machine stops working here.
        The PIN, the settings and the large blobs of sites are removed too.
        Your recovery phrase is kept.
        """,
      buttons: ["Reset", "Keep"]),
    Case(
      testDescription: "reset with one imported passkey", prompt: UserPrompt(purpose: .reset(importedPasskeys: 1)),
      text: """
        Reset this authenticator?

        Every passkey that was made or used on this machine stops working here.
        The PIN, the settings and the large blobs of sites are removed too.
        Your recovery phrase is kept.
        1 imported passkey is lost, unless a backup has it.
        """,
      buttons: ["Reset", "Keep"]),
    Case(
      testDescription: "reset with imported passkeys", prompt: UserPrompt(purpose: .reset(importedPasskeys: 12)),
      text: """
        Reset this authenticator?

        Every passkey that was made or used on this machine stops working here.
        The PIN, the settings and the large blobs of sites are removed too.
        Your recovery phrase is kept.
        12 imported passkeys are lost, unless a backup has them.
        """,
      buttons: ["Reset", "Keep"]),
    Case(
      testDescription: "reset without a backup", prompt: UserPrompt(purpose: .reset(importedPasskeys: 0, unsaved: 1)),
      text: """
        Reset this authenticator?

        Every passkey that was made or used on this machine stops working here.
        The PIN, the settings and the large blobs of sites are removed too.
        Your recovery phrase is kept.
        There is no backup of 1 passkey.
        To make a backup first, choose Keep, then run: liquid-auth backup FILE
        """,
      buttons: ["Reset", "Keep"]),
    Case(
      testDescription: "reset after a change",
      prompt: UserPrompt(purpose: .reset(importedPasskeys: 0, unsaved: 2, lastBackup: 1_795_662_062_000)),
      text: """
        Reset this authenticator?

        Every passkey that was made or used on this machine stops working here.
        The PIN, the settings and the large blobs of sites are removed too.
        Your recovery phrase is kept.
        2 passkeys were made or changed after the last backup, on 2026-11-26.
        To make a backup first, choose Keep, then run: liquid-auth backup FILE
        """,
      buttons: ["Reset", "Keep"]),
    Case(
      testDescription: "reset after a backup",
      prompt: UserPrompt(purpose: .reset(importedPasskeys: 0, lastBackup: 1_795_662_062_000)),
      text: """
        Reset this authenticator?

        Every passkey that was made or used on this machine stops working here.
        The PIN, the settings and the large blobs of sites are removed too.
        Your recovery phrase is kept.
        The last backup was made on 2026-11-26.
        """,
      buttons: ["Reset", "Keep"]),
    Case(
      testDescription: "an export of all passkeys", prompt: UserPrompt(purpose: .export(passkeys: 12, sites: nil)),
      text: """
        Export passkeys with their private keys?

        A program wants to write 12 passkeys to a file that is not encrypted.
        These are all passkeys of this machine.
        Anyone who reads the file can sign in as you, and the sites cannot tell.
        Neither your passphrase nor your recovery phrase protects it.
        Delete the file as soon as you no longer need it.
        """,
      buttons: ["Export", "Deny"]),
    Case(
      testDescription: "an export of the passkeys of two sites",
      prompt: UserPrompt(purpose: .export(passkeys: 1, sites: ["a.example", "b.example\nSite: c"])),
      text: #"""
        Export passkeys with their private keys?

        A program wants to write 1 passkey to a file that is not encrypted.
        Site: a.example
        Site: b.example\u{A}Site:\u{20}c
        Anyone who reads the file can sign in as you, and the sites cannot tell.
        Neither your passphrase nor your recovery phrase protects it.
        Delete the file as soon as you no longer need it.
        """#,
      buttons: ["Export", "Deny"]),
    Case(
      testDescription: "an export during a move to a new phrase",
      prompt: ofPhrases(UserPrompt(purpose: .export(passkeys: 2, sites: nil))),
      text: """
        Export passkeys with their private keys?

        A program wants to write 2 passkeys to a file that is not encrypted.
        Passkeys of your old phrase are not among them.
        Anyone who reads the file can sign in as you, and the sites cannot tell.
        Neither your passphrase nor your recovery phrase protects it.
        Delete the file as soon as you no longer need it.
        """,
      buttons: ["Export", "Deny"]),
    Case(
      testDescription: "a site without a name", prompt: UserPrompt(purpose: .signIn, rpID: ""),
      text: """
        Sign in with your passkey?

        Site: (not named)
        """,
      buttons: ["Sign in", "Deny"]),
    Case(
      testDescription: "a name that poses as lines of ours",
      prompt: UserPrompt(
        purpose: .signIn, rpID: "evil.example\nSite: bank.example", accountName: "a\"\r\nSite: bank.example\u{2028}",
        accountDisplayName: "\u{202E}elpmaxe.knab\u{200B}"),
      text: #"""
        Sign in with your passkey?

        Site: evil.example\u{A}Site:\u{20}bank.example
        Account: "a\"\u{D}\u{A}Site: bank.example\u{2028}"
        Name: "\u{202E}elpmaxe.knab\u{200B}"
        """#,
      buttons: ["Sign in", "Deny"]),
  ]

  @Test(arguments: cases)
  func `each ceremony has its own text and buttons`(_ expected: Case) {
    let text = PromptText(expected.prompt)
    #expect(text.description == expected.text)
    #expect([text.agree, text.refuse] == expected.buttons)
  }

  @Test(arguments: [
    (nil, "A program wants to use this authenticator, and the vault is locked."),
    (UserPrompt(purpose: .select), "A program wants to use this authenticator, and the vault is locked."),
    (
      UserPrompt(purpose: .reset(importedPasskeys: 0)),
      "A program wants to reset this authenticator, and the vault is locked."
    ),
    (
      UserPrompt(purpose: .signIn, rpID: "example.com\n"),
      "Site: example.com\\u{A}\nA program wants to sign in with a passkey, and the vault is locked."
    ),
    (
      UserPrompt(purpose: .register, rpID: "example.com", accountName: "alice"),
      "Site: example.com\nAccount: \"alice\"\nA program wants to make a new passkey, and the vault is locked."
    ),
  ])
  func `the unlock dialog names the request`(prompt: UserPrompt?, details: String) {
    let text = PromptText.unlock(for: prompt.map { .prompt($0) })
    #expect(text.description == "Unlock your passkeys?\n\n" + details)
    #expect([text.agree, text.refuse] == ["Unlock", "Deny"])
  }

  @Test(arguments: [(2, "Wrong passphrase, 2 tries left"), (1, "Wrong passphrase, 1 try left")])
  func `a wrong passphrase shows how many tries are left`(left: Int, words: String) {
    #expect(PromptText.Entry.passphrase.wrong(triesLeft: left).description == words)
  }

  @Test func `the dialog for a PIN names the slot, and that the passphrase is another way`() {
    let prompt = UserPrompt(purpose: .register, rpID: "example.com")
    let text = PromptText.pin(ofSlot: 2, "TPM", for: .prompt(prompt), in: .english)
    #expect(
      text.details.last == "Type the PIN of slot 2 (TPM) of the vault, or use the passphrase."
        && text.details.first == "Site: example.com")
    #expect([text.agree, text.refuse, text.label] == ["Unlock", "Use passphrase", "PIN of the slot:"])
    #expect(
      [text.entry.nothingTyped, text.entry.wrong(triesLeft: 1)].map(\.description)
        == ["No PIN entered", "Wrong PIN, 1 try left"])
    #expect(!text.mayConcernAnotherKey, "a refusal of the PIN is not a refusal of the request")
  }

  /// Texts that take the most room, in every place that a client fills.
  static let units = ["\u{1F600}", "%", "\n", "\u{E9}", "\u{10FFFF}", "\"", "a"]
  /// Each with each; in the gate, each with itself.
  static let pairs: [(String, String)] = units.flatMap { unit in (isWhole ? units : [unit]).map { (unit, $0) } }

  @Test(arguments: pairs)
  func `the longest texts fit into Assuan lines, and all are shown`(site: String, name: String) throws {
    let (site, name) = (String(repeating: site, count: 3000), String(repeating: name, count: 3000))
    for origin in [nil, site] {
      for purpose in [UserPrompt.Purpose.register, .signIn] {
        var prompt = UserPrompt(
          purpose: purpose, rpID: site, accountName: name, accountDisplayName: name + ".",
          algorandAddress: Self.address, origin: origin, isFirstUse: true)
        prompt.replacesPasskey = purpose == .register
        prompt.extras = [.secret, .largeBlobKey, .payment]
        let pages = PromptPages(prompt)
        for page in pages.all {
          #expect(try AssuanLine.command("SETDESC", page.description).count <= AssuanLine.limit)
        }
        let lines = pages.all.flatMap(\.details)
        #expect(lines.count == (purpose == .register ? 11 : 10))
        #expect(lines[0].hasPrefix("Site: "))
        #expect(lines[lines.count - 2].hasPrefix("First use: "))
        #expect([pages.last.agree, pages.last.refuse].contains("Deny"))
      }
    }
  }

  @Test(arguments: cases)
  func `the headline contains no text of a client`(_ expected: Case) {
    var prompt = expected.prompt
    (prompt.rpID, prompt.accountName, prompt.accountDisplayName) = ("<b>x</b>", "<b>x</b>", "<i>x</i>")
    #expect(!PromptText(prompt).headline.contains("<"))
  }
}
