import Audit
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `receipt`: any app receipt, decoded and proven offline; with `--ask` also judged by Apple.
enum ReceiptCommand {
  static let flags: [Command.Flag] = [
    .init("--ask", "also send it to Apple's verifyReceipt, and compare"), .json,
  ]

  /// The longest file, in bytes: base64 with line ends takes less than twice as much.
  private static let maximumFile = 6 << 20

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let path = try arguments.operand("the file of a receipt")
    let configuration =
      arguments.has("--ask")
      ? try arguments.configuration() : try arguments.readable([.trustRoots]).configuration
    guard let file = try? DurableFile.read(path, limit: maximumFile) else {
      throw .unavailable("\(path) cannot be read, or is longer than any receipt")
    }
    let der = self.der(file)
    let proof = try ReceiptProof(configuration.trustRoots)
    let refusal = proof.refusal(of: der, at: Clock.now())
    guard let receipt = ReceiptDocument.receipt(der: der) else {
      throw .findings("\(path) is no receipt: \(refusal?.code ?? "receipt_attributes")")
    }
    let document = ReceiptDocument.json(receipt)
    let asked =
      arguments.has("--ask") ? try ReceiptAsking(der, receipt, configuration) : nil
    Terminal.print(
      json(document, refusal, asked), or: text(document, refusal, asked), arguments)
    return refusal == nil && asked?.agrees != false ? .good : .findings
  }

  /// A receipt as the app has it on its disk, or in base64 as backends store it.
  private static func der(_ file: [UInt8]) -> [UInt8] {
    Base64.decode(ByteSearch.packed(file[...])[...]) ?? file
  }

  private static func json(
    _ document: JSONValue, _ refusal: Refusal?, _ asked: ReceiptAsking?
  ) -> JSONValue {
    .object(
      [
        ("object", .string("receipt")), ("proven", .boolean(refusal == nil)),
        ("reason", .optional(refusal?.code)), ("receipt", document),
      ] + (asked.map { [("asked", $0.json)] } ?? []))
  }

  private static func text(
    _ document: JSONValue, _ refusal: Refusal?, _ asked: ReceiptAsking?
  ) -> String {
    let heading =
      refusal.map { "NOT PROVEN: \($0.code)" } ?? "proven offline, as of its creation"
    guard case .object(let members) = document else { return heading }
    let hint = refusal?.code == Findings.untrusted ? [Findings.untrustedHint] : []
    var lines = [heading] + hint + (asked.map { [$0.text] } ?? [])
    for (name, value) in members {
      guard case .array(let items) = value else {
        lines.append(line(name, value))
        continue
      }
      if name == "in_app" { items.forEach { lines += ["", QueryOptions.table(named($0))] } }
    }
    return lines.joined(separator: "\n")
  }

  private static func line(_ name: String, _ value: JSONValue) -> String {
    QueryOptions.table(.object([(readable(name), dated(name, value))]))
  }

  /// A record with its dates in RFC 3339, and without attributes that no document names.
  private static func named(_ record: JSONValue) -> JSONValue {
    guard case .object(let members) = record else { return record }
    return .object(
      members.filter { $0.0 != "other_attributes" }.map { (readable($0.0), dated($0.0, $0.1)) })
  }

  private static let unit = "_ms"

  private static func readable(_ name: String) -> String {
    name.hasSuffix(unit) ? String(name.dropLast(unit.count)) : name
  }

  private static func dated(_ name: String, _ value: JSONValue) -> JSONValue {
    guard name.hasSuffix(unit), case .integer(let time) = value else { return value }
    return .string(Timestamp.text(time))
  }
}
