import CCurl
import Platform

/// One request under way, and what has arrived of its response. Not for several threads.
///
/// curl calls back with a pointer to the transfer, so it must live until its handle is removed from
/// the multi handle.
final class Transfer {
  let handle: UnsafeMutableRawPointer
  private var fields: UnsafeMutablePointer<curl_slist>?
  private var resolved: UnsafeMutablePointer<curl_slist>?
  private let bodyLimit: Int
  private let needsBody: Bool
  private var head = ResponseHead()
  /// When the final head was complete, monotonic nanoseconds.
  private var answeredAt: Int64?
  private var body: [UInt8] = []
  /// Bytes of the body that have arrived.
  private var bodyCount = 0
  /// Whether the TLS handshake has begun: curl's own times do not tell it from connecting.
  private var hasBegunTLS = false
  /// Why a callback refused what arrived.
  private var refusal: ClientError?
  private let addresses: AddressPolicy
  /// What curl hands to `subledger_open_socket`; nil if every address is allowed.
  private var judged: UnsafeMutablePointer<subledger_judged>?
  /// Whether an address was refused: the reason if no other one led to a connection.
  private var hasRefusedAddress = false

  /// - Throws: `ClientError.field` for a header field that cannot be sent, `ClientError.failed`
  ///   when curl has no memory.
  init(_ request: ClientRequest, _ settings: ClientSettings) throws(ClientError) {
    guard let handle = curl_easy_init() else { throw .failed("out of memory") }
    self.handle = handle
    (bodyLimit, needsBody) = (settings.bodyBytes, settings.needsBody)
    // The proxy is the operator's own, and judges what it connects to.
    addresses = settings.proxy == nil ? settings.addresses : .any
    try add(request.fields)
    // Without these, curl sends Expect with a long body, and calls any body a form.
    let hasType = request.fields.contains { $0.name.lowercased() == "content-type" }
    try add(hasType ? [("Expect", "")] : [("Expect", ""), ("Content-Type", "")])
    try set(request)
    try set(settings)
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(fields)
    curl_slist_free_all(resolved)
    judged?.deallocate()
  }

  // MARK: Options

  private func add(_ added: [(name: String, value: String)]) throws(ClientError) {
    for (name, value) in added {
      let isName = ClientRequest.isFieldName(name)
      guard isName, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        throw .field(name: isName ? name : "?")
      }
      // A name without a value is a field that curl must not send (CURLOPT_HTTPHEADER(3)).
      guard let list = curl_slist_append(fields, value.isEmpty ? "\(name):" : "\(name): \(value)")
      else { throw .failed("out of memory") }
      fields = list
    }
  }

  private func set(_ request: ClientRequest) throws(ClientError) {
    try set(CURLOPT_URL, request.url.text)
    try check(subledger_set_list(handle, CURLOPT_HTTPHEADER, fields))
    if request.method != .get {
      try set(CURLOPT_POST, 1)
      if request.method != .post { try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
      // One byte more, because an empty array has no address, and without one curl reads the body
      // from standard input.
      try check(subledger_set_body(handle, request.body + [0], request.body.count))
    }
    let context = Unmanaged.passUnretained(self).toOpaque()
    try check(subledger_set_receivers(handle, Self.receiveHead, Self.receiveBody, context))
    try check(subledger_set_tls_begin(handle, Self.beginTLS, context))
  }

  private func set(_ settings: ClientSettings) throws(ClientError) {
    try set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectMilliseconds)
    try set(CURLOPT_TIMEOUT_MS, settings.totalMilliseconds)
    // Signals would reach other threads.
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_PROTOCOLS_STR, "http,https")
    try set(CURLOPT_FOLLOWLOCATION, 0)
    // Not even those that variables such as https_proxy name: a request holds secrets.
    try set(CURLOPT_PROXY, settings.proxy?.text ?? "")
    if !settings.resolved.isEmpty { try resolve(settings.resolved) }
    try set(CURLOPT_PATH_AS_IS, 1)
    try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    try set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    try set(CURLOPT_SSL_VERIFYPEER, 1)
    try set(CURLOPT_SSL_VERIFYHOST, 2)
    if let authorities = settings.authorities { try set(CURLOPT_CAINFO, authorities) }
    if let own = settings.clientCertificate {
      try set(CURLOPT_SSLCERT, own.certificate)
      try set(CURLOPT_SSLKEY, own.key)
    }
    if addresses != .any { try setJudge() }
  }

  private func resolve(_ names: [String]) throws(ClientError) {
    for name in names { resolved = curl_slist_append(resolved, name) }
    try check(subledger_set_list(handle, CURLOPT_RESOLVE, resolved))
  }

  private func setJudge() throws(ClientError) {
    let judged = UnsafeMutablePointer<subledger_judged>.allocate(capacity: 1)
    let context = Unmanaged.passUnretained(self).toOpaque()
    judged.initialize(to: subledger_judged(judge: Self.judge, context: context))
    self.judged = judged
    try check(subledger_set_judge(handle, judged))
  }

  private func set(_ option: CURLoption, _ value: Int) throws(ClientError) {
    try check(subledger_set_number(handle, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) throws(ClientError) {
    try check(subledger_set_text(handle, option, value))
  }

  private func check(_ code: CURLcode) throws(ClientError) {
    guard code == CURLE_OK else { throw .failed(Self.text(code)) }
  }

  // MARK: Callbacks

  private static let receiveHead: subledger_receiver = { bytes, size, count, context in
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return Transfer.at(context)?.receive(head: line) == true ? line.count : 0
  }

  private static let receiveBody: subledger_receiver = { bytes, size, count, context in
    let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
    // Any other count than the one given ends the transfer with CURLE_WRITE_ERROR.
    return Transfer.at(context)?.receive(body: part) == true ? part.count : part.count &+ 1
  }

  private static let beginTLS: subledger_tls_begin = { _, _, context in
    Transfer.at(context)?.hasBegunTLS = true
    return CURLE_OK
  }

  private static let judge: subledger_address_judge = { bytes, count, context in
    let address = Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    return Transfer.at(context)?.mayConnect(to: address) == true ? 1 : 0
  }

  private func mayConnect(to address: [UInt8]) -> Bool {
    let isAllowed = addresses.allows(address)
    if !isAllowed { hasRefusedAddress = true }
    return isAllowed
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
  }

  private func receive(head line: UnsafeRawBufferPointer) -> Bool {
    guard head.add(line) else {
      refusal = .tooLarge(limit: ResponseHead.limit)
      return false
    }
    if head.isComplete, answeredAt == nil, status >= 200 {
      answeredAt = Clock.monotonicNanoseconds()
    }
    return true
  }

  private func receive(body part: UnsafeRawBufferPointer) -> Bool {
    bodyCount += part.count
    if needsBody, head.isEncoded {
      refusal = .encoded
    } else if bodyCount > bodyLimit {
      refusal = .tooLarge(limit: bodyLimit)
    }
    guard refusal == nil else { return false }
    if needsBody { body.append(contentsOf: part) }
    return true
  }

  // MARK: Result

  private var status: Int { subledger_get_number(handle, CURLINFO_RESPONSE_CODE) }

  /// Whether the answer is there, and no more of it is needed.
  var hasAnswer: Bool { !needsBody && answeredAt != nil }

  /// Whether the rest of such an answer was waited for long enough.
  func isOverdue(at now: Int64) -> Bool {
    !needsBody && answeredAt.map { now - $0 >= Self.restMilliseconds * 1_000_000 } ?? false
  }

  /// Milliseconds for which the rest of an answer is read that is not needed.
  static let restMilliseconds: Int64 = 1000

  /// What became of the request, once curl has reported its end.
  func result(_ code: CURLcode) -> Result<ClientResponse, ClientError> {
    guard code == CURLE_OK || hasAnswer else { return .failure(refusal ?? error(code)) }
    guard head.isComplete else { return .failure(.cutOff) }
    return .success(ClientResponse(status: status, fields: head.fields, body: body))
  }

  private func error(_ code: CURLcode) -> ClientError {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST: .resolve
    case CURLE_COULDNT_CONNECT where hasRefusedAddress: .address
    case CURLE_COULDNT_CONNECT:
      .connect(code: Int32(truncatingIfNeeded: subledger_get_number(handle, CURLINFO_OS_ERRNO)))
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_INITFAILED:
      .tls(Self.text(code))
    case CURLE_OPERATION_TIMEDOUT: .timeout(leg)
    case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR: .cutOff
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL: .malformed
    default: .failed(Self.text(code))
    }
  }

  /// The first leg whose end was not reached.
  private var leg: ClientError.Leg {
    let reached = { [handle] (point: CURLINFO) in subledger_get_time(handle, point) > 0 }
    if reached(CURLINFO_STARTTRANSFER_TIME_T) { return .body }
    if reached(CURLINFO_PRETRANSFER_TIME_T) { return .answer }
    if !reached(CURLINFO_NAMELOOKUP_TIME_T) { return .resolve }
    return hasBegunTLS ? .tls : .connect
  }

  /// curl's own text, which holds nothing of the request (curl_easy_strerror(3)).
  private static func text(_ code: CURLcode) -> String { String(cString: curl_easy_strerror(code)) }
}
