import Assuan
import Messages
import TestSupport
import Testing

@testable import liquid_auth_prompt

@Suite struct DialogTests {
  /// Handles lines that come in pieces of `size` bytes; returns the dialog, and the answer to each line.
  private static func run(_ text: String, size: Int) throws -> (Dialog, [String]) {
    var (dialog, answers) = (Dialog(), [String]())
    var memory = [UInt8](repeating: 0, count: 2 * AssuanLine.limit)
    try memory.withUnsafeMutableBytes { memory throws in
      var lines = AssuanLineBuffer(memory: memory)
      var rest = Array(text.utf8)[...]
      while true {
        while let line = try lines.nextLine() {
          let command = try AssuanCommand(line: line)
          do throws(PromptError) { answers.append("\(try dialog.handle(command))") } catch {
            answers.append(error.words)
          }
        }
        let piece = rest.prefix(min(size, lines.free.count))
        if piece.isEmpty { break }
        lines.free.copyBytes(from: piece)
        lines.received(piece.count)
        rest = rest.dropFirst(piece.count)
      }
    }
    return (dialog, answers)
  }

  @Test(arguments: [1, 2, 7, 1000])
  func `a client describes a dialog and asks, whatever the size of the pieces`(size: Int) throws {
    let text = """
      OPTION ttyname=/dev/pts/1
      SETTITLE Liquid Auth
      SETDESC Sign in?%0A%0ASite: a.example
      SETPROMPT Vault passphrase:
      SETOK Sign in
      SETCANCEL Deny
      SETTIMEOUT 30
      SETERROR Wrong passphrase
      GETINFO self-test
      CONFIRM
      GETPIN
      MESSAGE
      BYE

      """
    let (dialog, answers) = try Self.run(text, size: size)
    #expect(
      dialog
        == Dialog(
          title: "Liquid Auth", description: "Sign in?\n\nSite: a.example", label: "Vault passphrase:",
          agree: "Sign in", refuse: "Deny", remark: "Wrong passphrase", limit: .seconds(30)))
    #expect(
      answers == Array(repeating: "nothing", count: 8) + ["selfTest", "confirmation", "passphrase", "message", "end"])
  }

  // Holds: PROMPT-9
  @Test func `unknown commands and malformed limits are refused, and change nothing`() throws {
    let (dialog, answers) = try Self.run("SETTIMEOUT x\nSETTIMEOUT -1\nSETREPEAT\nGETINFO pid\nX\n", size: 1000)
    #expect(dialog == Dialog())
    #expect(
      answers == ["the time limit is not a number", "the time limit is not a number"]
        + Array(repeating: "unknown command", count: 3))
  }

  @Test func `RESET forgets the dialog, and no limit is the default`() throws {
    #expect(
      try Self.run("OPTION notification-menu\nSETDESC a\nSETERROR b\nRESET\nSETTIMEOUT 0\n", size: 1000).0 == Dialog())
  }

  @Test(arguments: [
    ("notification-menu", true), ("notification-menu=no", false), ("ttyname=/dev/pts/1", false), ("", false),
  ])
  func `one option accepts a menu, and others have no effect`(option: String, accepts: Bool) throws {
    var expected = Dialog()
    expected.acceptsMenu = accepts
    #expect(try Self.run("OPTION \(option)\n", size: 1000) == (expected, ["nothing"]))
    // The option stays in effect.
    #expect(try Self.run("OPTION \(option)\nOPTION other\n", size: 1000).0 == expected)
  }
}

@Suite struct NotificationTextTests {
  private static func dialog(_ description: String) -> Dialog {
    var dialog = Dialog()
    dialog.description = description
    return dialog
  }

  @Test(
    arguments: [
      ("Sign in?\n\nSite: a.example\nAccount: x", "Sign in?", "Site: a.example\nAccount: x"),
      ("Sign in?", "Sign in?", ""), ("", "", ""), ("\n\na", "", "a"), ("a\nb\n\nc", "a", "b\n\nc"),
    ])
  func `the first line is the summary, and the other lines are the body`(
    description: String, summary: String, body: String
  ) {
    for isMarkup in [true, false] {
      let text = NotificationText(Self.dialog(description), isMarkup: isMarkup)
      #expect((text.summary, text.body) == (summary, body))
    }
  }

  // Holds: PROMPT-3
  @Test func `markup is escaped where the daemon reads it`() {
    let dialog = Self.dialog("Sign in?\n\nAccount: \"<b>A&amp;</b> <a href='x'>\"")
    #expect(
      NotificationText(dialog, isMarkup: true).body
        == "Account: &quot;&lt;b&gt;A&amp;amp;&lt;/b&gt; &lt;a href=&apos;x&apos;&gt;&quot;")
    #expect(NotificationText(dialog, isMarkup: false).body == "Account: \"<b>A&amp;</b> <a href='x'>\"")
  }
}

@Suite struct AskpassTests {
  @Test func `the text ends with the label of the field, or with the words of the buttons`() throws {
    let askpass = Askpass(program: "askpass", catalogue: .english)
    var dialog = Dialog()
    (dialog.description, dialog.agree, dialog.refuse) = ("Sign in?\n\nSite: a", "Sign in", "Deny")
    #expect(askpass.text(dialog, isConfirmation: false) == "Sign in?\n\nSite: a")
    dialog.label = "Vault passphrase:"
    #expect(askpass.text(dialog, isConfirmation: false) == "Sign in?\n\nSite: a\n\nVault passphrase:")
    #expect(askpass.text(dialog, isConfirmation: true) == "Sign in?\n\nSite: a\n\nOK: Sign in. Cancel: Deny.")
    let german = Askpass(program: "askpass", catalogue: try .german())
    #expect(german.text(dialog, isConfirmation: true).hasSuffix("\n\nOK: Sign in. Abbrechen: Deny."))
    dialog.remark = "Wrong passphrase"
    #expect(
      askpass.text(dialog, isConfirmation: false) == "Wrong passphrase\n\nSign in?\n\nSite: a\n\nVault passphrase:")
    dialog.remark = "This site resembles one that you know."
    #expect(
      askpass.text(dialog, isConfirmation: true)
        == "This site resembles one that you know.\n\nSign in?\n\nSite: a\n\nOK: Sign in. Cancel: Deny.")
  }

  // Holds: PROMPT-11
  @Test(
    arguments: [
      ("", true), ("\n", true), ("\r\n", true), ("yes", true), ("yes\n", true), ("YES\r\n", true), ("yEs", true),
      ("no", false), ("no\n", false), ("y", false), ("yes ", false), (" yes", false), ("yes\nno", false),
      ("\n\n", false), ("\nno", false), ("yess", false), ("\u{19}es", false), ("\r", false), ("0", false),
    ])
  func `a program agrees by printing nothing, or yes`(printed: String, agrees: Bool) {
    let found = Array(printed.utf8).withUnsafeBytes { Askpass.agrees(Askpass.withoutLineEnd($0)) }
    #expect(found == agrees)
  }

  @Test(
    arguments: [("", ""), ("a", "a"), ("a\n", "a"), ("a\n\n", "a\n"), ("a\r\n", "a"), ("a\r", "a\r"), ("\n", "")])
  func `one line end is removed`(printed: String, passphrase: String) {
    let found = Array(printed.utf8).withUnsafeBytes { Array(Askpass.withoutLineEnd($0)) }
    #expect(found == Array(passphrase.utf8))
  }
}
