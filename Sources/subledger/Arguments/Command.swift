import Ledger
import Platform
import Queries

/// One command: its name, its arguments, its help, and what runs it.
struct Command: Sendable {
  let name: String
  /// One line, for the list of commands.
  let summary: String
  /// The rest of the description; empty if the summary says it all.
  var details = ""
  /// What follows `subledger NAME` in the usage line.
  let usage: String
  let flags: [Flag]
  /// The flags that it shares with other commands.
  var common = Flag.common
  /// The operands that are fixed words, such as `list` of `quarantine`, for completions.
  var operands: [String] = []
  let example: String
  let action: @Sendable (Arguments) throws(LedgerError) -> ExitCode

  struct Flag: Sendable {
    let name: String
    /// What the value is; nil for a flag that takes none.
    let value: String?
    let meaning: String

    init(_ name: String, _ value: String, _ meaning: String) {
      self.name = name
      self.value = value
      self.meaning = meaning
    }

    init(_ name: String, _ meaning: String) {
      self.name = name
      value = nil
      self.meaning = meaning
    }

    static let json = Flag("--json", "print JSON, one object per line")
    static let environment = Flag("--environment", "E", "Production (the default) or Sandbox")
    static let bundle = Flag("--bundle-id", "ID", "needed only where two apps share the id")
    static let asOf = Flag("--as-of", "T", "what Apple had signed by this time")
    static let knownAt = Flag("--known-at", "T", "what the daemon had received by this time")
    static let knowledge = Flag(
      "--knowledge", "now", "with --as-of: from all that is known now, whenever Apple signed it")
    static let help = Flag("--help", "print help with an example")
    static let common = [
      Flag("--data", "DIR", "the data folder; also SUBLEDGER_DATA"),
      Flag(
        "--config", "FILE",
        "the configuration; also SUBLEDGER_CONFIG; else \(Configuration.usualFile), if it exists"),
    ]
  }

  /// Runs the command, prints its error, and returns its exit code.
  func run(_ arguments: [String]) -> ExitCode {
    if name == "simulate" { return SimulateCommand.run(arguments) }
    if arguments.contains("--help") || arguments.contains("-h") {
      Terminal.print(help)
      return .good
    }
    return Self.perform(name) { () throws(LedgerError) in
      let flags = flags + common
      return try action(
        try Arguments(
          arguments, valued: flags.filter { $0.value != nil }.map(\.name),
          plain: flags.filter { $0.value == nil }.map(\.name)))
    }
  }

  /// Runs an action of a command, prints its error, and returns the exit code.
  ///
  /// - Parameter page: whose help a usage error names; nil for the command's.
  static func perform(
    _ name: String, page: String? = nil, _ action: () throws(LedgerError) -> ExitCode
  ) -> ExitCode {
    do throws(LedgerError) {
      return try action()
    } catch {
      Terminal.error("subledger \(name): \(error.description)", .red)
      if [.usage, .ambiguous].contains(error.code) {
        Terminal.error("see: subledger \(page ?? name) --help")
      }
      Terminal.tellConfiguration()
      return ExitCode(error)
    }
  }

  var help: String {
    var lines = TextWrapper()
    lines.add("subledger \(name)" + (usage.isEmpty ? "" : " " + usage))
    for paragraph in [summary, details] where !paragraph.isEmpty {
      lines.addBlank()
      lines.add(paragraph)
    }
    lines.addBlank()
    for flag in flags + common {
      let left = flag.name + (flag.value.map { " \($0)" } ?? "")
      if left.count < 22 {
        lines.add(left.padded(to: 22) + flag.meaning, indent: 2, hanging: 24)
      } else {
        lines.add(left, indent: 2)
        lines.add(flag.meaning, indent: 24)
      }
    }
    lines.addBlank()
    lines.add("Example:")
    lines.add(example, indent: 2)
    return lines.text
  }
}

extension String {
  /// The text at the right end of at least `width` columns.
  func padded(left width: Int) -> String {
    String(repeating: " ", count: max(0, width - count)) + self
  }

  /// The text, at least `width` columns wide, with at least one space at its end.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }
}
