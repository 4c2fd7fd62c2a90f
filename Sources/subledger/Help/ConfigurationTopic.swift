import Ledger

/// The configuration file, written from the table of its keys.
enum ConfigurationTopic {
  static var document: Document { Document(blocks: file + keys + secrets + reload) }

  private static let example = """
    {
      "listen": "127.0.0.1:8080",
      "data": "/var/lib/subledger",
      "apps": [
        { "bundleId": "com.example.app", "appAppleId": 123456789,
          "environments": ["Production", "Sandbox"] }
      ],
      "readTokens": [
        { "name": "backend", "sha256": "64 hexadecimal digits" }
      ]
    }
    """

  private static let file: [Document.Block] = [
    .heading("The file"),
    .paragraph(
      "The configuration is one JSON object. `subledger init` writes one with comments to "
        + "/etc/subledger/config.json; `subledger doctor` checks it."),
    .code(example),
    .paragraph(
      "A member whose name begins with // is a comment, in every object. A relative path starts at "
        + "the folder of the configuration file, except for `data`."),
    .paragraph(
      "An unknown key, a missing file or an impossible value refuses the start with exit code 2, "
        + "and the error names it."),
    .heading("Precedence"),
    .paragraph(
      "Flags (--listen, --data, --log-level, --config) win over the variables SUBLEDGER_LISTEN, "
        + "SUBLEDGER_DATA, SUBLEDGER_LOG_LEVEL and SUBLEDGER_CONFIG, and these win over the file. "
        + "No flag and no variable takes a secret."),
  ]

  private static var keys: [Document.Block] {
    [Document.Block.heading("Keys")]
      + ConfigurationKey.table.map { .entry(entry($0)) }
  }

  static func entry(_ key: ConfigurationKey) -> Document.Entry {
    let usual = key.usual.hasPrefix("required") ? key.usual : "default: \(key.usual)"
    return .init(term: "\(key.path)  (\(key.type); \(usual))", text: key.meaning)
  }

  private static let secrets: [Document.Block] = [
    .heading("Read tokens"),
    .paragraph(
      "Choose a token, keep it in your backend, and configure the SHA-256 that this prints:"),
    .code("printf %s \"$TOKEN\" | sha256sum"),
    .paragraph(
      "A token without bundleIds and environments covers everything. Without \"may\" it may read; "
        + "the one of a backend that hands over transactions has \"may\": [\"read\", \"submit\"]."),
    .heading("Shared secrets of version 1"),
    .paragraph(
      "An app without v1SharedSecretFile does not admit version 1 notifications. The file of "
        + "secrets must be readable by its owner alone (mode 0600), or be root's and readable by "
        + "the daemon's group besides (0640), and holds one secret per line: one, or two during a "
        + "rotation. An empty secret is refused. Under systemd, "
        + "LoadCredential=v1.secret:/etc/subledger/v1.secret puts the file into "
        + "$CREDENTIALS_DIRECTORY, where the bare name \"v1.secret\" is looked up before the "
        + "configuration's folder. systemd reads a credential at the start: a new secret needs a "
        + "restart."),
    .heading("Asking Apple"),
    .paragraph(
      "With appStore, `subledger lookup` finds a customer by an id that Apple knows, and "
        + "`subledger test-notification` has Apple send a test and follows it. appStore may stand "
        + "at the top, for all apps of a team, and at an app; each key at the app wins over the "
        + "one at the top. The file of the key must be readable by its owner alone (mode 0600):"),
    .code(ConfigurationKey.example("appStore") ?? ""),
  ]

  private static func keys(needingRestart needsRestart: Bool) -> String {
    ConfigurationKey.table.filter { $0.parent == .file && $0.needsRestart == needsRestart }
      .map(\.name).joined(separator: ", ")
  }

  private static let reload: [Document.Block] = [
    .heading("Reload"),
    .paragraph(
      "SIGHUP reloads \(keys(needingRestart: false)) without dropping a connection. A change of "
        + "these needs a restart: \(keys(needingRestart: true)). A configuration with an error is "
        + "refused as a whole, and the running one stays in effect."),
  ]
}
