import Migrations

/// The tables of a mirror, as its owner makes them. The daemon's role may only write into them.
public enum MirrorSchema {
  /// What the tables are like. A program that needs others asks for them.
  static let layout: Int64 = 1

  /// The SQL for the owner of the schema to run.
  ///
  /// - Parameters:
  ///   - schema: its name, as configured.
  ///   - role: who writes: it gets no right to change tables; nil for the owner.
  public static func sql(_ schema: String, role: String?) -> String {
    var text = String(decoding: Migrations.mirror, as: UTF8.self)
    for (name, value) in [("{schema}", quoted(schema)), ("{layout}", "\(layout)")] {
      text = text.split(separator: name, omittingEmptySubsequences: false).joined(separator: value)
    }
    guard let role else { return text }
    return text + """

      GRANT USAGE ON SCHEMA \(quoted(schema)) TO \(quoted(role));
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(quoted(schema))
        TO \(quoted(role));

      """
  }

  /// An identifier (postgresql.org/docs/15/sql-syntax-lexical.html).
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }
}
