import Glibc

/// The durations of an operation, in nanoseconds.
struct Samples {
  private var nanoseconds: [UInt64] = []

  /// Measures one more run.
  mutating func measure<R, Failure>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
    let start = Self.now
    let result = try body()
    nanoseconds.append(Self.now - start)
    return result
  }

  /// Measures one more run, which may suspend.
  mutating func measure<R>(_ body: () async throws -> R) async rethrows -> R {
    let start = Self.now
    let result = try await body()
    nanoseconds.append(Self.now - start)
    return result
  }

  /// The smallest value that `percent` of the samples do not exceed.
  func percentile(_ percent: Int) -> UInt64 {
    let sorted = nanoseconds.sorted()
    return sorted.isEmpty ? 0 : sorted[(sorted.count - 1) * percent / 100]
  }

  var median: UInt64 { percentile(50) }

  /// The sum of all samples.
  var total: UInt64 { nanoseconds.reduce(0, +) }

  /// The time since the start of the machine, in nanoseconds.
  static var now: UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }
}

/// A subject and its floor, measured by turns in the same minute.
struct Comparison {
  let name: String
  /// The number of stored passkeys.
  let stored: Int
  var floor = Samples()
  var subject = Samples()

  /// Prints a table; the last column is the ratio to the median with the fewest stored passkeys.
  static func table(_ title: String, _ comparisons: [Comparison]) {
    let header = ["", "stored", "median", "floor", "ratio", "p99", "floor", "ratio", "growth"]
    let rows = comparisons.map { comparison in
      let fewest = comparisons.filter { $0.name == comparison.name }.min { $0.stored < $1.stored } ?? comparison
      return [comparison.name, "\(comparison.stored)"] + comparison.cells
        + [Text.ratio(comparison.subject.median, to: fewest.subject.median)]
    }
    Text.table(title, [header] + rows)
  }

  private var cells: [String] {
    [50, 99].flatMap { percent in
      let (subject, floor) = (subject.percentile(percent), floor.percentile(percent))
      return [Text.microseconds(subject), Text.microseconds(floor), Text.ratio(subject, to: floor)]
    }
  }
}

/// Numbers and tables for people.
enum Text {
  static func microseconds(_ nanoseconds: UInt64) -> String { "\((nanoseconds + 500) / 1000) µs" }

  static func time(_ nanoseconds: UInt64) -> String {
    nanoseconds < 10_000_000 ? microseconds(nanoseconds) : decimal(Double(nanoseconds) / 1_000_000, 1) + " ms"
  }

  static func kilobytes(_ kilobytes: UInt64) -> String { decimal(Double(kilobytes) / 1024, 1) + " MB" }

  static func ratio(_ a: UInt64, to b: UInt64) -> String { b == 0 ? "–" : decimal(Double(a) / Double(b), 2) + " ×" }

  static func decimal(_ value: Double, _ places: Int) -> String {
    let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
    let number = Int((value * Double(scale)).rounded())
    let fraction = String(number % scale)
    return "\(number / scale)." + String(repeating: "0", count: places - fraction.count) + fraction
  }

  /// Prints a table that is also Markdown.
  static func table(_ title: String, _ rows: [[String]]) {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    func line(_ cells: [String]) -> String {
      let padded = cells.indices.map { column in
        let space = String(repeating: " ", count: widths[column] - cells[column].count)
        return column == 0 ? cells[column] + space : space + cells[column]
      }
      return "| " + padded.joined(separator: " | ") + " |"
    }
    let rule = widths.indices.map { String(repeating: "-", count: widths[$0] + 1) + ($0 == 0 ? "-" : ":") }
    print("\(title)\n")
    print(line(rows[0]))
    print("|" + rule.joined(separator: "|") + "|")
    rows.dropFirst().forEach { print(line($0)) }
    print()
    fflush(nil)
  }
}
