import ArgumentParser
import CryptoPrimitives
import DeterministicKeys
import ProcessIO
import SLIP39
import Synchronization
import TestVectors
import Testing

@testable import liquid_auth

@Suite struct SharePolicyTests {
  static let taken: [(text: String, threshold: Int, count: Int)] = [
    ("2-of-3", 2, 3), ("1-of-1", 1, 1), ("2-of-2", 2, 2), ("16-of-16", 16, 16), ("03-of-05", 3, 5),
  ]

  @Test(arguments: taken) func `a policy has a threshold and a number of shares`(
    _ text: String, _ threshold: Int, _ count: Int
  ) throws {
    let policy = try SharePolicy(text)
    #expect((policy.threshold, policy.count) == (threshold, count))
  }

  // Holds: SLIP39-9
  @Test(arguments: [
    "", "2", "2of3", "2-of-", "-of-3", "2/3", "2-OF-3", "2-of-3 ", " 2-of-3", "2-of-3-of-4", "-2-of-3", "+2-of-3",
    "2-of-300", "٢-of-٣", "two-of-three", "0x2-of-3",
  ]) func `another text is refused`(_ text: String) {
    #expect(Self.refusal(of: text) == "give two numbers, such as 2-of-3")
  }

  // Holds: SLIP39-9
  @Test(arguments: ["0-of-0", "0-of-3", "3-of-2", "2-of-17", "17-of-17", "99-of-99"])
  func `a policy that the standard does not allow is refused`(_ text: String) {
    #expect(
      Self.refusal(of: text)
        == "\(text) is not possible; choose at most 16 shares, and a threshold from 2 to that number")
  }

  // Holds: SLIP39-9
  @Test func `one of several shares is refused, because each would be the whole secret`() {
    #expect(
      Self.refusal(of: "1-of-3")
        == "1 of 3 shares would be the whole secret; choose 2-of-3 or more, or make copies of the share of 1-of-1")
  }

  /// The message of the error; `nil` if there is none.
  private static func refusal(of text: String) -> String? {
    do {
      _ = try SharePolicy(text)
      return nil
    } catch {
      return (error as? ValidationError)?.message
    }
  }
}

/// Three shares of a known phrase, any two of which give it.
private struct KnownShares {
  let phrase: BIP39Phrase
  let shares: [Share]

  init(seed: UInt64 = 1) throws {
    phrase = try BIP39Phrase(
      parsing: SecretBytes(typed: "legal winner thank year wave sausage worth useful legal winner thank yellow"))
    var generator = PhraseDialogueTests.Sequence(state: seed)
    shares = try SharePolicy("2-of-3").split(phrase, using: &generator)
  }

  /// The words of a share, from 0.
  func words(_ share: Int) -> [String] { texts[share].split(separator: " ").map(String.init) }

  var texts: [String] { shares.map { String(decoding: $0.utf8.bytes, as: UTF8.self) } }
}

extension SecretBytes {
  fileprivate convenience init(typed text: String) {
    self.init(count: text.utf8.count) { $0.copyBytes(from: text.utf8) }
  }
}

@Suite struct ShareDialogueTests {
  /// Confirms the shares, and types `word` of the share and position (from 0) at each prompt.
  private static func confirm(
    _ known: KnownShares, seed: UInt64 = 1, isSecond: Bool = false,
    typing word: @escaping @Sendable (Int, Int) -> String
  ) throws -> (failure: CommandFailure?, shown: String) {
    let person = try Person { shown in
      if shown.contains("written down: ") { return "\n" }
      guard let prompt = try? #/Share (\d+), word (\d+): $/#.firstMatch(in: shown), let share = Int(prompt.1),
        let position = Int(prompt.2)
      else { return nil }
      return word(share - 1, position - 1) + "\n"
    }
    func confirm() -> CommandFailure? {
      var generator = PhraseDialogueTests.Sequence(state: seed)
      do throws(CommandFailure) {
        try PhraseDialogue.confirm(
          known.shares, isSecond: isSecond, on: TerminalDevice(owning: person.terminal), using: &generator)
        return nil
      } catch {
        return error
      }
    }
    return (confirm(), person.shown())
  }

  @Test(arguments: [(false, "Share 2 of 3, "), (true, "Share 2 of 3 of your new phrase, ")])
  func `shares of a second phrase are told from those of the first`(_ isSecond: Bool, _ heading: String) throws {
    let known = try KnownShares()
    let words = (0..<3).map(known.words)
    let (failure, shown) = try Self.confirm(known, isSecond: isSecond) { words[$0][$1] }
    #expect(failure == nil && shown.contains(heading))
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `each share is shown alone, and three of its words are asked for`(_ seed: UInt64) throws {
    let known = try KnownShares()
    let words = (0..<3).map(known.words)
    let (failure, shown) = try Self.confirm(known, seed: seed) { words[$0][$1] }
    #expect(failure == nil)
    let parts = shown.split(separator: "Share ", omittingEmptySubsequences: true)
    let screens = parts.filter {
      $0.contains(" of 3, 20 words. Write them down in this order, on their own paper.\r\n")
    }
    #expect(screens.count == 3)
    for (share, screen) in screens.enumerated() {
      #expect(screen.hasPrefix("\(share + 1) of 3"))
      #expect(screen.contains("Anyone who has 2 shares has your passkeys, on any machine."))
      let listed = screen.matches(of: #/(\d+)\. ([a-z]+)/#)
      #expect(listed.compactMap { Int($0.1) } == Array(1...20))
      #expect(listed.map { String($0.2) } == words[share])
      let asked = shown.matches(of: #/Share (\d+), word (\d+): /#).filter { Int($0.1) == share + 1 }
        .compactMap { Int($0.2) }
      #expect(asked.count == 3)
      // The first words are almost the same in all shares.
      #expect(asked == Set(asked).sorted() && asked.allSatisfy { (5...20).contains($0) })
    }
  }

  // Holds: SLIP39-10
  @Test func `a wrong word may be typed three times`() throws {
    let known = try KnownShares()
    let words = (0..<3).map(known.words)
    let (failure, shown) = try Self.confirm(known) { $0 == 1 ? "zero" : words[$0][$1] }
    #expect(
      failure
        == CommandFailure(
          "the words on paper are not share 2; no vault was made; destroy the papers of all shares, and run the command "
            + "again"))
    #expect(shown.matches(of: #/Share 2, word (\d+): /#).count == 3)
    #expect(!shown.contains("Share 3"))
  }

  // Holds: SLIP39-10
  @Test func `a word of another share is a wrong one`() throws {
    let known = try KnownShares()
    let words = (0..<3).map(known.words)
    let (failure, _) = try Self.confirm(known) { words[($0 + 1) % 3][$1] }
    #expect(failure?.description.hasPrefix("the words on paper are not share 1; no vault was made;") == true)
  }

  // Holds: SLIP39-10
  @Test func `Control-D instead of a word cancels`() throws {
    let (failure, _) = try Self.confirm(KnownShares()) { _, _ in "\u{4}" }
    #expect(failure == .cancelledAtShares(isSecond: false))
  }
}

@Suite struct ShareInputTests {
  /// Types one line at each prompt; returns the phrase, and what is shown, without the prompts.
  private static func type(_ lines: [String]) throws -> (result: Result<BIP39Phrase, CommandFailure>, shown: [String]) {
    let person = try Person(lines.map { (prompt: "(not shown): ", keys: $0 + "\n") })
    func read() throws(CommandFailure) -> BIP39Phrase {
      try ShareInput.valid(on: TerminalDevice(owning: person.terminal))
    }
    let result: Result<BIP39Phrase, CommandFailure>
    do throws(CommandFailure) { result = .success(try read()) } catch { result = .failure(error) }
    return (result, person.shown().split(separator: "\r\n").map(String.init))
  }

  private static func prompt(_ share: Int) -> String { "Share \(share), all words on one line (not shown): " }

  @Test(arguments: [(0, 1), (1, 0), (0, 2), (2, 1)])
  func `two shares in any order give the phrase, and no word is shown`(_ first: Int, _ second: Int) throws {
    let known = try KnownShares()
    let (result, shown) = try Self.type([known.texts[first], known.texts[second]])
    #expect(try result.get().utf8.isEqual(to: known.phrase.utf8))
    #expect(shown == [Self.prompt(1), "1 share is given, and 2 are needed; give 1 more", Self.prompt(2)])
  }

  // Holds: SLIP39-11
  @Test func `a share that is refused is asked for again, with the reason`() throws {
    let known = try KnownShares()
    let (first, second, foreign) = (known.texts[0], known.texts[1], try KnownShares(seed: 2).texts[1])
    let swapped = Array(known.words(0).dropLast(2) + known.words(0).suffix(2).reversed()).joined(separator: " ")
    let (result, shown) = try Self.type([
      "", "abandon " + first, String(first.dropLast(3)), swapped, first, first, foreign,
      second.uppercased().split(separator: " ").joined(separator: "\u{3000}"),
    ])
    #expect(try result.get().utf8.isEqual(to: known.phrase.utf8))
    #expect(
      shown == [
        Self.prompt(1),
        "the share has 0 words; give all 20, 23, 27, 30 or 33, with spaces between them; try again",
        Self.prompt(1), "word 1 is not in the list of SLIP-39; check how it is spelled; try again",
        Self.prompt(1), "word 20 is not in the list of SLIP-39; check how it is spelled; try again",
        Self.prompt(1),
        "the checksum of the share is wrong: all words are in the list, but one of them is wrong, or two are "
          + "swapped; compare them with what was written down; try again",
        Self.prompt(1), "1 share is given, and 2 are needed; give 1 more",
        Self.prompt(2),
        "shares 1 and 2 are the same; give a different share instead of one of them; try again, or press "
          + "Enter to begin with share 1 again",
        Self.prompt(2),
        "shares 1 and 2 are of different sets: their first two words differ; give shares of one set; try again, or "
          + "press Enter to begin with share 1 again",
        Self.prompt(2),
      ])
  }

  // Holds: SLIP39-11
  @Test func `a phrase in the place of a share is recognised, and a share in the place of a phrase`() throws {
    let known = try KnownShares()
    let phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow"
    let (result, shown) = try Self.type([phrase, "legal winner", "legal winnner", known.texts[0], known.texts[1]])
    #expect(try result.get().utf8.isEqual(to: known.phrase.utf8))
    let isPhrase = "these are words of a phrase, not of a SLIP-39 share; try again"
    #expect(
      shown.prefix(6) == [
        Self.prompt(1), isPhrase, Self.prompt(1), isPhrase, Self.prompt(1),
        "word 2 is not in the list of SLIP-39; check how it is spelled; try again",
      ])

    func refusal(of words: String, _ command: [String]?) -> String? {
      let line = SecretBytes(typed: words)
      return #expect(throws: CommandFailure.self) { try PhraseInput.parse(line, forShares: command) }?.description
    }
    let isShare = "these are words of a SLIP-39 share, not of a phrase"
    #expect(
      refusal(of: known.texts[0], ["liquid-auth", "recover", "--shares"])
        == "\(isShare); for shares, run: liquid-auth recover --shares")
    #expect(refusal(of: "duckling academic acid", nil) == isShare)
    let isUnknown = "word 1 is not in the English BIP39 list; check how it is spelled"
    #expect(refusal(of: "ducklin academic acid", nil) == isUnknown)
  }

  // Holds: SLIP39-11
  @Test func `shares that do not fit together are all asked for again`() throws {
    // Two shares of the standard's vectors with right checksums and a wrong digest, and two that have a secret.
    let official = try Vector("slip39").official
    let wrong = official[12][1].array.map(\.text)
    let known = try KnownShares()
    let (result, shown) = try Self.type(wrong + [known.texts[2], known.texts[0]])
    #expect(try result.get().utf8.isEqual(to: known.phrase.utf8))
    #expect(
      shown == [
        Self.prompt(1), "1 share is given, and 2 are needed; give 1 more",
        Self.prompt(2),
        "the shares do not fit together: each checksum is right, but a share was changed, or is of another set; give "
          + "other shares of the set; begin again",
        Self.prompt(1), "1 share is given, and 2 are needed; give 1 more",
        Self.prompt(2),
      ])
  }

  // Holds: SLIP39-11
  @Test func `an empty line forgets a share of another set`() throws {
    let (known, foreign) = (try KnownShares(), try KnownShares(seed: 2))
    let (result, shown) = try Self.type([foreign.texts[1], "", known.texts[0], known.texts[2]])
    #expect(try result.get().utf8.isEqual(to: known.phrase.utf8))
    let given = "1 share is given, and 2 are needed; give 1 more"
    #expect(shown == [Self.prompt(1), given, Self.prompt(2), Self.prompt(1), given, Self.prompt(2)])
  }

  // Holds: SLIP39-11
  @Test func `Control-C cancels`() throws {
    let known = try KnownShares()
    let (result, _) = try Self.type([known.texts[0], "\u{3}"])
    #expect(throws: CommandFailure.cancelled) { try result.get() }
  }
}
