import Delivery
import Platform
import Store

/// All commands, in the order the help shows them.
enum CommandTable {
  /// The commands by what they are for, each group with its heading.
  static let groups: [(heading: String, commands: [Command])] = [
    ("Set up", installing), ("Ask", reading), ("Operate", maintaining), ("Prove", proving),
    ("Try", trying), ("Help", describing),
  ]

  static let commands: [Command] = groups.flatMap(\.commands)

  /// The command with a name; nil if there is none.
  static func command(_ name: String) -> Command? { commands.first { $0.name == name } }

  private static let installing = [
    Command(
      name: "init", summary: "Writes the files that a first start needs.",
      details: "Writes a commented configuration, a systemd unit and TLS proxy files for nginx and "
        + "Caddy, makes the data folder and a read token, and prints the remaining steps, with "
        + "what to enter in App Store Connect. Never overwrites a file.",
      usage: "[--bundle-id ID --app-apple-id N] [--host NAME]", flags: InitCommand.flags,
      example: "subledger init --bundle-id com.example.app --app-apple-id 123456789 "
        + "--host subledger.example.com",
      action: InitCommand.run),
    Command(
      name: "serve", summary: "Runs the daemon: receives notifications, answers requests.",
      details: "SIGTERM and SIGINT finish the requests in flight and end it. SIGHUP reloads the "
        + "configuration without dropping a connection.",
      usage: "[--listen HOST:PORT]", flags: ServeCommand.flags,
      example: "subledger serve --config /etc/subledger/config.json", action: ServeCommand.run),
    Command(
      name: "healthy", summary: "Says whether the daemon takes notifications, for health checks.",
      details: "Asks the daemon on the data folder over its socket what GET /readyz answers, and "
        + "waits five seconds at most. Exits with 0 if it takes notifications, else with 1 and the "
        + "reason.",
      usage: "", flags: [], example: "subledger healthy --data /var/lib/subledger",
      action: HealthyCommand.run),
    Command(
      name: "ingest", summary: "Journals notifications from NDJSON, one POST body per line.",
      details: "Each line is checked like a request to /v1/notifications. Lines "
        + "{\"received_at_ms\":…,\"body\":{…}} keep their receive time. The output of export is "
        + "accepted too, compressed or not, and so are bodies of /v1/transactions and "
        + "/v1/receipts. While a daemon runs, it receives the lines. Blank lines are skipped. "
        + "Stops at the first refused line and names it. Files of bodies that a queue or a dead "
        + "letter box kept are safe to feed: only what Apple signed, or the app's secret proves, "
        + "is taken. What you say yourself (the mapping of products, claims, grants) is signed by "
        + "nobody: such a line is refused, the rest goes on, and the exit code is 1; with "
        + "--keep-chain the mappings of an export are taken.",
      usage: "FILE|-",
      flags: [
        .init("--skip-bad", "continue after refused lines"),
        .init("--keep-chain", "into an empty folder: seq and hash as exported"), .json,
      ],
      example: "subledger ingest notifications.ndjson --data /var/lib/subledger",
      action: IngestCommand.run),
    Command(
      name: "import", summary: "Fills the journal from transaction ids, asking Apple.",
      details: "Takes a file with one transaction id a line, of any kind, or the column of a CSV "
        + "file. Of each customer, Apple's answer with every subscription and transaction is "
        + "proven and journaled. Apple is asked in Production first, within the share of its "
        + "limits that appStore allows. An interrupted import goes on where it stopped. Exits with "
        + "1 if Apple does not know an id, and with 3 if it cannot be asked. Needs appStore in the "
        + "configuration.",
      usage: "FILE", flags: ImportCommand.flags,
      example: "subledger import customers.csv --column original_transaction_id",
      action: ImportCommand.run),
    Command(
      name: "test-notification",
      summary: "Has Apple send a test notification, and follows it into the journal.",
      details: "Prints each step: Apple was asked, each of its attempts with the result, and the "
        + "seq that the journal gave it. If a leg fails, names it and what to look at. Exits with "
        + "1 if one failed, with 3 if Apple cannot be asked or tells of no attempt in time. Needs "
        + "appStore in the configuration, and runs where the daemon's data folder is.",
      usage: "[--app ID] [--environment E]", flags: TestNotificationCommand.flags,
      example: "subledger test-notification --environment Sandbox",
      action: TestNotificationCommand.run),
  ]

  private static let reading = [
    Command(
      name: "entitlement", summary: "Prints one customer's entitlement, now or at a past moment.",
      usage: "OTID", flags: [.environment, .bundle, .asOf, .knownAt, .knowledge, .json],
      example: "subledger entitlement 2000000000000001 --as-of 2026-01-31T10:00:00Z",
      action: EntitlementCommand.run),
    Command(
      name: "customer",
      summary: "Prints what one customer may use by name, and the rows behind it.",
      details: "Answers as GET /v1/customers: every entitlement of the configuration, active or "
        + "not, with what gives it, until when, and what time alone will change. Exits with 1 if "
        + "nothing is known under the id, which says nothing about access.",
      usage: "ID", flags: CustomerCommand.flags,
      example: "subledger customer 0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d",
      action: CustomerCommand.run),
    Command(
      name: "history", summary: "Prints one customer's timeline, newest event last.",
      details: "Each event is shown with its number in the journal, when Apple signed it, what it "
        + "changed, whether it arrived late and how often it was delivered again, and among them "
        + "what time alone changed. Quarantined notifications about the same customer are shown at "
        + "their time. At the end is when Apple, asked for it, last said the same.",
      usage: "OTID", flags: HistoryCommand.flags,
      example: "subledger history 2000000000000001 --raw", action: HistoryCommand.run),
    Command(
      name: "explain", summary: "Prints which event and rule decided each field of an entitlement.",
      details: "Also prints why there is access or not, what time alone decided, and what will "
        + "change that next.",
      usage: "OTID", flags: ExplainCommand.flags,
      example: "subledger explain 2000000000000001 --as-of 2026-01-31T10:00:00Z",
      action: ExplainCommand.run),
    Command(
      name: "events", summary: "Prints the journal in the order of seq, filtered.",
      usage: "[filters]", flags: EventsCommand.flags,
      example: "subledger events --type REFUND --since 2026-01-01 --json",
      action: EventsCommand.run),
    Command(
      name: "lookup", summary: "Finds a customer by an order id, asking Apple.",
      details: "Takes the order id of Apple's mail, a transaction id or an app transaction id. "
        + "Prints the original transaction ids that belong to it, whether this journal has them, "
        + "and the command that shows the history. Apple is asked about every configured app, in "
        + "Production first; what it did not sign does not count. Exits with 1 if Apple does not "
        + "know the id or this journal lacks one, and with 3 if Apple cannot be asked. Needs "
        + "appStore in the configuration.",
      usage: "ID", flags: LookupCommand.flags, example: "subledger lookup MK5J9ZPX1Q",
      action: LookupCommand.run),
    Command(
      name: "refunds", summary: "Lists, shows and answers requests of customers for refunds.",
      details: "Apple asks what you know of a purchase, waits twelve hours, and decides. list has "
        + "the nearest deadline first; show prints every request about a transaction, "
        + "answer says what you know of the newest. try says what the policies of another "
        + "configuration would have answered, beside what Apple decided. Works beside a daemon.",
      usage:
        "list [filters] | show TRANSACTION | answer TRANSACTION --consented yes|no … | try FILE",
      flags: RefundsCommand.flags, operands: ["list", "show", "answer", "try"],
      example: "subledger refunds list --state waiting",
      action: RefundsCommand.run),
    Command(
      name: "query", summary: "Runs SQL over the journal and the entitlement rows, read-only.",
      details: "Reads the views journal_v1, entitlement_v1, refund_request_v1 and others, which "
        + "one SELECT may join; --schema describes them. "
        + "Nothing but SELECT is allowed. Prints a table of at most 10,000 rows, fewer where they "
        + "are very long; --json and --csv print all rows, blobs as hexadecimal digits. SQL is "
        + "read from standard input with -. SQLite has 128 MiB of memory for it, and puts what "
        + "does not fit into temporary files. Also works while a daemon runs. --known-at reads "
        + "what had been received by a time, and folds the journal up to it first; three such "
        + "files are kept in the data folder.",
      usage: "'SELECT …' | - | --schema", flags: QueryCommand.flags,
      example: "subledger query \"\(SQLView.exampleQuery)\"", action: QueryCommand.run),
    Command(
      name: "report", summary: "Answers a question of finance: charges, refunds, trials, renewals.",
      details: "Without a name, lists the reports and what each counts. Amounts are what Apple "
        + "states to customers in Production, in units of the currency; nothing is converted. "
        + "Times are UTC. `subledger help finance` says what these sums are not. Reads as query "
        + "does: a table, all rows with --json or --csv, and at most as many seconds as are "
        + "allowed. --sql prints the SELECT, to be changed and run by query. --known-at answers as "
        + "it was known at a time; --compare says what differs from then, and why. compare sets "
        + "Apple's detailed Financial report or Summary Sales report beside the journal, and says "
        + "why they differ: exits with 1 if something is unexplained, or a file is neither.",
      usage: "[NAME] | compare FILE…", flags: ReportCommand.flags,
      operands: Report.all.map(\.name) + [CompareCommand.name],
      example: "subledger report charges --month 2026-08", action: ReportCommand.run),
  ]

  private static let maintaining = [
    Command(
      name: "recover", summary: "Journals what Apple sent and this ledger missed, asking Apple.",
      details: "Reads Apple's notification history, which has the last 180 days, 30 in the "
        + "Sandbox, and takes each notification like a request to /v1/notifications; duplicates "
        + "change nothing. Ends with the gap report: what was missing, when and why Apple could "
        + "not deliver, what Apple believes delivered, and what it no longer has. Exits with 1 for "
        + "the last two, and for what could not be proven; what was delivered elsewhere before the "
        + "import of a customer is no alarm. Asks at the configured share of "
        + "Apple's limits. While a daemon runs, it receives the notifications. Stopped at any "
        + "point, the same command goes on within a day. Needs appStore in the configuration.",
      usage: "[--since T] [--until T] [--dry-run]", flags: RecoverCommand.flags,
      example: "subledger recover --since 2026-01-31T10:00:00Z", action: RecoverCommand.run),
    Command(
      name: "reconcile", summary: "Compares customers with what Apple says of them now.",
      details: "Asks Apple about the given customers, about all with --all, or with --due about "
        + "those whose paid period ended longer ago than reconcileAfter (24 hours) although they "
        + "renew, and of whom Apple has said nothing since. Journals what is new, and prints each "
        + "field on which the row before, Apple and the row now do not all agree: with --json as "
        + "before, apple and after in fields, without apple where Apple says nothing. The daemon "
        + "does the same as --due once a day. Exits with 1 if a row still differs from what Apple "
        + "says, or if Apple or the journal does not know a customer. Needs appStore in the "
        + "configuration.",
      usage: "OTID… | --due | --all", flags: ReconcileCommand.flags,
      example: "subledger reconcile 2000000000000001", action: ReconcileCommand.run),
    Command(
      name: "rebuild", summary: "Folds the journal into a new projection beside the live one.",
      details: "--diff prints which customers the new projection changes, --apply makes it live, "
        + "and what it replaced stays beside it. To return, start the program that made that. "
        + "Readers never wait. An interrupted rebuild continues where it stopped. --announce "
        + "sends one message to sinks for each customer whose answer the switch changed.",
      usage: "[--diff | --apply | --announce | --only OTID]",
      flags: RebuildCommand.flags,
      example: "subledger rebuild --diff --output changes.csv --fail-on lost-access",
      action: RebuildCommand.run),
    Command(
      name: "upgrade-check", summary: "Says what the start of this program would change here.",
      details: "Run the new program beside the old one, which goes on: the migrations that would "
        + "run and whether the old program can come back, what another fold or mapping changes and "
        + "for how many customers, configuration keys, and the disk and time that building rows "
        + "takes. Builds rows beside the live ones, as rebuild --diff does, and changes nothing "
        + "else. Exits with 0 if nothing changes but the program, 1 if there is something to read "
        + "first, 3 or 4 if this program would not start.",
      usage: "[--keys FILE]", flags: UpgradeCheckCommand.flags,
      example: "subledger help configuration | ./subledger-new upgrade-check --keys -",
      action: UpgradeCheckCommand.run),
    Command(
      name: "quarantine",
      summary: "Lists, admits or drops notifications that were genuine and not admitted.",
      details: "'admit' ingests them again, after the configuration was corrected. 'drop' removes "
        + "them for good. With --app or --reason instead of an ID, both are done with all that "
        + "match. Works while a daemon runs.",
      usage: "list | admit ID | drop ID  [--app ID] [--reason CODE]",
      flags: QuarantineCommand.flags,
      operands: ["list", "admit", "drop"], example: "subledger quarantine list",
      action: QuarantineCommand.run),
    Command(
      name: "grant", summary: "Grants a customer an entitlement without a purchase.",
      details: "The entitlement is a name of the configuration. The answers for this customer say "
        + "so with the basis 'granted'; no row changes. --revoke ends a grant by its id, which "
        + "/v1/customers/{id}/grants lists. Works while a daemon runs.",
      usage: "ID --entitlement NAME [--until T] [--reason TEXT] | ID --revoke GRANT",
      flags: GrantCommand.flags,
      example: "subledger grant user-4711 --by account --entitlement pro --until 2027-01-01",
      action: GrantCommand.run),
    Command(
      name: "entitlements",
      summary: "Shows, compares and accepts which products give which entitlements.",
      details: "Without a flag, prints the mapping in force of each app. The daemon journals a "
        + "changed one when it starts or reloads; where more than entitlementLossLimit per cent "
        + "of those who have an entitlement in Production would lose it, and at least 20, that "
        + "name keeps what gave it until --accept. --diff says who would lose and who would "
        + "gain, and exits with 1 if anybody does. Works while a daemon runs.",
      usage: "[--diff FILE | --accept FILE | --as-of T | --log]", flags: EntitlementsCommand.flags,
      example: "subledger entitlements --diff config.json --fail-on lost-access",
      action: EntitlementsCommand.run),
    Command(
      name: "erase", summary: "Forgets an account of yours.",
      details: "Deletes the account's name from all files of the data folder. What was journaled "
        + "about it stays, about nobody. Backups that were made before still name it. Asks first, "
        + "because it cannot be undone. Works while a daemon runs. An app account token cannot be "
        + "forgotten: it is in what Apple signed, and that never changes.",
      usage: "--account ID", flags: EraseCommand.flags,
      example: "subledger erase --account user-4711 --yes", action: EraseCommand.run),
    Command(
      name: "sink", summary: "Shows and steers where changes are sent.",
      details:
        "list and show say how far each sink is, and what is held or was given up. pause and "
        + "resume stop one and let it go on, after `lost` with --from; a lost mirror is filled "
        + "anew with --from start. skip gives one message up, "
        + "retry tries held ones now, or with --dead those that were given up. replay sends a part "
        + "of the journal again. test sends a message without content. secret makes a secret for "
        + "secretFile, public-key prints what receivers verify Ed25519 signatures with, "
        + "mirror-schema the SQL that makes a mirror's tables.",
      usage: "list | show|pause|resume|test NAME | skip NAME SEQ | retry NAME [SEQ] | replay NAME "
        + "| secret | public-key NAME | mirror-schema NAME",
      flags: SinkOperations.flags,
      operands: ["list"] + SinkCommand.Verb.allCases.map(\.rawValue)
        + ["secret", "public-key", "mirror-schema"],
      example: "subledger sink resume backend --from 1042-9f31c0aa",
      action: SinkOperations.run),
    Command(
      name: "shared-journal", summary: "Sets up the journal on PostgreSQL of several daemons.",
      details: "migrate makes the tables or brings them up to date, as their owner, who is not the "
        + "daemons' role; --sql prints them instead. trust sets the root certificates of the "
        + "configuration as those that every daemon must trust: one with others does not start; "
        + "migrate does so for a new shared journal. try writes an event into the shared journal, "
        + "reads it and rolls back, with the configured role or that of --connection: exit code 1 "
        + "if that is refused or the event is read otherwise. init uploads the journal of a "
        + "folder, with its places and chain, and makes that folder a copy; it goes on where it "
        + "was stopped. detach makes a copy a journal of its own again. status says where the "
        + "configured one is and how far this copy is.",
      usage: "migrate|trust --connection CONNINFO | try | init [--from FOLDER] | detach | status",
      flags: SharedJournalCommand.flags,
      operands: SharedJournalCommand.verbs,
      example: "subledger shared-journal migrate --connection \"host=/run/postgresql dbname=app\"",
      action: SharedJournalCommand.run),
    Command(
      name: "export", summary: "Writes the journal as NDJSON, one event per line.",
      details: "Each line has the event's seq and hash; ingest reads the file elsewhere. With "
        + "--bundle, writes one customer's evidence. Also works while a daemon runs.",
      usage: "[--output FILE]", flags: ExportCommand.flags,
      example: "subledger export --compress --output journal.ndjson.zst",
      action: ExportCommand.run),
    Command(
      name: "backup", summary: "Copies the journal as of one moment into a new folder, checked.",
      details: "The folder gets its name only after the check. Never overwrites. --check checks an "
        + "existing backup. --nightly runs until SIGTERM and never removes a backup. Also works "
        + "while a daemon runs.",
      usage: "FOLDER | --check FOLDER | FOLDER --nightly HH:MM", flags: BackupCommand.flags,
      example: "subledger backup /mnt/backups/subledger-2026-01-31", action: BackupCommand.run),
    Command(
      name: "restore", summary: "Checks a backup and copies it into an empty data folder.",
      details: "The data folder may also be absent. The backup is not changed. Then start the "
        + "daemon, which recovers by itself what Apple sent since the backup, if appStore is "
        + "configured; or run recover. At the end run verify, and decide quarantined notifications "
        + "again.",
      usage: "FOLDER", flags: [.json],
      example: "subledger restore /mnt/backups/subledger-2026-01-31 --data /var/lib/subledger",
      action: RestoreCommand.run),
  ]

  private static let proving = [
    Command(
      name: "verify", summary: "Checks every promise on the data at rest.",
      details: "Checks the chain, every signature as of its signedDate, columns against bodies, "
        + "rows against a new fold, the quarantine, and the journal against anchors stored "
        + "elsewhere. Names the first broken promise with its seq. Changes nothing. Also works "
        + "while a daemon runs.",
      usage: "[--anchors FILE | --only OTID | --bundle FILE]", flags: VerifyCommand.flags,
      example: "subledger verify --anchors /mnt/elsewhere/anchors.ndjson --anchor-key public.pem",
      action: VerifyCommand.run),
    Command(
      name: "receipt", summary: "Shows the receipt of an app, decoded and proven offline.",
      details: "The file is the receipt itself, or its base64. It is proven as of the date of its "
        + "creation, by the chain in it up to Apple Inc. Root CA. Needs no data folder. --ask also "
        + "sends it to Apple's verifyReceipt, Production first, with the secret of "
        + "v1SharedSecretFile if Apple wants one; without --ask nobody is asked. The exit code is "
        + "1 if Apple did not sign it, does not vouch for it, or reads it in another way.",
      usage: "FILE [--ask]", flags: ReceiptCommand.flags,
      example: "subledger receipt receipt.b64 --ask",
      action: ReceiptCommand.run),
    Command(
      name: "anchor", summary: "Prints the head of the journal as one signed line.",
      details: "An anchor only proves something against the journal's owner if it is stored where "
        + "the owner cannot modify it; verify --anchors later compares the journal with it. Also "
        + "works while a daemon runs.",
      usage: "[--append FILE] | --public-key", flags: AnchorCommand.flags,
      example: "subledger anchor --append /mnt/elsewhere/anchors.ndjson",
      action: AnchorCommand.run),
    Command(
      name: "doctor", summary: "Checks the installation and says what to do about each finding.",
      details: "Checks configuration, permissions, clock, disk, libraries, roots, chains, silence "
        + "of an app and of a type, quarantine, projection and anchors, whether a daemon runs, and "
        + "what it refused that may be your mistake. With appStore it asks Apple, for ten seconds "
        + "at most, whether it accepts the key; a network that is away is no finding. Changes "
        + "nothing. Also works while a daemon runs.",
      usage: "", flags: DoctorCommand.flags,
      example: "subledger doctor --config /etc/subledger/config.json",
      action: DoctorCommand.run),
  ]

  private static let trying = [
    Command(
      name: "simulate", summary: "A local App Store: signs notifications and sends them.",
      usage: "ca DIR | run … | list | serve …", flags: [],
      operands: ["ca", "run", "list", "serve"],
      example: "subledger simulate run --fleet 100 --output fleet.ndjson",
      action: { _ throws(LedgerError) in .usage }),
    Command(
      name: "demo", summary: "Runs a simulated App Store, the daemon, and shows one customer.",
      details: "Plays an outage too: the daemon is away for three simulated days, and recovers by "
        + "itself what it missed. Stays up until ^C, so that the commands it prints can be tried. "
        + "The next run uses the same data.",
      usage: "[--listen HOST:PORT]",
      flags: [.init("--listen", "HOST:PORT", "where to listen; a free port by default")],
      common: [
        .init("--data", "DIR", "the folder of the demo; \(DemoCommand.usualFolder) by default")
      ],
      example: "subledger demo --data .demo", action: DemoCommand.run),
  ]

  private static let describing = [
    Command(
      name: "help", summary: "Prints the help of a command, or a topic of the documentation.",
      details: HelpTopic.list, usage: "[COMMAND | TOPIC | operating PAGE]", flags: [],
      operands: HelpTopic.allCases.map(\.rawValue) + OperatingPage.allCases.map(\.rawValue),
      example: "subledger help configuration",
      action: HelpCommand.run),
    Command(
      name: "man", summary: "Prints a manual page in roff: subledger(1) or subledger-config(5).",
      usage: "[PAGE]", flags: [], operands: ManualPage.allCases.map(\.rawValue),
      example: "subledger man subledger-config | man -l -", action: ManualPage.run),
    Command(
      name: "completions", summary: "Prints completions for bash, zsh or fish.",
      usage: "bash | zsh | fish", flags: [], operands: ["bash", "zsh", "fish"],
      example: "subledger completions bash > /etc/bash_completion.d/subledger",
      action: Completions.run),
    Command(
      name: "version", summary: "Prints the versions of the program, the fold and the libraries.",
      usage: "", flags: [.json], example: "subledger version --json",
      action: VersionCommand.run),
  ]

  /// What `subledger --help` prints.
  static var help: String {
    var lines = [
      "subledger <command> [--data DIR] [--config FILE] …", "",
      "Verifies and stores Apple's notifications; answers which customer has access, and why.",
    ]
    for group in groups {
      lines += ["", "\(group.heading):"]
      lines += group.commands.map { "  " + $0.name.padded(to: 19) + $0.summary }
    }
    let codes = ExitCode.allCases.map { "\($0.rawValue) \($0.summary)" }
    lines += [
      "", "subledger <command> --help prints more about a command, with an example.",
      "", "subledger help <topic> prints a topic of the documentation:",
    ]
    for topic in HelpTopic.allCases {
      lines.append("  " + topic.rawValue.padded(to: 19) + topic.summary)
    }
    lines += ["", "Exit codes: " + codes.joined(separator: ", ") + "."]
    return lines.joined(separator: "\n")
  }
}
