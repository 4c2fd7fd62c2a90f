import Delivery
import Ledger
import Platform
import SignedData
import Store
import StrictJSON

/// `sink`: where changes are sent, and what an operator does about it.
enum SinkOperations {
  static let flags: [Command.Flag] = [
    .init(
      "--from", "PLACE", "after what to go on, or begin: now, start, SEQ, a cursor, received:T"),
    .init("--since", "T", "for replay: from what was received at T"),
    .init("--to", "SEQ", "for replay: the last event; the newest by default"),
    .init("--only", "OTID", "for replay: one original transaction id"),
    .init("--dead", "for retry and replay: only what was given up"),
    .init("--ed25519", "for secret: a key pair, whose public half receivers get"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    guard let verb = arguments.operands.first else {
      throw .usage("say what to do: \(verbs.joined(separator: ", "))")
    }
    let rest = Array(arguments.operands.dropFirst())
    switch verb {
    case "secret":
      guard rest.isEmpty else { throw .usage("secret takes no name") }
      Terminal.print(WebhookSecret.generate(isAsymmetric: arguments.has("--ed25519")))
      return .good
    case "list":
      guard rest.isEmpty else { throw .usage("list takes no name") }
      return try list(arguments)
    case "public-key": return try publicKey(try name(rest, verb), arguments)
    case "mirror-schema": return try mirrorSchema(try name(rest, verb), arguments)
    default:
      guard let known = SinkCommand.Verb(rawValue: verb) else {
        throw .usage("unknown: \(verb); the operations are \(verbs.joined(separator: ", "))")
      }
      return try order(try command(known, rest, arguments), arguments)
    }
  }

  private static let verbs =
    ["list", "secret", "public-key", "mirror-schema"] + SinkCommand.Verb.allCases.map(\.rawValue)

  private static func name(_ rest: [String], _ verb: String) throws(LedgerError) -> String {
    guard rest.count == 1 else { throw .usage("\(verb) takes the name of a sink") }
    return rest[0]
  }

  private static func command(
    _ verb: SinkCommand.Verb, _ rest: [String], _ arguments: Arguments
  ) throws(LedgerError) -> SinkCommand {
    let takesSeq = verb == .skip || verb == .retry
    guard let name = rest.first, rest.count <= (takesSeq ? 2 : 1) else {
      throw .usage("\(verb.rawValue) takes the name of a sink\(takesSeq ? ", and a seq" : "")")
    }
    var command = SinkCommand(verb, name)
    if rest.count == 2 {
      guard let seq = Int64(rest[1]), seq > 0 else { throw .usage("\(rest[1]) is no seq") }
      command.seq = seq
    } else if verb == .skip {
      throw .usage("skip takes the seq of the message to give up; see: subledger sink show \(name)")
    }
    command.from = arguments["--from"]
    if let time = try arguments.time("--since") { command.from = "received:\(time)" }
    command.to = try arguments.number("--to", 1...Int64.max)
    command.only = arguments["--only"]
    command.dead = arguments.has("--dead")
    if verb == .replay {
      guard command.from != nil || command.dead else {
        throw .usage("say where the replay begins: --from start for all, --from SEQ or --since T")
      }
      guard command.only == nil || !command.dead else {
        throw .usage("--dead and --only exclude each other")
      }
    }
    return command
  }

  // MARK: The daemon

  private static func daemon(_ arguments: Arguments) throws(LedgerError) -> ControlClient {
    guard let client = ControlClient(try arguments.journalFolder()) else {
      throw .unavailable("no daemon runs on this folder, and it is the daemon that sends")
    }
    return client
  }

  private static func ask(
    _ command: SinkCommand, _ daemon: ControlClient
  ) throws(LedgerError) -> JSONElement {
    let answer = try daemon.post("/control/sink", command.json.bytes)
    if let result = answer.body["result"], answer.status == 200 { return result }
    if let why = answer.body["refused"]?.string { throw .findings(why) }
    throw .unavailable("the daemon is stopping, or cannot use its files; see its log")
  }

  private static func order(
    _ command: SinkCommand, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let result = try ask(command, try daemon(arguments))
    Terminal.print(result.value, or: SinkText.of(command.verb, result), arguments)
    guard command.verb == .test else { return .good }
    return (200...299).contains(result["status"]?.integer ?? 0) ? .good : .findings
  }

  private static func list(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let configuration = try arguments.configuration()
    let names = configuration.sinkNames
    guard !names.isEmpty else {
      Terminal.print(
        .array([]), or: "no sink is configured; see `sinks` in: subledger help configuration",
        arguments)
      return .good
    }
    let daemon = try daemon(arguments)
    var found: [JSONElement] = []
    for name in names {
      if let status = try ask(SinkCommand(.show, name), daemon)["sink"] {
        found.append(status)
      }
    }
    Terminal.print(.array(found.map(\.value)), or: SinkText.table(found), arguments)
    return .good
  }

  private static func mirrorSchema(
    _ name: String, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    guard let mirror = try arguments.configuration().mirrors.first(where: { $0.name == name })
    else { throw .findings("no mirror has this name") }
    Terminal.print(MirrorSchema.sql(mirror.schema, role: mirror.user))
    return .good
  }

  private static func publicKey(
    _ name: String, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    guard let sink = try arguments.configuration().sinks.first(where: { $0.name == name }) else {
      throw .findings("no sink has this name; see: subledger sink list")
    }
    let keys = sink.secrets.compactMap(\.publicKey)
    guard !keys.isEmpty else {
      throw .findings("its secret is symmetric: the receiver needs the same one")
    }
    for key in keys { Terminal.print(key) }
    return .good
  }
}
