import Configuration
import Encoding
import JournalStore
import LedgerEngine
import Platform

/// The words of a command, sorted into flags, values and the rest.
struct Arguments {
  private(set) var values: [String: String] = [:]
  private(set) var switches: Set<String> = []
  private(set) var rest: [String] = []

  init() {}

  /// - Parameters:
  ///   - valued: flags that take a value, as `--name value` or `--name=value`.
  ///   - plain: flags that take none.
  init(_ words: [String], valued: [String], plain: [String]) throws(CommandError) {
    var words = words[...]
    while let word = words.popFirst() {
      guard word.hasPrefix("--"), word.count > 2 else {
        rest.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      if plain.contains(name), parts.count == 1 {
        switches.insert(name)
      } else if valued.contains(name) {
        guard let value = parts.count == 2 ? String(parts[1]) : words.popFirst() else {
          throw .usage("\(name) needs a value")
        }
        guard values.updateValue(value, forKey: name) == nil else {
          throw .usage("\(name) is given twice")
        }
      } else {
        throw .usage("unknown flag '\(name)'")
      }
    }
  }

  subscript(_ name: String) -> String? { values[name] }

  func has(_ name: String) -> Bool { switches.contains(name) }

  /// The only word that is no flag.
  func only(_ what: String) throws(CommandError) -> String {
    guard let word = rest.first else { throw .usage("say \(what)") }
    guard rest.count == 1 else { throw .usage("one \(what) at a time; '\(rest[1])' is too much") }
    return word
  }

  func none() throws(CommandError) {
    if let word = rest.first { throw .usage("'\(word)' is too much") }
  }

  func time(_ name: String) throws(CommandError) -> Int64? {
    guard let text = values[name] else { return nil }
    guard let time = Timestamp.parse(text) else {
      throw .usage("\(name) takes RFC 3339 or milliseconds, such as 2026-01-31T10:00:00Z")
    }
    return time
  }

  func number(_ name: String, _ range: ClosedRange<Int64>) throws(CommandError) -> Int64? {
    guard let text = values[name] else { return nil }
    guard let number = Int64(text), range.contains(number) else {
      throw .usage("\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func environment() throws(CommandError) -> String? {
    guard let name = values["--environment"] else { return nil }
    guard name == "Production" || name == "Sandbox" else {
      throw .usage("--environment takes Production or Sandbox")
    }
    return name
  }

  /// The configuration that flags, variables and file make together.
  func configuration() throws(CommandError) -> Configuration {
    do throws(ConfigurationError) {
      return try Configuration.load(
        file: values["--config"], variables: ProcessEnvironment.variables,
        listen: values["--listen"],
        data: values["--data"], logLevel: values["--log-level"])
    } catch {
      throw .configuration(error)
    }
  }

  /// The data folder of a configuration; relative paths mean the working directory.
  func folder(_ configuration: Configuration) -> DataFolder {
    DataFolder(path: configuration.data)
  }
}
