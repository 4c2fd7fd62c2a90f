package import StrictJSON

/// The exit code and the output of a command.
package struct CommandResult: CustomStringConvertible {
  /// The exit code, or 128 plus the signal that ended it.
  package let code: Int32
  package let output: String
  package let errors: String

  package init(code: Int32, output: String, errors: String) {
    (self.code, self.output, self.errors) = (code, output, errors)
  }

  package var description: String { "exit \(code)\n\(output.suffix(2000))\n\(errors.suffix(2000))" }

  /// Standard output as JSON, one object a line.
  package func lines() throws -> [JSONElement] {
    try output.split(separator: "\n").map { try JSONDocument(parsing: Array($0.utf8)).root }
  }

  package var firstLine: String { output.split(separator: "\n").first.map(String.init) ?? "" }
}

extension [JSONElement] {
  /// A timeline without what time alone changed: old samples have expired by the clock of the day.
  package var withoutTransitions: [JSONElement] {
    filter { $0["object"]?.string != "transition" }
  }
}

extension JSONElement {
  /// The events among the items of a timeline.
  package var events: [JSONElement] {
    self["items"]?.elements.filter { $0["object"]?.string == "event" } ?? []
  }
}
