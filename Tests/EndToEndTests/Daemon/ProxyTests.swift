import Foundation
import StrictJSON
import Support
import Testing

/// `make test-tls`: the nginx.conf that `init` writes, with Debian's nginx on loopback.
@Suite struct ProxyTests {
  private static let nginx = ProcessInfo.processInfo.environment["SUBLEDGER_NGINX"]

  @Test(.enabled(if: ProxyTests.nginx != nil))
  func `notifications are accepted over TLS through nginx`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let work = try InitTests.WorkFolder()
    let (key, certificate) = (work.folder.path + "/key.pem", work.folder.path + "/cert.pem")
    try run(
      work, "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
      ])
    let snippet = try work.run([
      "init", "--print", "nginx", "--host", "localhost", "--listen", "127.0.0.1:\(daemon.port)",
    ]).output
    let port = try freePort()
    let own = snippet.replacing("listen 443 ssl", with: "listen 127.0.0.1:\(port) ssl")
      .replacing("listen [::]:443 ssl;", with: "")
      .replacing("/etc/letsencrypt/live/localhost/fullchain.pem", with: certificate)
      .replacing("/etc/letsencrypt/live/localhost/privkey.pem", with: key)
    let file = work.folder.appending(path: "nginx.conf")
    try Data(
      """
      daemon off; pid \(work.folder.path)/nginx.pid; error_log stderr;
      events {}
      http { access_log off; client_body_temp_path \(work.folder.path)/body;
        proxy_temp_path \(work.folder.path)/proxy; fastcgi_temp_path \(work.folder.path)/f;
        uwsgi_temp_path \(work.folder.path)/u; scgi_temp_path \(work.folder.path)/s;
      \(own) }
      """.utf8
    ).write(to: file)
    let nginx = try RunningCommand(
      ["-c", file.path, "-p", work.folder.path, "-e", "stderr"], in: work.folder,
      program: URL(filePath: Self.nginx ?? ""))
    defer { nginx.signal(SIGTERM) }
    try exchange(installation, work, nginx, "https://localhost:\(port)", certificate)
    nginx.signal(SIGQUIT)
    #expect(try nginx.finish().code == 0)
    try daemon.stop()
  }

  private func exchange(
    _ installation: Installation, _ work: InitTests.WorkFolder, _ nginx: RunningCommand,
    _ address: String, _ certificate: String
  ) throws {
    let body = try installation.file("body.json", [installation.sign(Sample.notification(1))])
    func curl(_ path: String, _ more: [String]) throws -> CommandResult {
      try RunningCommand(
        ["-sS", "--cacert", certificate, "-w", "\n%{http_code}", address + path] + more,
        in: work.folder, program: URL(filePath: "/usr/bin/curl")
      ).finish()
    }
    let post = ["--data-binary", "@\(body)", "-H", "Content-Type: application/json"]
    try nginx.wait(60, "nginx to answer") { try curl("/", []).output.hasSuffix("404") }
    for outcome in ["accepted", "duplicate"] {
      let answer = try curl("/v1/notifications", post)
      #expect(answer.output.hasSuffix("200") && answer.output.contains(outcome), "\(answer)")
    }
    let token = ["-H", "Authorization: Bearer \(Installation.token)"]
    for path in [
      "/v1/entitlements/7000", "/healthz", "/metrics", "/console", "/v1/notifications/",
      "/v1/notifications/../entitlements/7000", "/v1/notifications%2f..%2fentitlements/7000",
    ] {
      let answer = try curl(path, token + ["--path-as-is"])
      #expect(answer.output.hasSuffix("404"), "\(path): \(answer)")
    }
    // TLS 1.1 and older are refused.
    #expect(try curl("/", ["--tls-max", "1.1"]).code != 0)
  }

  private func run(_ work: InitTests.WorkFolder, _ program: String, _ arguments: [String]) throws {
    let finished = try RunningCommand(arguments, in: work.folder, program: URL(filePath: program))
      .finish()
    guard finished.code == 0 else { throw TestFailure("\(program): \(finished)") }
  }

  private func freePort() throws -> UInt16 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(listener, $0, length)
        _ = getsockname(listener, $0, &length)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }
}
