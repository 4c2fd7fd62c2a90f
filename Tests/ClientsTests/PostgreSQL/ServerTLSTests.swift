import Clients
import Foundation
import Platform
import Support
import Testing

/// Connections over TLS, which a host that is not on this machine must have.
@Suite struct ServerTLSTests {
  private let server: TemporaryPostgres

  init() throws { server = try TemporaryPostgres(certifiedAs: "localhost") }

  /// - Parameter more: parameters of the connection string.
  private func dial(
    _ host: String, root: String, _ more: String = "user=postgres", password: String? = nil
  ) throws -> PostgresConnection {
    let text =
      "host=\(host) port=\(server.port) dbname=postgres sslmode=verify-full sslrootcert=\(root) \(more)"
    return try PostgresConnection.dial(
      PostgresAddress(checking: text), password: password, by: Deadline(milliseconds: 10_000))
  }

  private func expectRefused(_ host: String, root: String, because part: String) {
    do {
      _ = try dial(host, root: root)
      Issue.record("it connected")
    } catch {
      #expect("\(error)".contains(part), "\(error)")
    }
  }

  @Test func `a server is used if its certificate is of the root and the name that were given`()
    throws
  {
    let connection = try dial("localhost", root: server.certificate)
    #expect(connection.isEncrypted)
    expectRefused("127.0.0.1", root: server.certificate, because: "does not match host name")
    let other = try TemporaryPostgres(certifiedAs: "localhost")
    expectRefused("localhost", root: other.certificate, because: "certificate verify failed")
    expectRefused("localhost", root: server.folder + "/none", because: "does not exist")
  }

  @Test func `a server without TLS is refused where TLS is demanded`() throws {
    let plain = try TemporaryPostgres.shared.get()
    #expect(throws: PostgresError.self) {
      try PostgresConnection.dial(
        PostgresAddress(
          checking: "host=localhost port=\(plain.port) dbname=postgres user=postgres "
            + "sslmode=verify-full sslrootcert=\(server.certificate)"),
        password: nil, by: Deadline(milliseconds: 10_000))
    }
  }

  @Test func `a password can be bound to the TLS connection`() throws {
    try server.sql("CREATE ROLE locked LOGIN PASSWORD 'one'")
    let bound = "user=locked channel_binding=require"
    let connection = try dial("localhost", root: server.certificate, bound, password: "one")
    #expect(connection.isEncrypted)
    #expect(throws: PostgresError.self) {
      try dial("localhost", root: server.certificate, bound, password: "two")
    }
  }
}
