import Clients
import Testing

/// What a connection string may hold.
@Suite struct AddressTests {
  @Test(arguments: [
    "host=/run/postgresql dbname=app user=subledger",
    "host=127.0.0.1 port=5432 dbname=app", "host=localhost dbname=app", "host=::1 dbname=app",
    "hostaddr=127.0.0.1 dbname=app", "postgresql://subledger@localhost/app",
    "host=a,b port=5432 dbname=app sslmode=verify-full sslrootcert=/etc/ca.pem",
    "host=a,b port=5432,5433 dbname=app sslmode=verify-full",
    "postgresql://subledger@db.example.com:5433/app?sslmode=verify-full",
  ])
  func `an address of this machine, or one with a verified certificate, is taken`(
    text: String
  ) throws {
    _ = try PostgresAddress(checking: text)
  }

  @Test(arguments: [
    ("host=/run dbname=app password=hidden-4711", "password is not taken"),
    ("postgresql://u:hidden-4711@localhost/app", "password is not taken"),
    ("host=/run passfile=/hidden-4711", "passfile is not taken"),
    ("host=/run options='-c search_path=hidden-4711'", "options is not taken"),
    ("service=hidden-4711", "service is not taken"),
    ("host=/run sslpassword=hidden-4711", "sslpassword is not taken"),
    ("host=/run replication=database", "replication is not taken"),
    ("dbname=app", "host is missing"), ("", "host is missing"),
    ("host=db.example.com dbname=hidden-4711", "sslmode must be verify-full"),
    ("host=/run,db.example.com dbname=app", "sslmode must be verify-full"),
    ("host=db.example.com sslmode=require", "sslmode must be verify-full"),
    ("host=db.example.com sslmode=verify-ca", "sslmode must be verify-full"),
    ("host=localhost hostaddr=192.0.2.1", "sslmode must be verify-full"),
    ("host=127.0.0.1.example.com", "sslmode must be verify-full"),
    ("host=127.0.0.1 hostaddr=127.0.0.1.example.com", "sslmode must be verify-full"),
    ("host=/run,/other port=1,2,3", "differ in length"), ("host=/run,", "a host is empty"),
    ("host=/run hidden-4711", "no connection string"),
    ("hots=/run dbname=hidden-4711", "no connection string"),
    ("host=/run\0 dbname=hidden-4711", "no connection string"),
  ])
  func `what would send data in the clear or hold a secret is refused`(
    text: String, reason: String
  ) {
    do throws(PostgresAddressError) {
      _ = try PostgresAddress(checking: text)
      Issue.record("\(text) is taken")
    } catch {
      #expect(error.reason.contains(reason), "\(error)")
      #expect(!error.reason.contains("4711"), "the string may hold a secret")
    }
  }
}
