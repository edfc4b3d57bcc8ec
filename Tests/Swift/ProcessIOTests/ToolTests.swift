import ProcessIO
import TestVectors
import Testing

@Suite struct ToolTests {
  @Test func `a program ends with its status and output`() {
    #expect(Tool.run(["sh", "-c", "echo a; echo b >&2; exit 3"], within: .patience) == .ended(3, "a\nb\n"))
    #expect(Tool.run(["sh", "-c", "kill -9 $$"], within: .patience) == .ended(137, ""))
    #expect(Tool.run(["/nonexistent"], within: .patience) == .missing)
  }

  @Test(.limited) func `a program that hangs is ended at its limit, with its children`() {
    #expect(Tool.run(["sh", "-c", "sleep 60000 & sleep 60000"], within: .milliseconds(100)) == .tooSlow)
    #expect(Tool.run(["sh", "-c", "exec >&- 2>&-; sleep 60000"], within: .milliseconds(100)) == .tooSlow)
  }
}
