import Foundation
import StrictJSON
import Support
import Testing

/// The tables of `Fixtures/Tables`: given a configuration and events, each step runs a command or
/// sends a request, and expects a code, texts and members. A line of a file is a case:
///
///     {"case": "a name", "config": {…}, "events": 4, "steps": [
///       {"run": ["verify", "--config", "CONFIG"], "code": 0, "output": "a part of it"},
///       {"get": "/v1/entitlements/700", "code": 200, "members": {"status": "expired"}}]}
///
/// `config` has members of the configuration to add or replace; `events` is how many are ingested,
/// the even ones of 700, the odd ones of 701. CONFIG, DATA and FOLDER in arguments stand for paths.
/// `output` and `errors` are texts to be found, and an empty text if there must be none. `members`
/// are of the answer, or of the last line of the output. `without` is a file or folder, relative to
/// FOLDER, that must not exist after the step.
///
/// A failure has the table's file and line as its place, and says which step was taken.
@Suite struct TableTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let line: [UInt8]
    let testDescription: String
    let place: SourceLocation
  }

  private static let cases: [Case] = {
    let folder = Bundle.module.url(
      forResource: "Tables", withExtension: nil, subdirectory: "Fixtures")
    let files = try? FileManager.default.contentsOfDirectory(
      at: folder ?? URL(filePath: "/"), includingPropertiesForKeys: nil)
    return (files ?? []).sorted { $0.path < $1.path }.flatMap { file in
      ((try? Data(contentsOf: file)) ?? Data()).split(separator: 0x0A).enumerated().map {
        (index, line) in
        let name = try? JSONDocument(parsing: Array(line)).root["case"]?.string
        let path = "EndToEndTests/Fixtures/Tables/\(file.lastPathComponent)"
        return Case(
          line: Array(line), testDescription: "\(file.lastPathComponent): \(name ?? "not JSON")",
          place: SourceLocation(
            fileID: path, filePath: "Tests/" + path, line: index + 1, column: 1))
      }
    }
  }()

  @Test func `there are tables`() { #expect(Self.cases.count > 20) }

  @Test(arguments: cases) func `each step gives what its table says`(_ one: Case) throws {
    let root = try JSONDocument(parsing: one.line).root
    let installation = try Installation()
    let members = root["config"]?.members.map { ($0.name, $0.value.value) } ?? []
    if !members.isEmpty { try installation.configure(with: members) }
    if let events = root["events"]?.integer { try installation.fill(1...Int(events)) }
    var daemon: RunningDaemon?
    for step in try #require(root["steps"], sourceLocation: one.place).elements {
      if let arguments = step["run"]?.elements {
        check(
          step, try installation.launch(arguments.map { path($0, installation) }).finish(), one)
      } else {
        let running = try daemon ?? installation.start()
        daemon = running
        check(step, try #require(answer(step, running), sourceLocation: one.place), one)
      }
      if let absent = step["without"]?.string {
        let path = installation.folder.appending(path: absent).path
        expect(
          !FileManager.default.fileExists(atPath: path), step, one, "no \(absent)", "is there")
      }
    }
    if let daemon { #expect(try daemon.stop().code == 0) }
  }

  private func path(_ argument: JSONElement, _ installation: Installation) -> String {
    (argument.string ?? "").replacing("CONFIG", with: installation.config.path)
      .replacing("DATA", with: installation.data.path)
      .replacing("FOLDER", with: installation.folder.path)
  }

  private func answer(_ step: JSONElement, _ daemon: RunningDaemon) -> Client.Answer? {
    if let target = step["get"]?.string { return daemon.client().get(target) }
    let body = step["body"]?.value.bytes ?? []
    let head =
      "POST \(step["post"]?.string ?? "") HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      + "Authorization: Bearer \(Installation.token)\r\nContent-Length: \(body.count)\r\n\r\n"
    return daemon.client().send(head, body)
  }

  private func check(_ step: JSONElement, _ result: CommandResult, _ one: Case) {
    let code = Int32(step["code"]?.integer ?? 0)
    expect(result.code == code, step, one, "code \(code)", "\(result)")
    for (wanted, text) in [("output", result.output), ("errors", result.errors)] {
      guard let part = step[wanted]?.string else { continue }
      expect(
        part.isEmpty ? text.isEmpty : text.contains(part), step, one, "\(wanted) “\(part)”",
        "\(result)")
    }
    if step["members"] != nil { check(step, try? result.lines().last, one) }
  }

  private func check(_ step: JSONElement, _ answer: Client.Answer, _ one: Case) {
    let code = Int(step["code"]?.integer ?? 200)
    expect(answer.status == code, step, one, "code \(code)", "\(answer.status) \(answer.text)")
    check(step, answer.json, one)
  }

  /// A name with dots is a path.
  private func check(_ step: JSONElement, _ found: JSONElement?, _ one: Case) {
    for (path, wanted) in step["members"]?.members.map({ ($0.name, $0.value) }) ?? [] {
      let value = path.split(separator: ".").reduce(found) { $0?[String($1)] }?.value.text
      expect(
        value == wanted.value.text, step, one, "\(path): \(wanted.value.text)", value ?? "nothing")
    }
  }

  private func expect(
    _ holds: Bool, _ step: JSONElement, _ one: Case, _ expected: String, _ found: String
  ) {
    #expect(
      holds,
      """
      step: \(String(decoding: step.text, as: UTF8.self))
      expected: \(expected)
      found: \(found)
      """, sourceLocation: one.place)
  }
}
