import CBOR
import CTAP2
import Glibc
import Vault

/// The cost of an idle daemon: memory, wake-ups, start and size.
struct Footprint {
  let programs: Programs
  let folder: String

  /// Seconds until Dispatch's spare threads have ended, each with one last wake-up.
  private static let settling: UInt32 = 12
  private static let idle: UInt32 = 10
  private static let starts = 25

  func measure() throws {
    let key = try KeyInUse(folder: folder + "/footprint", cost: .standard)
    var rows = [["of liquid-authenticator", "value"]]
    rows += try afterOneCeremony(key)
    rows.append(["start to device visible, median of \(Self.starts)", try startUp(key)])
    rows += try sizes()
    Text.table("Footprint.", rows)
  }

  /// A locked vault, then a registration: two dialogs, Argon2id at its standard cost, one durable write.
  private func afterOneCeremony(_ key: KeyInUse) throws -> [[String]] {
    let daemon = try ChildProcess(
      programs.daemon, key.arguments(programs), log: key.folder + "/daemon.log", environment: KeyInUse.environment)
    var client = try Client(connectingTo: key.folder + "/ctap.sock")
    _ = try client.ask(
      client.reports(
        MakeCredential.code,
        [
          1: .bytes([UInt8](0..<32)), 2: ["id": "example.com"], 3: ["id": .bytes([1]), "name": "alice"],
          4: [["alg": -7, "type": "public-key"]], 7: ["rk": true, "uv": true],
        ]))
    sleep(Self.settling)
    let status = ProcessStatus(of: daemon.id)
    let before = Self.wakeUps(of: daemon.id)
    sleep(Self.idle)
    let after = Self.wakeUps(of: daemon.id)
    return [
      ["resident memory, unlocked, after one ceremony", Text.kilobytes(UInt64(status["VmRSS"]))],
      ["  of which its own (anonymous)", Text.kilobytes(UInt64(status["RssAnon"]))],
      ["wake-ups in \(Self.idle) s, idle, all \(after.threads) threads", "\(after.switches - before.switches)"],
    ]
  }

  /// The time from exec to an accepted connection, beside a program that does nothing.
  private func startUp(_ key: KeyInUse) throws -> String {
    var (subject, floor) = (Samples(), Samples())
    for _ in 0..<Self.starts {
      _ = try floor.measure { try ChildProcess("/bin/true", []).wait() }
      try subject.measureStart(of: key, programs)
    }
    let milliseconds = { (samples: Samples) in Text.decimal(Double(samples.median) / 1_000_000, 1) + " ms" }
    return "\(milliseconds(subject)) (/bin/true: \(milliseconds(floor)))"
  }

  private func sizes() throws -> [[String]] {
    let stripped = folder + "/stripped"
    try run("/usr/bin/strip", ["-o", stripped, programs.daemon], log: folder + "/strip.log")
    return try [("size", programs.daemon), ("size, stripped", stripped)].map { name, path in
      var file = stat()
      guard stat(path, &file) == 0 else { throw BenchmarkError.system("find \(path)") }
      return [name, Text.decimal(Double(file.st_size) / 1_000_000, 1) + " MB"]
    }
  }

  // MARK: - /proc

  /// The number of context switches of all threads: a thread that wakes is switched out once more.
  private static func wakeUps(of process: pid_t) -> (switches: Int, threads: Int) {
    var (switches, threads) = (0, 0)
    guard let directory = opendir("/proc/\(process)/task") else { return (0, 0) }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard let thread = Int(name) else { continue }
      let status = ProcessStatus(path: "/proc/\(process)/task/\(thread)/status")
      switches += status["voluntary_ctxt_switches"] + status["nonvoluntary_ctxt_switches"]
      threads += 1
    }
    return (switches, threads)
  }
}

extension Samples {
  /// Measures the time from exec to an accepted connection.
  mutating func measureStart(of key: KeyInUse, _ programs: Programs) throws {
    let daemon = try measure {
      let daemon = try ChildProcess(programs.daemon, key.arguments(programs), log: key.folder + "/daemon.log")
      _ = try ReportSocket.connect(to: key.folder + "/ctap.sock")
      return daemon
    }
    daemon.stop()
  }
}

/// The fields of a status file.
struct ProcessStatus {
  private let values: [String: String]

  init(of process: pid_t) { self.init(path: "/proc/\(process)/status") }

  init(path: String) {
    let descriptor = open(path, O_RDONLY)
    var bytes = [UInt8](repeating: 0, count: 8192)
    let count = read(descriptor, &bytes, bytes.count)
    close(descriptor)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    let pairs = text.split(separator: "\n").compactMap { line -> (String, String)? in
      let words = line.split(whereSeparator: { " \t:".contains($0) })
      return words.count >= 2 ? (String(words[0]), String(words[1])) : nil
    }
    values = Dictionary(pairs) { first, _ in first }
  }

  /// A number; 0 if the field is absent.
  subscript(name: String) -> Int { Int(text(name)) ?? 0 }

  /// A word; empty if the field is absent.
  func text(_ name: String) -> String { values[name] ?? "" }
}
