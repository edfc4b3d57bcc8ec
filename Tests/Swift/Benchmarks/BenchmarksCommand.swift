import ArgumentParser
import Glibc

/// The command that `scripts/bench` runs: prints tables of ratios within one run, without judging them.
struct BenchmarksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "benchmarks", abstract: "Measures the authenticator against floors beside it.",
    subcommands: [
      Measure.self, MeasurePrograms.self, ConstantTime.self, Echo.self, WrongTries.self, Repeat.self, Fill.self,
      CompareSecret.self,
    ],
    defaultSubcommand: Measure.self)

  /// Parses the command line and runs.
  static func start() async { await main() }
}

/// The measurements, in the order of the tables.
struct Measure: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measures everything.")

  @Option(help: "Where the programs of a release build are.")
  var bin: String
  @Option(help: "Where Tests/EndToEnd/support/pinentry.py is.")
  var pinentry: String
  @Option(help: "An empty directory of our own on a real disk, for vaults and stores.")
  var folder: String
  @Option(help: "How often each thing is done; the 99th percentile wants some hundreds.")
  var samples = 2000
  @Option(help: "How many passkeys the largest store holds, beside those of 10 and 10000.")
  var credentials = 10_000

  func validate() throws {
    guard samples >= 10, credentials >= 10 else { throw ValidationError("at least 10 of each") }
  }

  func run() async throws {
    let programs = Programs(bin: bin, pinentry: pinentry)
    var stores: [StoredPasskeys] = []
    for count in Set([10, credentials] + (credentials > 10_000 ? [10_000] : [])).sorted() {
      stores.append(try await StoredPasskeys(folder: "\(folder)/\(count)", count: count))
    }
    try SignIn(programs: programs, stores: stores, samples: samples).measure()
    try await EmptyAllowList(programs: programs, folder: folder, samples: samples).measure()
    try Enumeration(programs: programs, stores: stores).measure()
    try Backups(stores: stores).measure()
    // Last of these: it stores one passkey more.
    try await Registration(folder: folder, stores: stores, samples: samples).measure()
    try WholeRequests(programs: programs, folder: folder, samples: samples).measure()
    try Footprint(programs: programs, folder: folder).measure()
  }
}

/// The measurements for which the programs make the vault themselves.
struct MeasurePrograms: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "measure-programs", abstract: "Measures programs, also of an earlier version.")

  @Option(help: "Where the programs of a release build are.")
  var bin: String
  @Option(help: "Where Tests/EndToEnd/support/pinentry.py is.")
  var pinentry: String
  @Option(help: "An empty directory of our own on a real disk, for the vault.")
  var folder: String
  @Option(help: "How often each thing is done, at most 200 times.")
  var samples = 200

  func validate() throws {
    guard samples >= 10 else { throw ValidationError("at least 10 samples") }
  }

  func run() throws {
    try WholeRequests(programs: Programs(bin: bin, pinentry: pinentry), folder: folder, samples: samples).measure()
  }
}

/// The programs under test, and those that the measurements need.
struct Programs {
  let bin: String
  let pinentry: String

  var daemon: String { bin + "/liquid-authenticator" }
  var command: String { bin + "/liquid-auth" }
  /// The running program itself.
  let benchmarks = "/proc/self/exe"
}

/// The reason that a measurement failed.
struct BenchmarkError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }

  static func system(_ action: String) -> BenchmarkError {
    BenchmarkError("cannot \(action): \(String(cString: strerror(errno)))")
  }
}
