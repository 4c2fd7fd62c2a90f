import AppStore
import Ledger
import Platform
import Store

/// The arguments of a command, parsed into flags, their values and operands.
struct Arguments {
  private(set) var values: [String: String] = [:]
  private(set) var switches: Set<String> = []
  /// Arguments that are neither a flag nor the value of one, in their order.
  private(set) var operands: [String] = []

  init() {}

  /// - Parameters:
  ///   - valued: flags that take a value, as `--name value` or `--name=value`.
  ///   - plain: flags that take none.
  /// - Throws: `LedgerError.usage` for an unknown flag, a flag given twice, or a missing value.
  init(_ arguments: [String], valued: [String], plain: [String]) throws(LedgerError) {
    var remaining = arguments[...]
    while let argument = remaining.popFirst() {
      guard argument.hasPrefix("--"), argument.count > 2 else {
        operands.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      if plain.contains(name) {
        guard parts.count == 1 else { throw .usage("\(name) takes no value") }
        switches.insert(name)
      } else if valued.contains(name) {
        guard let value = parts.count == 2 ? String(parts[1]) : remaining.popFirst(),
          parts.count == 2 || !(valued + plain).contains(value)
        else { throw .usage("\(name) needs a value") }
        guard values.updateValue(value, forKey: name) == nil else {
          throw .usage("\(name) is given twice")
        }
      } else {
        let suggestion = Suggestion.text(for: name, among: valued + plain + ["--help"])
        throw .usage("unknown flag '\(name)'\(suggestion)")
      }
    }
  }

  subscript(_ name: String) -> String? { values[name] }

  func has(_ name: String) -> Bool { switches.contains(name) }

  /// The one operand of a command that takes exactly one.
  ///
  /// - Parameter expected: what the operand is, for the error.
  /// - Throws: `LedgerError.usage` if there is no operand, or more than one.
  func operand(_ expected: String) throws(LedgerError) -> String {
    guard let operand = operands.first else { throw .usage("missing argument: \(expected)") }
    guard operands.count == 1 else { throw .usage("unexpected argument '\(operands[1])'") }
    return operand
  }

  /// - Throws: `LedgerError.usage` if there is an operand.
  func requireNoOperand() throws(LedgerError) {
    if let operand = operands.first { throw .usage("unexpected argument '\(operand)'") }
  }

  /// The value of a flag in milliseconds since 1970; nil if the flag is not given.
  ///
  /// - Throws: `LedgerError.usage` if the value is not a time.
  func time(_ name: String) throws(LedgerError) -> Int64? {
    guard let text = values[name] else { return nil }
    // Four digits are meant as a year, and would be a moment of 1970.
    guard text.utf8.count != 4, let time = Timestamp.parse(text) else {
      throw .usage("\(name) takes RFC 3339 or milliseconds, such as 2026-01-31T10:00:00Z")
    }
    return time
  }

  /// The value of a flag; nil if the flag is not given.
  ///
  /// - Throws: `LedgerError.usage` if the value is not a whole number in `range`.
  func number(_ name: String, _ range: ClosedRange<Int64>) throws(LedgerError) -> Int64? {
    guard let text = values[name] else { return nil }
    guard let number = Int64(text), range.contains(number) else {
      throw .usage("\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// The value of `--environment`; nil if it is not given.
  ///
  /// - Throws: `LedgerError.usage` if it names no environment.
  func environment() throws(LedgerError) -> Environment? {
    guard let name = values["--environment"] else { return nil }
    let environment = Environment(rawValue: name)
    guard Environment.all.contains(environment) else {
      throw .usage("--environment takes Production or Sandbox")
    }
    return environment
  }

  /// The path of the configuration file; nil if none is given and there is no usual one.
  var configurationFile: String? {
    Configuration.file(named: values["--config"], variables: ProcessEnvironment.variables)
  }

  /// The configuration of flags, `SUBLEDGER_*` variables and file, in this precedence. Tells at the
  /// terminal, once, which file it is.
  ///
  /// - Throws: `LedgerError.configuration` if the file or a value in it is refused.
  func configuration() throws(LedgerError) -> Configuration {
    let file = configurationFile
    if let file { Terminal.tell(configuration: file, isNamed: file != Configuration.usualFile) }
    return try Configuration.load(
      file: file, variables: ProcessEnvironment.variables,
      listen: values["--listen"],
      data: values["--data"], logLevel: values["--log-level"])
  }

  /// The configuration of a command that only reads. If it is refused, a warning says so, and what
  /// can be read of it is returned.
  ///
  /// - Parameter needed: the parts without which the answer could be wrong.
  /// - Throws: `LedgerError.configuration` if the configuration is refused and one of these cannot
  ///   be read.
  func readable(
    _ needed: Set<Configuration.Part>
  ) throws(LedgerError) -> Configuration.Readable {
    let refused: LedgerError
    do throws(LedgerError) {
      return Configuration.Readable(try configuration())
    } catch {
      guard error.code == .configuration else { throw error }
      refused = error
    }
    let found = try partialConfiguration()
    let lacking = found.missing.intersection(needed)
    guard lacking.isEmpty else {
      let hint = lacking.contains(.data) ? "; to read a data folder all the same, give --data" : ""
      throw refused.with(next: (refused.next ?? "") + hint)
    }
    let names = found.missing.map(\.rawValue).sorted().joined(separator: ", ")
    Terminal.error("warning: \(refused)", .yellow)
    Terminal.error(
      "warning: the configuration is not applied; read without it"
        + (needed.contains(.data) ? ": \(found.configuration.data)" : "")
        + (names.isEmpty ? "" : "; not known: \(names)"), .yellow)
    return found
  }

  /// What can be read of a configuration that is refused.
  ///
  /// - Throws: `LedgerError.configuration` for a defect of the libraries.
  func partialConfiguration() throws(LedgerError) -> Configuration.Readable {
    try Configuration.readable(
      file: configurationFile, variables: ProcessEnvironment.variables, data: values["--data"])
  }

  /// The data folder, for a command that reads it and needs nothing else of the configuration.
  ///
  /// - Throws: `LedgerError.configuration` if it is not known which folder that is.
  func readableFolder() throws(LedgerError) -> DataFolder {
    folder(try readable([.data]).configuration)
  }

  /// The data folder of a configuration; a relative path starts at the working directory.
  func folder(_ configuration: Configuration) -> DataFolder {
    DataFolder(path: configuration.data)
  }

  /// The configured data folder, for a command that must not make one.
  ///
  /// - Throws: `LedgerError.configuration`; what the store throws if it holds no journal.
  func journalFolder() throws(LedgerError) -> DataFolder {
    let folder = folder(try configuration())
    try folder.requireJournal()
    return folder
  }
}
