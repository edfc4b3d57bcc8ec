/// Reads the whole number of an option or argument; for any other text, the error gives the range.
package func wholeNumber<Number: FixedWidthInteger & Sendable>(
  _ range: ClosedRange<Number>
) -> @Sendable (String) throws -> Number {
  { text in
    guard let number = Number(text), range.contains(number) else {
      throw OtherText(description: "give a whole number, \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

/// Why a text is refused; the argument parser shows this after the text and the name of the option.
private struct OtherText: Error, CustomStringConvertible {
  let description: String
}
