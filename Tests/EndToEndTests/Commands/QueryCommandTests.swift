import Foundation
import Store
import StrictJSON
import Support
import Testing

/// `query` through the built program: formats, exit codes, and beside the daemon.
@Suite struct QueryCommandTests {
  private func filled() throws -> Installation {
    let installation = try Installation()
    let lines = try (1...4).map { number in
      try installation.sign(
        Sample.notification(number, otid: "2", type: number < 2 ? "SUBSCRIBED" : "DID_RENEW"))
    }
    let ingested = try installation.run("ingest", try installation.file("all", lines))
    #expect(ingested.code == 0, "\(ingested)")
    try StandInProjection.write(in: DataFolder(path: installation.data.path))
    return installation
  }

  private static let endless =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

  // MARK: Formats

  @Test func `a table has aligned columns with numbers to the right and null empty`() throws {
    let result = try filled().run(
      "query",
      "SELECT notification_type AS type, 10 * count(*) AS n, NULL AS missing, '中文' AS word "
        + "FROM journal_v1 GROUP BY 1 ORDER BY 2")
    #expect(result.code == 0 && result.errors.isEmpty, "\(result)")
    #expect(
      result.output == """
        type         n  missing  word
        ----------  --  -------  ----
        SUBSCRIBED  10           中文
        DID_RENEW   30           中文

        """)
  }

  @Test func `any columns of joined views can be read`() throws {
    let installation = try Installation()
    let lines = [try installation.sign(Sample.notification(1))]
    #expect(try installation.run("ingest", try installation.file("all", lines)).code == 0)
    let result = try installation.run(
      "query",
      "SELECT s.status FROM entitlement_span_v1 s JOIN entitlement_v1 e "
        + "USING (environment, bundle_id, original_transaction_id)")
    #expect(result.code == 0 && result.output.hasPrefix("status\n"), "\(result)")
    let direct = try installation.run("query", "SELECT product_id FROM product")
    #expect(direct.code == 2 && direct.errors.contains("no such table: product"), "\(direct)")
  }

  @Test func `text from outside cannot move the cursor in a table`() throws {
    let result = try filled().run("query", "SELECT char(27) || '[2J' AS text")
    #expect(result.output == "text\n---------\n<U+1B>[2J\n", "\(result)")
  }

  @Test func `JSON has one object per line with the types of the values`() throws {
    let result = try filled().run(
      "query", "--json",
      "SELECT seq, hash, subtype, 1.5 AS real, 9e999 AS big, 'a\"' AS text FROM journal_v1")
    #expect(result.code == 0, "\(result)")
    let rows = try result.lines()
    #expect(rows.map { $0["seq"]?.integer } == [1, 2, 3, 4])
    #expect(rows[0]["hash"]?.string?.wholeMatch(of: /[0-9a-f]{64}/) != nil)
    #expect(rows[0]["subtype"]?.kind == .null && rows[0]["text"]?.string == "a\"")
    #expect(result.output.contains(#""real":1.5,"big":null,"#))
  }

  @Test func `CSV follows RFC 4180 and distinguishes null from an empty text`() throws {
    let sql = "SELECT 1 AS \"a,b\", 'x\"y' AS q, 'l1\nl2' AS l, '' AS e, NULL AS n, x'0aff' AS h"
    let result = try filled().run("query", sql, "--csv")
    #expect(result.code == 0, "\(result)")
    #expect(
      Data(result.output.utf8)
        == Data("\"a,b\",q,l,e,n,h\n1,\"x\"\"y\",\"l1\nl2\",\"\",,0aff\n".utf8))
    let text = try CSVText(result.output)
    #expect(text.rows.first?["q"] == "x\"y" && text.rows.first?["l"] == "l1\nl2")
  }

  /// A spreadsheet would calculate them.
  @Test func `CSV marks texts that begin as a formula does, and leaves numbers`() throws {
    let sql = """
      SELECT '=1+1' AS a, '+1 x' AS b, '-x' AS c, '@x' AS d, '\t=1' AS e, '=a,b' AS f,
        -5 AS g, -1.5 AS h, '-12.50' AS i, '+49' AS j, 'a=b' AS k, '' AS l, NULL AS m, '-' AS n
      """
    let result = try filled().run("query", sql, "--csv")
    #expect(result.code == 0, "\(result)")
    #expect(
      result.output.split(separator: "\n").last
        == "'=1+1,'+1 x,'-x,'@x,'\t=1,\"'=a,b\",-5,-1.5,-12.50,+49,a=b,\"\",,'-")
  }

  @Test func `a table ends after 10000 rows and says how to print all`() throws {
    let installation = try filled()
    let sql =
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10001) SELECT i FROM n"
    let table = try installation.run("query", sql)
    #expect(table.code == 0 && table.output.split(separator: "\n").count == 10_002, "\(table)")
    #expect(table.output.hasSuffix("\n10000\n"))
    #expect(table.errors.contains("--csv"), "\(table.errors)")
    let all = try installation.run("query", sql, "--csv")
    #expect(all.errors.isEmpty && all.output.hasSuffix("\n10001\n"))
  }

  @Test func `SQL is read from standard input`() throws {
    let installation = try filled()
    let script = """
      printf 'SELECT count(*) AS n\nFROM journal_v1 -- all\n' |
        "\(RunningCommand.program.path)" query - --json --config "\(installation.config.path)"
      """
    let result = try RunningCommand(
      ["-c", script], in: installation.folder, program: URL(filePath: "/bin/sh")
    ).finish()
    #expect(result.code == 0 && result.output == "{\"n\":4}\n", "\(result)")
    #expect(try installation.run("query", "-").code == 2, "no SQL in /dev/null")
  }

  @Test func `the schema describes every column without a data folder`() throws {
    let installation = try Installation()
    let text = try installation.run("query", "--schema")
    #expect(text.code == 0 && text.errors.isEmpty, "\(text)")
    for line in text.output.split(separator: "\n") { #expect(line.count <= 100, "\(line)") }
    let lines = try installation.run("query", "--schema", "--json").lines()
    #expect(lines.count == SQLView.all.reduce(0) { $0 + $1.columns.count })
    for view in SQLView.all {
      #expect(text.output.contains("\n\(view.name): \(view.meaning)\n"))
      for column in view.columns { #expect(text.output.contains("\n  \(column.name) ")) }
    }
    let csv = try installation.run("query", "--schema", "--csv")
    #expect(try CSVText(csv.output).columns == ["view", "column", "type", "meaning"])
  }

  // MARK: Exit codes

  @Test func `a query past its time limit exits with 3 and says how to raise it`() throws {
    let result = try filled().run("query", Self.endless, "--limit-seconds", "1")
    #expect(result.code == 3 && result.output.isEmpty, "\(result)")
    #expect(result.errors.contains("--limit-seconds"), "\(result)")
  }

  /// Each position of the text is compared with nearly all of the other text: that takes hours.
  private static let instruction =
    "SELECT instr(hex(zeroblob(8000000)), hex(zeroblob(4000000)) || '1')"

  @Test(arguments: ["--json", "--csv", nil])
  func `a query in one long instruction is ended after its time`(format: String?) throws {
    let installation = try filled()
    let query = try installation.launch(
      ["query", Self.instruction, "--limit-seconds", "1", "--config", installation.config.path]
        + [format].compactMap { $0 })
    let result = try query.finish(within: 60)
    #expect(result.code == 3 && result.errors.contains("--limit-seconds"), "\(result)")
  }

  @Test(arguments: [false, true])
  func `a query whose output nobody reads is ended after its time`(errorsToo: Bool) throws {
    let installation = try filled()
    let pipe = installation.folder.appending(path: "pipe").path
    try #require(mkfifo(pipe, 0o600) == 0)
    let sql = Self.endless.replacing("count(*)", with: "i")
    let script = """
      exec 3<>"\(pipe)"
      "\(RunningCommand.program.path)" query "\(sql)" --csv --limit-seconds 1 \
        --config "\(installation.config.path)" >"\(pipe)" \(errorsToo ? "2>&1" : "")
      """
    let result = try RunningCommand(
      ["-c", script], in: installation.folder, program: URL(filePath: "/bin/sh")
    ).finish(within: 60)
    #expect(result.code == 3, "\(result)")
    #expect(result.errors.contains("--limit-seconds") != errorsToo, "\(result)")
  }

  private static func numbers(_ count: Int, _ columns: String) -> String {
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(count)) "
      + "SELECT \(columns) FROM n"
  }

  /// SQL that would need gigabytes, with the exit code.
  private static let large: [(String, Int32)] = [
    (numbers(2_000, "group_concat(hex(randomblob(100000)))"), 2),
    ("SELECT zeroblob(1000000000)", 2),
    ("SELECT replace(hex(zeroblob(1000000)), '0', hex(zeroblob(1000)))", 2),
    (
      numbers(1, repeatElement("hex(randomblob(7000000))", count: 60).joined(separator: ",")), 3
    ), (numbers(10_000, "i, iif(i = 1, hex(zeroblob(50000)), 'a') AS long, i AS again"), 0),
    (numbers(150_000, "hex(randomblob(500)) AS text") + " ORDER BY 1", 0),
  ]

  @Test(arguments: large)
  func `a query does not take gigabytes of memory`(sql: String, code: Int32) throws {
    let installation = try filled()
    for format in [[], ["--csv"]] {
      let query = try installation.launch(
        ["query", sql, "--limit-seconds", "600", "--config", installation.config.path] + format)
      var peak = 0
      try query.wait(300, "the query") {
        peak = max(peak, query.peakBytes)
        return !query.isRunning
      }
      let result = try query.finish()
      #expect(result.code == code, "\(result.errors)")
      #expect(peak < 700 << 20, "\(peak >> 20) MiB for \(sql.prefix(100))")
    }
  }

  @Test func `an interrupted query exits with 130`() throws {
    let installation = try filled()
    let query = try installation.launch(
      ["query", Self.endless, "--config", installation.config.path])
    usleep(700_000)
    query.signal(SIGINT)
    let result = try query.finish(within: 20)
    #expect(result.code == 130 && result.output.isEmpty, "\(result)")
  }

  @Test func `without a projection its views exit with 3 and say what to do`() throws {
    let installation = try filled()
    try FileManager.default.removeItem(at: installation.data.appending(path: "entitlements.sqlite"))
    let result = try installation.run("query", "SELECT status FROM entitlement_v1")
    #expect(result.code == 3 && result.output.isEmpty, "\(result)")
    #expect(result.errors.contains("subledger serve"), "\(result)")
    #expect(result.errors.contains("subledger rebuild --apply"), "\(result)")
    #expect(try installation.run("query", "SELECT count(*) FROM journal_v1").code == 0)
  }

  // MARK: Files

  @Test func `a query changes no file of a folder at rest`() throws {
    let installation = try filled()
    let before = try installation.files()
    let result = try installation.run(
      "query", "SELECT count(*) AS n FROM journal_v1, entitlement_v1", "--csv")
    #expect(result.code == 0 && result.output == "n\n8\n", "\(result)")
    #expect(try installation.files() == before)
  }

  @Test func `a query beside the daemon sees what was acknowledged`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    for number in 1...5 {
      let body = try installation.sign(Sample.notification(number))
      #expect(daemon.client().post(body)?.status == 200)
      let result = try installation.run("query", "SELECT max(seq) AS n FROM journal_v1", "--json")
      #expect(result.code == 0 && result.output == "{\"n\":\(number)}\n", "\(result)")
    }
    try daemon.stop()
  }
}
