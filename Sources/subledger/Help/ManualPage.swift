import Ledger
import Platform

/// The manual pages, made from the tables that `--help` and `help` print (man(7), man-pages(7)).
enum ManualPage: String, CaseIterable {
  case subledger
  case configuration = "subledger-config"

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    var page = ManualPage.subledger
    if !arguments.operands.isEmpty {
      let name = try arguments.operand("a manual page")
      guard let named = ManualPage(rawValue: name) else {
        let names = allCases.map(\.rawValue).joined(separator: " and ")
        throw .usage("there is no manual page '\(name)'; the pages are \(names)")
      }
      page = named
    }
    Terminal.print(page.text)
    return .good
  }

  private var text: String {
    let lines =
      switch self {
      case .subledger: Self.commandsPage
      case .configuration: Self.configurationPage
      }
    return lines.joined(separator: "\n")
  }

  /// When the pages were last changed by hand.
  private static let date = "2026-11-23"

  /// The first lines of a page. Without hyphenation (`.nh`), names can be searched and copied.
  private static func title(_ name: String, _ section: Int, _ manual: String) -> [String] {
    [
      ".TH \(name) \(section) \"\(date)\" \"subledger \(Subledger.version)\" \"\(manual)\"", ".nh",
      ".ad l",
    ]
  }

  // MARK: subledger(1)

  private static var commandsPage: [String] {
    var lines = title("SUBLEDGER", 1, "User Commands")
    lines += [
      ".SH NAME", "subledger \\- a verified journal of App Store notifications",
      ".SH SYNOPSIS", ".B subledger", ".I command",
      "[\\fB\\-\\-data\\fR \\fIDIR\\fR] [\\fB\\-\\-config\\fR \\fIFILE\\fR] ...",
      ".SH DESCRIPTION",
      Roff.escaped(
        "Receives Apple's App Store Server Notifications, proves each one, appends it once to a "
          + "journal that never changes, and folds the journal into one entitlement row per "
          + "original transaction id. All commands but sink work whether the daemon runs or not."),
      ".SH COMMANDS",
    ]
    for command in CommandTable.commands { lines += section(command) }
    lines += [".SH OPTIONS", "Of every command:"]
    for flag in Command.Flag.common + [.help] { lines += entry(flag) }
    lines += [".SH EXIT STATUS"]
    for code in ExitCode.allCases {
      lines += Roff.entry(Roff.bold("\(code.rawValue)"), code.meaning)
    }
    return lines + surroundings
  }

  private static func section(_ command: Command) -> [String] {
    var lines = [".SS \"\(Roff.escaped(command.name))\"", ".B subledger \(command.name)"]
    if !command.usage.isEmpty { lines.append(Roff.escaped(command.usage)) }
    for paragraph in [command.summary, command.details] where !paragraph.isEmpty {
      lines += [".PP", Roff.escaped(paragraph)]
    }
    for flag in command.flags { lines += entry(flag) }
    return lines + [".PP", "Example:"] + Roff.code(command.example)
  }

  private static func entry(_ flag: Command.Flag) -> [String] {
    let value = flag.value.map { " " + Roff.italic($0) } ?? ""
    return Roff.entry(Roff.bold(flag.name) + value, flag.meaning)
  }

  /// Variables, signals and files.
  private static var surroundings: [String] {
    var lines = [".SH ENVIRONMENT"]
    for (name, meaning) in [
      (
        "SUBLEDGER_CONFIG, SUBLEDGER_DATA, SUBLEDGER_LISTEN, SUBLEDGER_LOG_LEVEL",
        "Used where the flag of the same name is not given. They win over the configuration file."
      ),
      (
        "NOTIFY_SOCKET",
        "The socket on which a service manager hears that the daemon is ready and alive."
      ), ("CREDENTIALS_DIRECTORY", "The folder in which V1 secrets and keys are looked up first."),
    ] {
      lines += Roff.entry(Roff.bold(name), meaning)
    }
    lines.append(".SH SIGNALS")
    lines += Roff.entry(
      Roff.bold("SIGTERM, SIGINT"), "The daemon finishes the requests in flight and ends.")
    lines += Roff.entry(
      Roff.bold("SIGHUP"),
      "The daemon reloads apps, tokens, roots, durations and log level of the configuration.")
    lines.append(".SH FILES")
    lines += Roff.entry(
      Roff.italic(Configuration.usualFile),
      "The configuration that init writes, and that every command reads unless another is named.")
    lines += Roff.entry(
      Roff.italic("/var/lib/subledger"), "The data folder, if no other one is configured.")
    return lines + [".SH SEE ALSO", ".BR subledger\\-config (5)"]
  }

  // MARK: subledger-config(5)

  private static var configurationPage: [String] {
    title("SUBLEDGER\\-CONFIG", 5, "File Formats") + [
      ".SH NAME", "subledger\\-config \\- the configuration file of subledger",
      ".SH SYNOPSIS", ".I /etc/subledger/config.json",
    ] + Roff.lines(ConfigurationTopic.document) + [".SH SEE ALSO", ".BR subledger (1)"]
  }
}
