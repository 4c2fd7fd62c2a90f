/// An error of a test itself, for example that something it needs did not happen in time.
package struct TestFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
