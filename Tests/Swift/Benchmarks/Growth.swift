/// A table of medians with more and more stored, each with its ratio to the first.
struct Growth {
  let counts: [Int]
  private var names: [String] = []
  private var cells: [[String]] = []

  init(_ counts: [Int]) { self.counts = counts }

  /// Adds a row of times.
  mutating func add(_ name: String, _ samples: [Samples]) { add(name, samples.map(\.median), Text.time) }

  /// Adds a row of numbers.
  mutating func add(_ name: String, _ values: [UInt64], _ text: (UInt64) -> String) {
    names.append(name)
    cells.append(
      values.enumerated().flatMap { index, value in
        index == 0 ? [text(value)] : [text(value), Text.ratio(value, to: values[0])]
      })
  }

  func print(_ title: String, of what: String) {
    let header = counts.enumerated().flatMap { index, count in index == 0 ? ["\(count)"] : ["\(count)", "ratio"] }
    Text.table(title, [[what] + header] + zip(names, cells).map { [$0] + $1 })
  }
}

extension Samples {
  /// Measures repeatedly: at least once, at most `times`, and for about three seconds.
  mutating func measure(atMost times: Int, _ body: () throws -> Void) rethrows {
    for _ in 0..<times where total < 3_000_000_000 { try measure(body) }
  }
}
