import Testing

@testable import liquid_authenticator

@Suite struct PassphraseVerifierTests {
  @Test(arguments: ["", "p", "correct horse", "\u{E9}", String(repeating: "x", count: 2048)])
  func `only the exact bytes are right`(passphrase: String) {
    let verifier = PassphraseVerifier()
    verifier.remember(secret(passphrase))
    #expect(verifier.verify(secret(passphrase)) == .right)
    #expect(verifier.verify(secret(passphrase + " ")) == .wrong(triesLeft: 7))
    #expect(verifier.verify(secret("\0" + passphrase)) == .wrong(triesLeft: 6))
  }

  @Test func `another Unicode normal form is another passphrase`() {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("\u{E9}"))
    #expect(verifier.verify(secret("e\u{301}")) == .wrong(triesLeft: 7))
  }

  @Test func `a right passphrase restores all tries`() {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for left in (1...7).reversed() { #expect(verifier.verify(secret("wrong")) == .wrong(triesLeft: left)) }
    #expect(verifier.verify(secret("right")) == .right)
    #expect(verifier.verify(secret("wrong")) == .wrong(triesLeft: 7))
  }

  @Test func `after eight wrong tries even the right one is refused, until it is remembered again`() {
    let verifier = PassphraseVerifier()
    verifier.remember(secret("right"))
    for _ in 0..<7 { _ = verifier.verify(secret("wrong")) }
    #expect(verifier.verify(secret("wrong")) == .blocked)
    #expect(verifier.verify(secret("right")) == .blocked)
    verifier.forget()
    #expect(verifier.verify(secret("right")) == .locked)
    verifier.remember(secret("right"))
    #expect(verifier.verify(secret("right")) == .right)
  }
}
