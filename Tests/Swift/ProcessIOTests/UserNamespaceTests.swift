import Testing

@testable import ProcessIO

struct UserNamespaceTests {
  // Holds: SANDBOX-6
  @Test(
    arguments: [
      ("         0          0 4294967295\n", 0),
      ("      1000       1000          1\n", 65534),
      ("         0       1000          1\n", 65534),
      ("         7          0          1\n      1000       1000          1\n", 7),
      ("0 100000 65536\n1000 0 1\n", 1000),
      ("0 0 0\n", 65534),
      ("0 0\n0 x 1\n", 65534),
      ("", 0),
    ] as [(String, UInt32)])
  func `root has its id in the namespace, or that of all unmapped users`(map: String, root: UInt32) {
    #expect(UserNamespace.root(map: map) == root)
  }
}
