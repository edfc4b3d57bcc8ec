import ProcessIO
import Testing

struct WithoutCapitalTests {
  @Test(arguments: [
    ("Missing expected argument '<type>'", "missing expected argument '<type>'"),
    ("SITE is missing", "SITE is missing"),
    ("--pcrs is only for tpm", "--pcrs is only for tpm"),
    ("A value is invalid", "a value is invalid"),
    ("", ""),
  ])
  func `the parser's sentence begins in lower case, unless a name is first`(sentence: String, shown: String) {
    #expect(sentence.withoutCapital == shown)
  }
}
