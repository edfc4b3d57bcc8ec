/// A list of at least one element.
///
/// Used for the items of a prompt and for its dialogs, so that there is no consent without a dialog.
public struct NonEmpty<Element> {
  /// All elements but the last, in order.
  public var before: [Element]
  /// The last element.
  public var last: Element

  public init(_ before: [Element] = [], last: Element) {
    self.before = before
    self.last = last
  }

  /// Takes a list; `nil` if it is empty.
  public init?(_ list: [Element]) {
    guard let last = list.last else { return nil }
    self.init(list.dropLast(), last: last)
  }

  /// All elements, in order.
  public var all: [Element] { before + [last] }
  /// The number of elements, at least 1.
  public var count: Int { before.count + 1 }

  /// The same with each element changed.
  public func map<Changed>(_ change: (Element) -> Changed) -> NonEmpty<Changed> {
    NonEmpty<Changed>(before.map(change), last: change(last))
  }

  /// The same with each element changed; numbers start at 1.
  public func numbered<Changed>(_ change: (Int, Element) -> Changed) -> NonEmpty<Changed> {
    NonEmpty<Changed>(before.enumerated().map { change($0 + 1, $1) }, last: change(count, last))
  }
}

extension NonEmpty: Sendable where Element: Sendable {}
extension NonEmpty: Equatable where Element: Equatable {}
