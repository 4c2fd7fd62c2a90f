/// One item of a batch for `Journal.append`.
public enum Submission: Sendable {
  case event(NewEvent)
  case quarantine(NewQuarantine)
  case statement(NewStatement)
}
