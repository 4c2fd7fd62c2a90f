import AppStore
import Clients
import Platform
import SignedData
import StrictJSON

/// Reads the key `sinks`.
extension ConfigurationReader {
  private static let maximumSinks = 32

  /// - Parameter v1Files: the V1 secret file of each app that has one.
  mutating func sinks(
    _ root: JSONElement, _ v1Files: [String: String]
  ) throws(LedgerError) -> ([Configuration.Sink], [Configuration.Mirror]) {
    var sinks: [Configuration.Sink] = []
    var mirrors: [Configuration.Mirror] = []
    for (index, entry) in try list(root, "sinks").enumerated() {
      keyPath = "sinks[\(index)]"
      let name: String
      if try text(entry, "kind") == Self.mirrorKind {
        try requireKnownKeys(entry, .mirror)
        mirrors.append(try mirror(entry))
        name = mirrors[mirrors.count - 1].name
      } else {
        try requireKnownKeys(entry, .sink)
        sinks.append(try sink(entry, v1Files))
        name = sinks[sinks.count - 1].name
      }
      guard (sinks.map(\.name) + mirrors.map(\.name)).count(where: { $0 == name }) == 1 else {
        throw invalid("name occurs twice", "give each sink a name of its own")
      }
    }
    keyPath = "sinks"
    guard sinks.count + mirrors.count <= Self.maximumSinks else {
      throw invalid("has more than \(Self.maximumSinks) entries", "remove some")
    }
    keyPath = ""
    return (sinks, mirrors)
  }

  private func sink(
    _ entry: JSONElement, _ v1Files: [String: String]
  ) throws(LedgerError) -> Configuration.Sink {
    let isPrivate = try flag(entry, "privateNetwork")
    let text = try required(entry, "url")
    guard let url = ServiceURL(receiver: text, isPrivate: isPrivate) else {
      throw invalid("url is no usable address", "it must be \(ServiceURL.receiverRule)")
    }
    let kind = try choice(entry, "kind", or: Configuration.Sink.Kind?.none)
    var sink = Configuration.Sink(name: try sinkName(entry), kind: kind, url: url)
    sink.isPrivate = isPrivate
    sink.forwardsQuarantine = try flag(entry, "quarantine")
    guard !sink.forwardsQuarantine || kind == .forward else {
      throw invalid("quarantine is of no use here", "only kind forward sends it; remove it")
    }
    sink.proxy = try proxy(entry)
    try filters(entry, into: &sink)
    sink.from = try start(entry)
    sink.order = try choice(entry, "order", or: .customer)
    sink.concurrency = Int(try number(entry, "concurrency", 1...64) ?? 8)
    sink.timeoutSeconds = Int(try number(entry, "timeoutSeconds", 1...120) ?? 20)
    try secrets(entry, v1Files, into: &sink)
    return sink
  }

  /// The key `proxy` of a sink or of `appStore`.
  func proxy(_ entry: JSONElement) throws(LedgerError) -> ServiceURL? {
    guard let text = try text(entry, "proxy") else { return nil }
    guard let url = ServiceURL(receiver: text, isPrivate: true) else {
      throw invalid("proxy is no usable address", "write http://HOST:PORT, without user")
    }
    return url
  }

  func sinkName(_ entry: JSONElement) throws(LedgerError) -> String {
    let name = try required(entry, "name")
    let isName = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: byte == UInt8(ascii: "-")
      }
    }
    guard isName, name.utf8.count <= 40 else {
      throw invalid("name cannot be used", "write 1 to 40 of the characters a-z, 0-9 and -")
    }
    return name
  }

  private func filters(
    _ entry: JSONElement, into sink: inout Configuration.Sink
  ) throws(LedgerError) {
    sink.types = try texts(entry, "types")
    sink.environments = try environments(entry)
    sink.bundleIds = try texts(entry, "bundleIds").map { Set($0) }
    if let names = try texts(entry, "arrivals") { sink.arrivals = Set(names) }
    guard sink.arrivals.isSubset(of: Configuration.Sink.arrivalNames) else {
      throw invalid(
        "arrivals has an unknown word",
        "the words are \(Configuration.Sink.arrivalNames.sorted().joined(separator: ", "))")
    }
    guard sink.types?.isEmpty != true, sink.environments?.isEmpty != true,
      sink.bundleIds?.isEmpty != true, !sink.arrivals.isEmpty
    else {
      throw invalid("has an empty list, which nothing matches", "omit the key to send everything")
    }
    for name in try texts(entry, "include") ?? [] {
      guard let item = Configuration.Sink.Inclusion(rawValue: name) else {
        throw invalid("include has an unknown word", "write \"payload\", or omit it")
      }
      sink.include.insert(item)
    }
  }

  private func start(_ entry: JSONElement) throws(LedgerError) -> Configuration.Sink.Start {
    guard let text = try text(entry, "from") else { return .now }
    if text == "now" { return .now }
    if text == "start" { return .start }
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let seq = Int64(parts[0]), seq >= 0, parts[1].utf8.count == 8,
      let hash = Hexadecimal.decode(String(parts[1]))
    else {
      throw invalid(
        "from is no place in the journal", "write \"now\", \"start\", or a cursor of the feed")
    }
    return .after(seq: seq, hash: hash)
  }

  // MARK: Secrets

  private func secrets(
    _ entry: JSONElement, _ v1Files: [String: String], into sink: inout Configuration.Sink
  ) throws(LedgerError) {
    if sink.kind == .webhook {
      let lines = try secretLines(try required(entry, "secretFile"), "secretFile")
      sink.secrets = lines.compactMap(WebhookSecret.init)
      guard lines.count <= 2, sink.secrets.count == lines.count else {
        throw invalid(
          "secretFile has a line that is no secret, or more than two",
          "make one: `subledger sink secret`; a line must be \(WebhookSecret.rule)")
      }
    } else if entry["secretFile"] != nil {
      throw invalid("secretFile is of no use here", "only kind webhook signs; remove it")
    }
    switch try text(entry, "v1") ?? "skip" {
    case "skip": break
    case "withSecret" where sink.kind == .forward:
      for (bundleId, path) in v1Files {
        let lines = try secretLines(path, "v1SharedSecretFile")
        if let line = lines.first { sink.v1Secrets[bundleId] = .init(text: line) }
      }
    default: throw invalid("v1 is unknown", "write \"skip\", or, to forward, \"withSecret\"")
    }
    sink.fields = try fields(entry)
    if let path = try optionalText(entry, "caFile") {
      sink.authorities = try readable(path, "caFile")
    }
    guard let certificate = try optionalText(entry, "clientCertificateFile") else { return }
    let key = try optionalText(entry, "clientKeyFile") ?? certificate
    sink.clientCertificate = .init(
      certificate: try readable(certificate, "clientCertificateFile"),
      key: try privateFile(key, "clientKeyFile"))
  }

  /// A member that may also be null, which is as if it were left out.
  private func optionalText(
    _ entry: JSONElement, _ name: String
  ) throws(LedgerError) -> String? {
    entry[name]?.kind == .null ? nil : try text(entry, name)
  }

  private func fields(
    _ entry: JSONElement
  ) throws(LedgerError) -> [Configuration.Sink.Field] {
    guard let object = entry["headerFiles"] else { return [] }
    guard object.kind == .object else {
      throw invalid("headerFiles is not an object", "write { \"Authorization\": \"FILE\" }")
    }
    var fields: [Configuration.Sink.Field] = []
    for (name, member) in object.members where !name.hasPrefix("//") {
      guard ClientRequest.isFieldName(name), !Self.ownFields.contains(name.lowercased()),
        let path = member.string
      else {
        throw invalid(
          "headerFiles has a header field that cannot be set",
          "name other fields, each with the file of its value")
      }
      let lines = try secretLines(path, "headerFiles.\(name)")
      guard lines.count == 1 else {
        throw invalid("headerFiles.\(name) has more than one line", "write one")
      }
      fields.append(.init(name, lines[0]))
    }
    return fields
  }

  /// The fields that a message has anyway.
  private static let ownFields: Set = [
    "host", "content-type", "content-length", "transfer-encoding", "connection", "expect",
    "user-agent", "webhook-id", "webhook-timestamp", "webhook-signature", "subledger-attempt",
    "subledger-replay",
  ]

  /// The lines of a file that only its owner can read. The errors hold nothing of them.
  private func secretLines(_ path: String, _ name: String) throws(LedgerError) -> [String] {
    let bytes = try read(try privateFile(path, name), limit: 4096)
    let lines = bytes.split(separator: 0x0A).map { line in
      String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    }
    let isUsable = lines.allSatisfy { line in
      line.utf8.contains { $0 > 0x20 } && line.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
    guard !lines.isEmpty, isUsable else {
      throw invalid("\(name) is empty or has an empty line", "write one secret a line")
    }
    return lines
  }

  /// The path of a file that only its owner can read.
  func privateFile(_ path: String, _ name: String) throws(LedgerError) -> String {
    let path = try readable(path, name)
    guard (try? DurableFile.isPrivate(path)) == true else {
      throw invalid("\(name) can be read by others", "chmod 600 it")
    }
    return path
  }

  private func readable(_ path: String, _ name: String) throws(LedgerError) -> String {
    let path = credential(path) ?? resolved(path)
    _ = try read(path, limit: 1_048_576)
    return path
  }

  // MARK: Members

  func flag(_ object: JSONElement, _ name: String) throws(LedgerError) -> Bool {
    guard let member = object[name] else { return false }
    guard let value = member.boolean else {
      throw invalid("\(name) is not true or false", "write true, or omit it")
    }
    return value
  }

  func choice<Choice: RawRepresentable & CaseIterable>(
    _ object: JSONElement, _ name: String, or usual: Choice?
  ) throws(LedgerError) -> Choice where Choice.RawValue == String {
    guard let text = try usual == nil ? required(object, name) : text(object, name) else {
      if let usual { return usual }
      throw invalid("\(name) is missing", "add it")
    }
    guard let choice = Choice(rawValue: text) else {
      let more = Choice.self == Configuration.Sink.Kind.self ? [Self.mirrorKind] : []
      let known = (Choice.allCases.map(\.rawValue) + more).map { "\"\($0)\"" }
        .joined(separator: ", ")
      throw invalid("\(name) is unknown", "write one of \(known)")
    }
    return choice
  }

  func number(
    _ object: JSONElement, _ name: String, _ range: ClosedRange<Int64>
  ) throws(LedgerError) -> Int64? {
    guard let member = object[name] else { return nil }
    guard let value = member.integer, range.contains(value) else {
      throw invalid(
        "\(name) is not an integer from \(range.lowerBound) to \(range.upperBound)",
        "omit it for the default")
    }
    return value
  }
}
