/// One command: what it is called, what it takes, what it does.
struct Command: Sendable {
  let name: String
  let summary: String
  /// What follows `subledger name` in the usage line.
  let usage: String
  let flags: [Flag]
  /// What may follow the name beside flags and what the user calls things by, for completions.
  var words: [String] = []
  let example: String
  let action: @Sendable (Arguments) throws(CommandError) -> ExitCode

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

    static let json = Flag("--json", "print JSON, one object a line")
    static let environment = Flag("--environment", "E", "Production (the default) or Sandbox")
    static let bundle = Flag("--bundle-id", "ID", "needed only where two apps share the id")
    static let asOf = Flag("--as-of", "T", "as of this time by Apple's clock (signed by then)")
    static let knownAt = Flag("--known-at", "T", "as far as was known (received) by then")
    static let common = [
      Flag("--data", "DIR", "the data folder; also SUBLEDGER_DATA"),
      Flag("--config", "FILE", "the configuration; also SUBLEDGER_CONFIG"),
    ]
  }

  func run(_ words: [String]) -> ExitCode {
    if words.contains("--help") || words.contains("-h"), name != "simulate" {
      Terminal.print(help)
      return .good
    }
    do throws(CommandError) {
      if name == "simulate" { return SimulateArguments.run(words) }
      let flags = flags + Flag.common
      return try action(
        try Arguments(
          words, valued: flags.filter { $0.value != nil }.map(\.name),
          plain: flags.filter { $0.value == nil }.map(\.name)))
    } catch {
      Terminal.error("subledger \(name): \(error.text)")
      if case .usage = error { Terminal.error("see: subledger \(name) --help") }
      return ExitCode(error)
    }
  }

  var help: String {
    var lines = ["subledger \(name) \(usage)", "", summary, ""]
    for flag in flags + Flag.common {
      let left = flag.name + (flag.value.map { " \($0)" } ?? "")
      lines.append("  " + left.padded(to: 22) + flag.meaning)
    }
    lines += ["", "Example:", "  \(example)"]
    return lines.joined(separator: "\n")
  }
}

extension String {
  /// At least so many columns wide; text that is wider keeps one space behind it.
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }
}

/// All commands, in the order the help shows them.
enum CommandTable {
  static let commands: [Command] = [
    Command(
      name: "init",
      summary:
        "Makes what a first start needs: a commented configuration, the data folder, a read\n"
        + "token, a systemd unit, TLS for nginx and Caddy; and says what is left to do, with what\n"
        + "to enter in App Store Connect. Never overwrites.",
      usage: "[--bundle-id ID --app-apple-id N] [--host NAME]", flags: InitCommand.flags,
      example: "subledger init --bundle-id com.example.app --app-apple-id 123456789 "
        + "--host subledger.example.com",
      action: InitCommand.run),
    Command(
      name: "serve", summary: "Runs the daemon: takes notifications, answers questions.",
      usage: "[--listen HOST:PORT]", flags: ServeCommand.flags,
      example: "subledger serve --config /etc/subledger/config.json", action: ServeCommand.run),
    Command(
      name: "ingest",
      summary:
        "Journals notifications from NDJSON, one POST body a line, through the same door as\n"
        + "the network; lines {\"received_at_ms\":…,\"body\":{…}} keep their receive time. Works\n"
        + "beside a running daemon too. Stops at the first bad line and names it.",
      usage: "FILE|-",
      flags: [
        .init("--skip-bad", "go on behind bad lines"),
        .init("--keep-chain", "into an empty folder: places and hashes as exported"), .json,
      ],
      example: "subledger ingest notifications.ndjson --data /var/lib/subledger",
      action: IngestCommand.run),
    Command(
      name: "entitlement", summary: "What a customer may use: one row, now or at a past moment.",
      usage: "OTID", flags: [.environment, .bundle, .asOf, .knownAt, .json],
      example: "subledger entitlement 2000000000000001 --as-of 2026-01-31T10:00:00Z",
      action: EntitlementCommand.run),
    Command(
      name: "history",
      summary:
        "One customer's timeline, newest last: each event in plain words, what it changed, if it\n"
        + "was late or came again, and what is in quarantine about the same customer.",
      usage: "OTID",
      flags: [
        .environment, .bundle, .asOf, .knownAt,
        .init("--raw", "with what Apple's notifications say, decoded"), .json,
      ],
      example: "subledger history 2000000000000001 --raw", action: HistoryCommand.run),
    Command(
      name: "explain",
      summary:
        "Why a row is what it is: for each field the event that set it and the rule that let it\n"
        + "win; why there is access or none, and what will change that next.",
      usage: "OTID", flags: [.environment, .bundle, .asOf, .knownAt, .json],
      example: "subledger explain 2000000000000001 --as-of 2026-01-31T10:00:00Z",
      action: ExplainCommand.run),
    Command(
      name: "events", summary: "The journal by seq, filtered.",
      usage: "[filters]", flags: EventsCommand.flags,
      example: "subledger events --type REFUND --since 2026-01-01 --json",
      action: EventsCommand.run),
    Command(
      name: "rebuild",
      summary:
        "Folds the whole journal into new rows beside the live ones. --diff says whom that\n"
        + "changes, --apply makes them live, --rollback goes back; readers never wait.",
      usage: "[--diff | --apply | --rollback | --list | --prune | --only OTID]",
      flags: RebuildCommand.flags,
      example: "subledger rebuild --diff --output changes.csv --fail-on lost-access",
      action: RebuildCommand.run),
    Command(
      name: "verify",
      summary: "Checks every promise on the data at rest: the chain, every signature as of its\n"
        + "signedDate, columns against bodies, rows against a refold, quarantine; and whether\n"
        + "anchors that were kept elsewhere still hold. Changes nothing.",
      usage: "[--anchors FILE | --only OTID | --bundle FILE]", flags: VerifyCommand.flags,
      example: "subledger verify --anchors /mnt/elsewhere/anchors.ndjson --anchor-key public.pem",
      action: VerifyCommand.run),
    Command(
      name: "anchor",
      summary:
        "Prints the head of the journal as one signed line, to be kept where the journal's owner\n"
        + "cannot change it; verify --anchors holds the journal to it later. Works beside a\n"
        + "running daemon.",
      usage: "[--append FILE] | --public-key", flags: AnchorCommand.flags,
      example: "subledger anchor --append /mnt/elsewhere/anchors.ndjson",
      action: AnchorCommand.run),
    Command(
      name: "export",
      summary:
        "Writes the journal as NDJSON, one event a line with its place and hash, which ingest\n"
        + "takes again elsewhere. Works beside a running daemon.",
      usage: "[--output FILE]", flags: ExportCommand.flags,
      example: "subledger export --compress --output journal.ndjson.zst",
      action: ExportCommand.run),
    Command(
      name: "backup",
      summary:
        "Makes a backup: the journal as of one moment, checked before the folder has its name.\n"
        + "Works beside a running daemon. Never overwrites. --check looks at an old one.",
      usage: "FOLDER | --check FOLDER", flags: BackupCommand.flags,
      example: "subledger backup /mnt/backups/subledger-2026-01-31", action: BackupCommand.run),
    Command(
      name: "restore",
      summary:
        "Checks a backup and copies it into an empty data folder, or one that is not there. The\n"
        + "backup stays as it is. Says what to do next.",
      usage: "FOLDER", flags: [.json],
      example: "subledger restore /mnt/backups/subledger-2026-01-31 --data /var/lib/subledger",
      action: RestoreCommand.run),
    Command(
      name: "quarantine",
      summary: "What was genuine and not admitted. 'admit' puts one through the door again, after\n"
        + "the configuration was mended; 'drop' removes one for good.",
      usage: "list | admit ID | drop ID",
      flags: [.init("--limit", "N", "list at most so many (100)"), .json],
      words: ["list", "admit", "drop"], example: "subledger quarantine list",
      action: QuarantineCommand.run),
    Command(
      name: "doctor",
      summary:
        "Looks at everything an operator would look at: configuration, permissions, clock, disk,\n"
        + "libraries, roots, chains, silence, quarantine, rows, anchors. Says what to do about\n"
        + "each finding. Works beside a running daemon and changes nothing.",
      usage: "", flags: [.json], example: "subledger doctor --config /etc/subledger/config.json",
      action: DoctorCommand.run),
    Command(
      name: "simulate", summary: "A local App Store: signs and sends notifications.",
      usage: "ca DIR | run … | list", flags: [], words: ["ca", "run", "list"],
      example: "subledger simulate run --fleet 100 --output fleet.ndjson",
      action: { _ throws(CommandError) in .usage }),
    Command(
      name: "demo",
      summary: "Shows the main job: a simulated App Store, the daemon, and one customer.",
      usage: "[--listen HOST:PORT]",
      flags: [.init("--listen", "HOST:PORT", "where to listen; a free port by default")],
      example: "subledger demo --data .demo", action: DemoCommand.run),
    Command(
      name: "completions", summary: "Prints completions for a shell, made from this very table.",
      usage: "bash | zsh | fish", flags: [], words: ["bash", "zsh", "fish"],
      example: "subledger completions bash > /etc/bash_completion.d/subledger",
      action: Completions.run),
    Command(
      name: "man", summary: "Prints the manual page.", usage: "", flags: [],
      example: "subledger man > /usr/local/share/man/man1/subledger.1",
      action: ManualPage.run),
    Command(
      name: "version", summary: "Versions of the program, the fold and the libraries.", usage: "",
      flags: [.json], example: "subledger version --json",
      action: { words throws(CommandError) in VersionCommand.run(words) }),
  ]

  static var help: String {
    var lines = [
      "subledger <command> [--data DIR] [--config FILE] …", "",
      "The truth about App Store customers, from Apple's signed notifications.", "",
    ]
    for command in commands {
      let line = command.summary.split(separator: "\n")[0]
      lines.append("  " + command.name.padded(to: 14) + line)
    }
    lines += [
      "", "subledger <command> --help says more, with an example.",
      "Exit codes: 0 good, 1 findings, 2 usage, 3 unavailable, 4 data of a newer version.",
    ]
    return lines.joined(separator: "\n")
  }
}
