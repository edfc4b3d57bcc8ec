extension StringProtocol {
  /// Whether the text is exactly this one, byte for byte.
  ///
  /// `==` compares normal forms. To make one takes a time that grows with the square of the number of combining marks in
  /// a row, so do not use it for a text of a server or a dApp.
  func isSame(as text: some StringProtocol) -> Bool { utf8.elementsEqual(text.utf8) }
}
