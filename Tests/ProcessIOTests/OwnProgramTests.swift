import Glibc
import ProcessIO
import Testing

struct OwnProgramTests {
  @Test func `another program of ours lies beside this one`() throws {
    let own = try #require(realpath("/proc/self/exe", nil))
    defer { free(own) }
    let path = String(cString: own)
    let name = try #require(path.split(separator: "/").last)
    #expect(OwnProgram.path(of: String(name)) == path)
    #expect(OwnProgram.path(of: "other") == path.dropLast(name.count) + "other")
  }
}
