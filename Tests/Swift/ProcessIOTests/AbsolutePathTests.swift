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

  @Test func `only a relative path is changed`() throws {
    for path in ["", "/", "/a/./b/", "/home/me"] { #expect(absolutePath(path) == path) }
    let bytes = try #require(getcwd(nil, 0))
    defer { free(bytes) }
    #expect(absolutePath("a/b") == absolutePath("a/b", in: String(cString: bytes)))
  }
}
