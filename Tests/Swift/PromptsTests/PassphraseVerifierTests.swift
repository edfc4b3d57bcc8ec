import CryptoPrimitives
import Recovery
import Testing

@testable import Prompts

@Suite struct PassphraseVerifierTests {
  @Test(arguments: ["", "p", "correct horse", "\u{E9}", String(repeating: "x", count: 2048)])
  func `only the exact bytes are right`(passphrase: String) async {
    let verifier = PassphraseVerifier()
    verifier.remember(secret(passphrase))
    #expect(await verifier.verify(secret(passphrase)) == .right)
    #expect(await verifier.verify(secret(passphrase + " ")) == .wrong(triesLeft: 7))
    #expect(await verifier.verify(secret("\0" + passphrase)) == .wrong(triesLeft: 6))
  }

  @Test func `another Unicode normal form is another passphrase`() async {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("\u{E9}"))
    #expect(await verifier.verify(secret("e\u{301}")) == .wrong(triesLeft: 7))
  }

  @Test func `a right passphrase restores all tries`() async {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for left in (1...7).reversed() { #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: left)) }
    #expect(await verifier.verify(secret("right")) == .right)
    #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: 7))
  }

  @Test func `after eight wrong tries even the right one is refused, until it is remembered again`() async {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for _ in 0..<7 { _ = await verifier.verify(secret("wrong")) }
    #expect(await verifier.verify(secret("wrong")) == .blocked)
    #expect(await verifier.verify(secret("right")) == .blocked)
    verifier.forget()
    #expect(await verifier.verify(secret("right")) == .locked)
    verifier.remember(secret("right"))
    #expect(await verifier.verify(secret("right")) == .right)
  }

  // Holds: ACCOUNT-9, FINGER-14, PIN-31
  @Test(arguments: [[.fingerprint], [.pam], [.pam, .fingerprint, .pam]] as [[VerificationMeans]])
  func `wrong fingers and answers take five tries together, and leave three to the passphrase`(
    _ means: [VerificationMeans]
  ) async {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for left in (0...4).reversed() {
      verifier.count(means[left % means.count], isRight: false)
      #expect(verifier.triesLeft == left + 3 && verifier.triesOfMeans == left)
    }
    #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: 2))
    #expect(await verifier.verify(secret("right")) == .right)
    #expect(verifier.triesLeft == 8 && verifier.triesOfMeans == 5)
  }

  // Holds: FINGER-14, PIN-31
  @Test func `a match gives back the tries of fingers, and not those of passphrases`() async {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for _ in 0..<4 { _ = await verifier.verify(secret("wrong")) }
    verifier.count(.fingerprint, isRight: false)
    #expect(verifier.triesLeft == 3 && verifier.triesOfMeans == 0)
    verifier.count(.fingerprint, isRight: true)
    #expect(verifier.triesLeft == 4 && verifier.triesOfMeans == 1)
    verifier.forget()
    verifier.expect()
    #expect(verifier.triesLeft == 4, "a lock does not give tries back")
  }

  // Holds: ACCOUNT-9, PIN-31
  @Test func `an answer that PAM accepts gives back the tries of answers only`() {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for means in [VerificationMeans.pam, .fingerprint, .pam] { verifier.count(means, isRight: false) }
    #expect(verifier.triesLeft == 5)
    verifier.count(.pam, isRight: true)
    #expect(verifier.triesLeft == 7)
    verifier.count(.fingerprint, isRight: true)
    #expect(verifier.triesLeft == 8)
  }

  // Holds: PROTECT-7
  @Test func `after another slot the passphrase is checked with the file, and tries count over lockings`() async {
    let verifier = PassphraseVerifier()
    verifier.set(ifBlocked: {}) { [weak verifier] passphrase in
      guard passphrase.isEqual(to: secret("right")) else { return false }
      verifier?.remember(passphrase)
      return true
    }
    verifier.expect()
    #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: 7))
    verifier.forget()
    #expect(await verifier.verify(secret("right")) == .locked)
    verifier.expect()
    #expect(verifier.triesLeft == 7)
    for left in (1...6).reversed() { #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: left)) }
    #expect(await verifier.verify(secret("wrong")) == .blocked)
    verifier.forget()
    verifier.expect()
    #expect(await verifier.verify(secret("right")) == .blocked)
    verifier.remember(secret("right"))
    #expect(await verifier.verify(secret("wrong")) == .wrong(triesLeft: 7))
  }

  @Test func `a passphrase that cannot be checked is no try`() async {
    let verifier = PassphraseVerifier()
    verifier.set(ifBlocked: {}) { _ in nil }
    verifier.expect()
    #expect(await verifier.verify(secret("right")) == .locked)
    #expect(verifier.triesLeft == 8)
  }
}
