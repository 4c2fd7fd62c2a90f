/// Refusals of requests, whatever they are about, and of those that carry nothing of Apple's.
extension RefusalEntry {
  static let request: [RefusalEntry] = [
    RefusalEntry(
      400, "http", .anywhere, "The request does not follow HTTP/1.1 (RFC 9112) strictly.",
      "Use a client or a proxy that does."),
    RefusalEntry(
      401, "token", .others, "The read token is missing or unknown.",
      "Send Authorization: Bearer and a read token."),
    RefusalEntry(
      403, "not_allowed", .others, "The token may not do this.",
      "\"may\", bundleIds and environments in its configuration say what it may."),
    RefusalEntry(
      404, "no_such_route", .anywhere, "There is no such path.", "/openapi.json lists all."),
    RefusalEntry(
      405, "method", .anywhere, "The path does not accept this method.",
      "The header Allow names those that it accepts."),
    RefusalEntry(408, "timeout", .anywhere, "The request did not arrive in time."),
    RefusalEntry(
      411, "length_required", .anywhere, "The request does not say how long it is.",
      "Send Content-Length."),
    RefusalEntry(
      413, "too_large", .anywhere,
      "The body is too large. A receipt has 2 MiB and 5,000 purchases at most: import a customer "
        + "with more by one of his transaction ids.",
      "limits.bodyBytes of the configuration is the limit of notifications."),
    RefusalEntry(414, "target_too_long", .anywhere, "The request target is too long."),
    RefusalEntry(
      415, "media_type", .anywhere, "The body is not declared as JSON.",
      "Send application/json in UTF-8, uncompressed. Amazon SNS does if headerContentType of its "
        + "delivery policy says so."),
    RefusalEntry(
      417, "expectation", .anywhere, "The only supported expectation is 100-continue."),
    RefusalEntry(431, "header_too_large", .anywhere, "The header is too large."),
    RefusalEntry(505, "version", .anywhere, "Only HTTP/1.0 and HTTP/1.1 are supported."),
    unavailable("behind", .others, "The rows do not have the event of min_seq yet."),
    unavailable(
      "disk_floor", .signed, "Less disk space is free than limits.diskBytes.", "Free some."),
    unavailable("disk_full", .signed, "The disk is full.", "Free some space."),
    unavailable("in_use", .others, "Another process uses a file that must be changed."),
    unavailable("journal", .signed, "The journal cannot be written.", "The daemon's log says why."),
    unavailable(
      "journal_stalled", .signed, "The disk does not answer.", "The daemon's log says since when."),
    unavailable("overload", .anywhere, "More was asked at once than can be answered in time."),
    unavailable("rows", .others, "The rows cannot be read or changed."),
    unavailable("rows_not_ready", .others, "The rows of this version are being built."),
    unavailable("shared_journal", .signed, "The shared journal cannot be reached."),
    unavailable("shutting_down", .anywhere, "The daemon is stopping."),
    unavailable("store", .others, "A file cannot be read.", "The daemon's log says which."),
    unavailable(
      "too_long", .others, "The answer takes more processor time than a read may use.",
      "Ask for less at once; the daemon's log names the path."),
  ]

  private static func unavailable(
    _ code: String, _ place: Place, _ meaning: String, _ next: String = ""
  ) -> RefusalEntry {
    let again = "Send the request again later."
    return RefusalEntry(
      503, code, place, meaning, next.isEmpty ? again : "\(next) \(again)")
  }

  static let others: [RefusalEntry] = [
    RefusalEntry(
      400, "body", .others,
      "The body is no JSON object, or a member of it is unknown, missing or invalid.",
      "parameter names it, expected says what is valid."),
    RefusalEntry(
      400, "bundle_id", .others, "Two apps have this id.", "Set bundle_id."),
    RefusalEntry(
      400, "query", .others, "A query parameter is unknown, repeated, or has an invalid value.",
      "parameter names it unless it is unknown, expected says what is valid, position counts from "
        + "1."),
    RefusalEntry(404, "no_comparison", .others, "No comparison is stored."),
    RefusalEntry(
      404, "no_key", .others, "Apple can be asked about no app that the token covers.",
      "Configure appStore of the app."),
    RefusalEntry(404, "no_such_account", .others, "No account has this name."),
    RefusalEntry(
      404, "no_such_entitlement", .others,
      "Nothing is known under this id in this environment, or the token may not read it."),
    RefusalEntry(404, "no_such_grant", .others, "This customer has no grant of this id here."),
    RefusalEntry(
      404, "no_such_refund_request", .others,
      "Apple asked nothing about this transaction, or the token may not read it."),
    RefusalEntry(
      404, "no_such_report", .others, "No report has this name.", "/v1/reports lists all."),
    RefusalEntry(
      404, "not_signed_then", .others,
      "Apple had signed nothing of this id by as_of, but has since something about that time.",
      "Ask with knowledge=now for what is known of that time today."),
    RefusalEntry(
      404, "wrong_environment", .others, "The id is known in the other environment alone.",
      "Set the parameter environment."),
    RefusalEntry(
      410, "other_history", .others,
      "The cursor is of another history of the journal, as after a restore.",
      "Go on from an older cursor, or from received: and a time."),
    RefusalEntry(
      422, "idempotency_key", .others,
      "This Idempotency-Key came with another statement before.", "Nothing is stored."),
    RefusalEntry(503, "apple", .others, "Apple did not answer, or not with what it signed."),
    RefusalEntry(503, "order_busy", .others, "Apple is being asked for another order id."),
    RefusalEntry(400, "arrival", .commands, "The line names no way of arrival that is known."),
    RefusalEntry(
      400, "chain", .commands, "The line does not continue the chain of the export.",
      "Import the file as it was exported."),
    RefusalEntry(400, "command", .commands, "The order for a sink is not known."),
    RefusalEntry(400, "ids", .commands, "The ids are no numbers, or too many."),
    RefusalEntry(400, "line_end", .commands, "The line ends in CR LF.", "End lines with LF alone."),
    RefusalEntry(
      400, "owner_statement", .commands,
      "The line is a mapping, a claim or a grant of the owner's, which nobody signed.",
      "Configure the mapping; claims and grants come with a backup. With --keep-chain, mappings of "
        + "configured apps are taken."),
    RefusalEntry(400, "received_at_ms", .commands, "The receive time of the line is no time."),
    RefusalEntry(
      400, "received_at_ms_ahead_of_clock", .commands,
      "The receive time of the line is ahead of this machine's clock."),
    RefusalEntry(
      400, "received_at_ms_behind_head", .commands,
      "The receive time of the line is before that of the newest event.",
      "Import into a new folder, or without receive times."),
    RefusalEntry(400, "statement", .commands, "The statement is not valid."),
    RefusalEntry(400, "too_long", .commands, "The line is longer than any body."),
    RefusalEntry(400, "too_many_lines", .commands, "The batch has too many lines."),
    RefusalEntry(404, "not_found", .commands, "There is nothing to do this with."),
    RefusalEntry(409, "other_fold", .commands, "The daemon has rows of another fold."),
    unavailable("delivery", .commands, "Nothing is sent by this daemon now."),
    unavailable("not_judged", .commands, "Held evidence is not judged yet."),
  ]
}
