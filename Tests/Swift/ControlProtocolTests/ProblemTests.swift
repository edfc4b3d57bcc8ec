import CBOR
import ControlProtocol
import Recovery
import Testing

@Suite struct ProblemTests {
  @Test func `a problem with a command ends with it, and has it as the remedy`() {
    let problem = Problem("there is no vault", hint: "make one", with: ["liquid-auth", "setup"], kind: .vault)
    #expect(problem.text == "there is no vault; make one with: liquid-auth setup")
    #expect(problem.remedy == Remedy(["liquid-auth", "setup"]) && problem.remedy?.isSafe == false)
    #expect(Problem("it is damaged").text == "it is damaged")
  }

  private struct Fault: RepairableError {
    let reason = "r"
    let hint: String? = "h"
    let command: [String]? = nil
    let isOfVault = true
  }

  @Test func `an error of the vault or the store keeps its hint and its command`() {
    let words = ["liquid-auth", "log", "verify"]
    #expect(
      Problem(RecoveryError(.rotation, "r", hint: "look at it", with: words))
        == Problem("r", hint: "look at it", with: words))
    #expect(
      Problem(RecoveryError(.store, "r", hint: "move it away and run:", run: words, needsPreparation: true))
        == Problem("r", hint: "move it away and run:", run: words, kind: .prepared))
    #expect(Problem(RecoveryError(.full, "r")) == Problem("r"))
    #expect(Problem(Fault()) == Problem("r", hint: "h", kind: .vault))
  }

  @Test func `the place options follow our own command at the end of the text, which the remedy tells`() {
    let status = ["liquid-auth", "status"]
    #expect(Problem("r", hint: "to see why, run:", run: status).text == "r; to see why, run: liquid-auth status")
    for (problem, isOurs) in [
      (Problem("r", hint: "see why", with: status), true), (Problem("r; run: liquid-auth status"), false),
      (Problem("r; run: liquid-auth status", remedy: Remedy(status)), true),
      (Problem("r", hint: "start it", with: ["liquid-authenticator"]), true),
      (Problem("r", hint: "load it", with: ["sudo", "modprobe", "uhid"]), false), ("r \(1)", false),
    ] as [(Problem, Bool)] {
      #expect(problem.text(with: " --state-dir /s") == problem.text + (isOurs ? " --state-dir /s" : ""))
    }
  }

  @Test func `words before a problem change its reason only`() {
    let problem = Problem("r", hint: "h", with: ["liquid-auth", "lock"], kind: .pin)
    #expect(problem.after("a: ") == Problem("a: r", hint: "h", with: ["liquid-auth", "lock"], kind: .pin))
  }

  @Test func `the place is added to our own commands only`() {
    let remedy = Remedy(["liquid-auth", "init"], ["sudo", "rm", "/x"], ["liquid-authenticator"], isSafe: true)
    #expect(
      remedy.completed(["--control", "/a b"])
        == Remedy(
          ["liquid-auth", "init", "--control", "/a b"], ["sudo", "rm", "/x"],
          ["liquid-authenticator", "--control", "/a b"], isSafe: true))
  }

  @Test func `a problem has its exact members, and crosses the socket whole`() throws {
    #expect(Problem("r").members == [1: 0, 2: "r"])
    let whole = Problem("r", hint: "h", remedy: Remedy(["a", "b c"], ["d"]), kind: .pin)
    #expect(whole.members == [1: 3, 2: "r", 3: "h", 4: ["a", "b c", "", "d"]])
    for kind in Problem.Kind.allCases {
      for problem in [
        whole, Problem("r"), Problem("r", hint: "h"), Problem("r", hint: "h", with: ["a", "b"]),
      ] {
        var problem = problem
        problem.kind = kind
        #expect(try Problem(problem.members) == problem)
      }
    }
  }

  // Holds: DOCTOR-5
  @Test func `no answer of the authenticator makes a remedy safe`() throws {
    let safe = Problem("r", remedy: Remedy(["touch", "/x"], isSafe: true))
    #expect(try Problem(safe.members).remedy == Remedy(["touch", "/x"]))
    #expect(try Problem([1: 0, 2: "r", 4: ["touch", "/x"], 5: true]).remedy == Remedy(["touch", "/x"]))
  }

  @Test func `a kind of a later version is another problem, and a remedy needs commands of words`() throws {
    #expect(try Problem([1: 99, 2: "r"]) == Problem("r"))
    for (members, failure) in [
      ([2: "r"], .missingParameter), ([1: 0], .missingParameter), ([1: 300, 2: "r"], .invalidParameter),
      ([1: 0, 2: 5], .unexpectedType), ([1: 0, 2: "r", 4: []], .unexpectedType),
      ([1: 0, 2: "r", 4: ["a", "", "", "b"]], .unexpectedType), ([1: 0, 2: "r", 4: ["a", 1]], .unexpectedType),
    ] as [(CBORMap, ControlStatus)] {
      #expect(throws: ControlFailure(failure, "")) { try Problem(members) }
    }
  }
}
