import Clients
import Foundation
import Support
import Testing

/// Certificates are verified. The server is `openssl s_server`.
@Suite struct TLSTests {
  /// A server for `localhost` with a certificate of its own.
  private final class Server {
    let folder = FileManager.default.temporaryDirectory.appending(path: "sl-tls-\(UUID())")
    let process = Process()
    private(set) var port = 0
    var certificate: String { folder.path + "/certificate.pem" }

    init(name: String) throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let make = Process()
      make.executableURL = URL(filePath: "/usr/bin/openssl")
      make.arguments = [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-keyout", folder.path + "/key.pem", "-out", certificate, "-subj", "/CN=\(name)",
        "-addext", "subjectAltName=DNS:\(name)", "-days", "2",
      ]
      make.standardError = FileHandle.nullDevice
      try make.run()
      make.waitUntilExit()
      process.executableURL = URL(filePath: "/usr/bin/openssl")
      process.arguments = [
        "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key",
        folder.path + "/key.pem", "-www",
      ]
      let output = Pipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      var text = ""
      while port == 0 {
        let data = output.fileHandleForReading.availableData
        guard !data.isEmpty else { throw TestFailure("s_server: \(text)") }
        text += String(decoding: data, as: UTF8.self)
        let found = text.firstMatch(of: /ACCEPT \S*:(\d+)\s/)
        port = found.flatMap { Int($0.1) } ?? 0
      }
    }

    deinit {
      process.terminate()
      try? FileManager.default.removeItem(at: folder)
    }
  }

  private func send(_ server: Server, trusting authorities: String?) throws -> ClientResponse {
    var settings = ClientSettings()
    settings.authorities = authorities
    let url = try #require(ServiceURL("https://localhost:\(server.port)"))
    return try HTTPClient(settings).send(ClientRequest(.get, url))
  }

  private func isTLS(_ error: ClientError?) -> Bool {
    if case .tls = error { true } else { false }
  }

  @Test func `a certificate of an authority that is trusted is accepted`() throws {
    let server = try Server(name: "localhost")
    #expect(try send(server, trusting: server.certificate).status == 200)
  }

  @Test func `a certificate that the system does not trust is refused`() throws {
    let server = try Server(name: "localhost")
    #expect(isTLS(#expect(throws: ClientError.self) { try send(server, trusting: nil) }))
  }

  @Test func `a certificate for another name is refused`() throws {
    let server = try Server(name: "example.com")
    let error = #expect(throws: ClientError.self) {
      try send(server, trusting: server.certificate)
    }
    #expect(isTLS(error))
  }
}
