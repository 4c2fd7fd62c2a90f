import Platform

/// The manual page, made from the table that `--help` is made from (man(7), man-pages(7)).
enum ManualPage {
  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    try words.none()
    Terminal.print(text)
    return .good
  }

  /// Text as roff takes it: nothing at the start of a line is a request, and what looks like a
  /// hyphen is one that can be pasted.
  private static func plain(_ text: String) -> String {
    let safe = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    return safe.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : String(line)
    }.joined(separator: "\n")
  }

  /// Of the page's last change by hand.
  private static let date = "2026-11-21"

  private static var text: String {
    var lines = [
      ".TH SUBLEDGER 1 \"\(date)\" \"subledger \(Subledger.version)\" \"User Commands\"",
      ".SH NAME", "subledger \\- the truth about App Store customers",
      ".SH SYNOPSIS", ".B subledger", ".I command",
      "[\\fB\\-\\-data\\fR \\fIDIR\\fR] [\\fB\\-\\-config\\fR \\fIFILE\\fR] ...",
      ".SH DESCRIPTION",
      plain(
        "Takes Apple's server notifications, proves each, writes it once and for ever into an\n"
          + "append-only journal, and folds the journal into one entitlement row per original\n"
          + "transaction id. All commands work whether the daemon runs or not."),
      ".SH COMMANDS",
    ]
    for command in CommandTable.commands { lines += section(command) }
    lines += ending
    return lines.joined(separator: "\n")
  }

  private static func section(_ command: Command) -> [String] {
    var lines = [".SS \"\(plain(command.name))\"", ".B subledger \(plain(command.name))"]
    if !command.usage.isEmpty { lines.append(plain(command.usage)) }
    lines += [".PP", plain(command.summary)]
    for flag in command.flags { lines += entry(flag) }
    return lines + [".PP", "Example:", ".PP", ".RS 4", ".nf", plain(command.example), ".fi", ".RE"]
  }

  private static func entry(_ flag: Command.Flag) -> [String] {
    let value = flag.value.map { " \\fI\(plain($0))\\fR" } ?? ""
    return [".TP", "\\fB\(plain(flag.name))\\fR\(value)", plain(flag.meaning)]
  }

  private static var ending: [String] {
    var lines = [".SH OPTIONS", "Of every command:"]
    for flag in Command.Flag.common + [.init("--help", "says more, with an example")] {
      lines += entry(flag)
    }
    lines += [".SH EXIT STATUS"]
    for (code, meaning) in [
      ("0", "good"), ("1", "findings: a difference, a broken proof, a refused line"),
      ("2", "usage"), ("3", "unavailable: locked, disk, network"),
      ("4", "the data is of a newer version"),
    ] {
      lines += [".TP", ".B \(code)", plain(meaning)]
    }
    lines += [".SH ENVIRONMENT"]
    for (name, meaning) in [
      (
        "SUBLEDGER_CONFIG, SUBLEDGER_DATA, SUBLEDGER_LISTEN, SUBLEDGER_LOG_LEVEL",
        "as the flags of these names, which win over them; they win over the file"
      ),
      ("NOTIFY_SOCKET", "where a service manager is told that the daemon is ready and alive"),
      ("CREDENTIALS_DIRECTORY", "where V1 secrets are looked for first"),
    ] {
      lines += [".TP", ".B \(plain(name))", plain(meaning)]
    }
    lines += [
      ".SH SIGNALS", ".TP", ".B SIGTERM, SIGINT", "finish what is in flight and end", ".TP",
      ".B SIGHUP", "take over apps, tokens and roots of the configuration",
      ".SH FILES", ".TP", ".I /etc/subledger/config.json",
      "where \\fBinit\\fR puts the configuration",
      ".TP", ".I /var/lib/subledger", "the data folder where none is named",
    ]
    return lines
  }
}
