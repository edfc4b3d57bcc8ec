import Testing

@testable import Messages

/// The names of catalogues that gettext looks for, with these variables.
@Suite struct LanguageChoiceTests {
  @Test(
    arguments: [
      ([:], []), (["LANG": ""], []), (["LANG": "C"], []), (["LANG": "POSIX"], []), (["LANG": "C.UTF-8"], []),
      (["LANG": "en_GB.UTF-8"], []), (["LANG": "de"], ["de"]), (["LANG": "de_DE.UTF-8"], ["de_DE", "de"]),
      (["LANG": "de_DE.UTF-8", "LC_MESSAGES": "fr_FR"], ["fr_FR", "fr"]),
      (["LANG": "de_DE.UTF-8", "LC_MESSAGES": ""], ["de_DE", "de"]),
      (["LANG": "de_DE.UTF-8", "LC_MESSAGES": "fr_FR", "LC_ALL": "it_IT"], ["it_IT", "it"]),
      (["LANG": "de_DE.UTF-8", "LC_ALL": "C"], []), (["LC_CTYPE": "de_DE.UTF-8"], []),
      (["LANG": "sr_RS.UTF-8@latin"], ["sr_RS@latin", "sr@latin", "sr_RS", "sr"]),
      (["LANG": "de_AT@euro"], ["de_AT@euro", "de@euro", "de_AT", "de"]),
      // LANGUAGE is a list, and has an effect only with a locale.
      (["LANG": "en_US.UTF-8", "LANGUAGE": "de_AT:de:fr"], ["de_AT", "de", "fr"]),
      (["LANG": "de_DE.UTF-8", "LANGUAGE": "en:de"], []), (["LANG": "de_DE.UTF-8", "LANGUAGE": "fr:en_US:de"], ["fr"]),
      (["LANG": "de_DE.UTF-8", "LANGUAGE": ""], ["de_DE", "de"]), (["LANGUAGE": "de"], []),
      (["LANG": "C.UTF-8", "LANGUAGE": "de"], []), (["LANG": "de_DE", "LANGUAGE": "::de"], ["de"]),
      // No name leads out of the directory.
      (["LANG": "../../tmp/de"], []), (["LANG": "/tmp/de"], []), (["LANG": "de@../x"], []), (["LANG": "..@x"], []),
      (["LANG": "."], []), (["LANG": "_DE"], []), (["LANG": "de\n"], []), (["LANG": "d\u{E9}"], []),
      (["LANG": "de_DE", "LANGUAGE": "../x:de"], ["de"]),
    ] as [([String: String], [String])])
  func `the names of catalogues come from the locale`(environment: [String: String], names: [String]) {
    #expect(Catalogue.names { environment[$0] } == names)
  }
}
