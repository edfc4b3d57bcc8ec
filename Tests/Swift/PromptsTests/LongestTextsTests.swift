import Assuan
import CTAP2
import DisplayText
import Messages
import Recovery
import TestSupport
import TestVectors
import Testing

@testable import Fingerprint
@testable import HelperProcess
@testable import Prompts

/// The longest dialogs: each fits into the lines of Assuan and into a small window, and shows all that it must.
@Suite struct LongestTextsTests {
  /// The characters of which all foreign texts consist.
  static let units = PromptTextTests.units + ["\u{FFFD}", "\u{905}"]
  static let languages = ["en", "de"]
  /// Each of them in each language; in the gate, in one.
  static let cases: [(String, String)] = units.enumerated().flatMap { place, unit in
    (isWhole ? languages : [languages[place % 2]]).map { (unit, $0) }
  }

  private static let doors = [Door.device(node: "/dev/hidraw3"), .anotherComputer(process: 1)]
  // A name from the kernel has at most 127 bytes.
  private static let keys = Array(repeating: String(repeating: "\u{1F600}", count: 31), count: 4)

  private let unit: String
  private let long: String
  private let catalogue: Catalogue

  private init(_ unit: String, _ language: String) throws {
    self.unit = unit
    long = String(repeating: unit, count: 3000)
    catalogue = language == "de" ? try .german() : .english
  }

  init() throws { try self.init("a", "en") }

  /// The lines of a door with three programs of the longest names, and more of them.
  private func doorLines(_ door: Door) -> [String] {
    // A name in /proc has at most 15 bytes; a longer one, of plain letters, needs less room. The largest number of a process
    // is 2^22.
    let name = String(decoding: Array(long.utf8.prefix(15)), as: UTF8.self)
    let named = Array(repeating: Door.Program(name: name, process: 1 << 22), count: 3)
    return door.lines(Door.Programs(named: named, others: 99_999), in: catalogue)
  }

  private var transactions: UserPrompt.TransactionTexts {
    let lines = (0..<20).map { Message(verbatim: "Label \($0): " + String(repeating: unit, count: $0 * 11)) }
    let one = UserPrompt.TransactionText(kind: Message("payment"), lines: lines, isToBeSigned: true)
    let short = Array(repeating: Message(verbatim: String(repeating: unit, count: 200)), count: 20)
    return .init(each: NonEmpty([one, one], last: one), isGroup: false, common: lines, inShort: short)
  }

  private var prompts: [UserPrompt] {
    let all = TokenPermissions(rawValue: 0x77)
    let purposes: [UserPrompt.Purpose] = [
      .register, .alreadyRegistered, .signIn, .setPIN, .registerSecondFactor, .signInSecondFactor, .select,
      .authorize(all), .authorize(all.subtracting([.makeCredential])), .authorize([.largeBlobWrite]),
      .change(.alwaysUV(true)), .change(.alwaysUV(false)), .change(.largeBlobs(from: .max, to: .max)),
      .change(.minimumPINLength(from: 4, to: 63, rpIDs: Array(repeating: long, count: 8))),
      .reset(importedPasskeys: .max, unsaved: .max, lastBackup: 253_402_300_799_000),
      .export(passkeys: .max, sites: Array(repeating: long, count: 16)), .export(passkeys: .max, sites: nil),
      .wallet(.showPasskey), .wallet(.rememberDApp(replaces: true)),
      .wallet(.rememberDApp(replaces: false, oldest: long)), .wallet(.useDApp),
      .wallet(.signTransactions(transactions)), .wallet(.signMessage(String(repeating: unit, count: 1024))),
      .wallet(.signAssociation(publicUserID: String(long.prefix(256)), data: String(long.prefix(1024)), service: long)),
    ]
    return purposes.flatMap { purpose in
      [nil, PromptTextTests.address].map { address in
        var prompt = UserPrompt(
          purpose: purpose, rpID: long, accountName: long, accountDisplayName: long + ".", replacesPasskey: true,
          algorandAddress: address, origin: long, isFirstUse: true)
        prompt.host = long
        prompt.isFirstPasskey = true
        (prompt.storedAccounts, prompt.moreStoredAccounts) = (Array(repeating: long, count: 3), .max)
        (prompt.movesFromPreviousPhrase, prompt.isOfPreviousPhrase) = (true, true)
        prompt.leavesOutPreviousPhrase = address != nil
        prompt.extras = [.secret, .largeBlobKey, .payment]
        prompt.resembles = SiteResemblance(known: long, kind: .otherSuffix)
        prompt.unservedSite = long
        return prompt
      }
    }
  }

  private var reasons: [UnlockReason?] {
    let wallets: [WalletUnlockReason] = [
      .showAccount(rpID: long, host: long), .showAddresses, .signTransactions(origin: long),
      .useDApp(site: long), .showAssociationKey(publicUserID: long),
    ]
    return prompts.map { .prompt($0) } + wallets.map { .wallet($0) } + [nil]
  }

  /// Checks one dialog.
  ///
  /// - Parameter more: how many lines more than on a page of a text it may have.
  private func expectFit(_ dialog: PromptText, more: Int = 0) throws {
    for (command, text) in [
      ("SETTITLE", PromptText.title), ("SETDESC", dialog.description), ("SETPROMPT", dialog.label),
      ("SETDESC", dialog.textBelowHeading), ("SETPROMPT", dialog.heading),
      ("SETOK", dialog.agree), ("SETCANCEL", dialog.refuse), ("SETERROR", dialog.remark ?? ""),
      ("SETERROR", dialog.warning ?? ""),
      ("SETERROR", catalogue.text(dialog.entry.wrong(triesLeft: 2))),
    ] {
      #expect(try AssuanLine.command(command, text).count <= AssuanLine.limit, "\(text)")
    }
    #expect(dialog.details.count <= WalletText.height + more)
    #expect(!dialog.details.isEmpty)
  }

  /// Checks the dialogs of one prompt, and what a finger or PAM adds to the last one.
  private func expectFit(_ pages: PromptPages) throws {
    for page in pages.all { try expectFit(page) }
    let results = ["verify-retry-scan", "verify-swipe-too-short", "verify-finger-not-centered", "verify-too-fast"]
    for result in try results.map({ try FingerprintResult($0) }) {
      guard case .unread(let advice) = result else {
        Issue.record("\(result) is no advice")
        continue
      }
      try expectFit(pages.last.forFinger(advice), more: 2)
    }
    for advice in [nil, PromptText.wrongFinger(triesLeft: 2)] { try expectFit(pages.last.forFinger(advice), more: 2) }
    for question in [nil, long] {
      let asked = pages.last.forAccount(question, [long, long, long])
      try expectFit(asked, more: 2)
      #expect(asked.details.count > pages.last.details.count + 1, "what PAM says or asks is shown")
    }
  }

  // Holds: WORDS-5, LANGUAGE-2
  @Test(arguments: cases)
  func `each dialog of a request fits, with its door, other keys, a finger and PAM`(
    unit: String, language: String
  ) throws {
    let test = try Self(unit, language)
    for (prompt, place) in test.prompts.flatMap({ prompt in Self.doors.map { (prompt, $0) } }) {
      let door = test.doorLines(place)
      let others = prompt.mayConcernAnotherKey ? Self.keys : []
      let pages = PromptPages(prompt, askedThrough: door, beside: others, in: test.catalogue)
      try test.expectFit(pages)
      let lines = pages.all.flatMap(\.details)
      for line in door { #expect(lines.contains(line)) }
      if !others.isEmpty {
        #expect(Array(lines.suffix(4)) == test.catalogue.texts(PromptText.lines(naming: Self.keys)))
      }
    }
  }

  // Holds: WORDS-5, LANGUAGE-2
  @Test(arguments: cases)
  func `each dialog that unlocks the vault fits, with its door and other keys`(unit: String, language: String) throws {
    let test = try Self(unit, language)
    let door = test.doorLines(.controlSocket(process: 1))
    for reason in test.reasons {
      let unlock = PromptText.unlock(for: reason, in: test.catalogue)
      let pin = PromptText.pin(ofSlot: 99, "FIDO2 security key", for: reason, in: test.catalogue)
      let touch = PromptText.touch(for: reason, in: test.catalogue)
      for dialog in [unlock, pin, touch] {
        let others = dialog.mayConcernAnotherKey ? Self.keys : []
        let pages = PromptPages(dialog, askedThrough: door, beside: others)
        for page in pages.all { try test.expectFit(page) }
        let lines = dialog.details + door + test.catalogue.texts(PromptText.lines(naming: others))
        #expect(pages.all.flatMap(\.details) == lines)
        #expect(pages.last.takesPassphrase && pages.last.entry.label == dialog.entry.label)
        #expect(pages.before.allSatisfy { !$0.takesPassphrase && $0.isFollowed })
        #expect(pages.all.allSatisfy { $0.refuse == dialog.refuse })
        #expect(pages.all.allSatisfy { $0.mayConcernAnotherKey == dialog.mayConcernAnotherKey })
      }
    }
  }

  // Holds: WORDS-5
  @Test func `the door is in each part of a wallet's prompt`() throws {
    let message = UserPrompt(purpose: .wallet(.signMessage(String(repeating: "%", count: 1024))), origin: long)
    let door = doorLines(.device(node: nil))
    let pages = PromptPages(message, askedThrough: door).all
    #expect(pages.count > 1 && pages.last?.headline.contains("(part \(pages.count) of ") == true)
    for page in pages { #expect(page.details.contains(door[0])) }
  }
}
