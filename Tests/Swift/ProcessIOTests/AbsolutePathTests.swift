import Glibc
import Testing

@testable import ProcessIO

@Suite struct AbsolutePathTests {
  @Test(arguments: [
    ("other", "/home/me", "/home/me/other"), ("./a b/", "/home/me", "/home/me/a b"), (".", "/home/me", "/home/me"),
    // The parent of a link is not the directory that the link is in.
    ("../x//y", "/home/me", "/home/me/../x/y"), ("k.sock", "/", "/k.sock"), ("./.", "/", "/"),
  ])
  func `a relative path is taken from the directory`(_ path: String, _ directory: String, _ absolute: String) {
    #expect(absolutePath(path, in: directory) == absolute)
  }

  @Test func `a path that leaves no room for a socket stays relative`() {
    let directory = "/" + String(repeating: "d", count: 91)
    #expect(absolutePath("s", in: directory) == directory + "/s")
    #expect(absolutePath("./st", in: directory) == "./st", "with /control.sock, it would have 108 bytes")
  }

  @Test func `only a relative path is changed`() throws {
    // The last one begins with a character of its own, a slash with an accent.
    for path in ["", "/", "/a/./b/", "/home/me", "/\u{301}"] { #expect(absolutePath(path) == path) }
    let bytes = try #require(getcwd(nil, 0))
    defer { free(bytes) }
    #expect(absolutePath("a/b") == absolutePath("a/b", in: String(cString: bytes)))
  }
}
