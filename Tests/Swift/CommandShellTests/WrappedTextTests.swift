import Testing

@testable import liquid_auth

@Suite struct WrappedTextTests {
  @Test(arguments: [
    ("a line that fits", 16, "a line that fits"),
    ("a line that is too long", 12, "a line that\nis too long"),
    ("- the first one\n- the second one is long", 16, "- the first one\n- the second one\n  is long"),
    (
      "vault  locked, when the slot that unlocked it was removed\nstate  /s", 30,
      "vault  locked, when the slot\n       that unlocked it was\n       removed\nstate  /s"
    ),
    ("ok     it answers as a process", 20, "ok     it answers as\n       a process"),
    ("one-word-that-is-much-too-long and more", 12, "one-word-that-is-much-too-long\nand more"),
    ("a deep column of a table          text that is long", 40, "a deep column of a table          text that is long"),
  ])
  func `a line is broken between words, and its rest begins below its text`(
    _ text: String, _ width: Int, _ wrapped: String
  ) {
    #expect(text.wrapped(at: width) == wrapped)
  }

  @Test(arguments: [
    (
      "- the device is detached; attach it with: liquid-auth device attach",
      "- the device is detached; attach it\n  with: liquid-auth device attach"
    ),
    (
      "!!    pinentry  there is none; install it with: sudo apt-get install pinentry-gtk2",
      "!!    pinentry  there is none; install\n                it with:\n                sudo apt-get install pinentry-gtk2"
    ),
    (
      "cannot write /s: Permission denied; check the permissions of it",
      "cannot write /s: Permission denied;\ncheck the permissions of it"
    ),
  ])
  func `a command stays on one line`(_ text: String, _ wrapped: String) {
    #expect(text.wrapped(at: 38) == wrapped)
  }
}
