/// A schedule that once broke a promise, after shrinking.
struct RegressionSchedule: Sendable, CustomStringConvertible {
  let name: String
  let schedule: FaultSchedule

  var description: String { name }

  static let all = [
    RegressionSchedule(
      name: "a failed start removed the -wal",
      schedule: FaultSchedule(
        posts: [],
        steps: [
          FaultSchedule.Step(action: .crash([])),
          FaultSchedule.Step(
            action: .crash([
              FaultSchedule.Fault(kind: .crash, file: .journal, number: 7),
              FaultSchedule.Fault(kind: .syncFails, file: .journal, number: 0),
              FaultSchedule.Fault(kind: .writeFails, file: .projection, number: 1),
              FaultSchedule.Fault(kind: .syncFails, file: .journal, number: 1),
            ])),
        ])),
    RegressionSchedule(
      name: "rows that could not be written were only written with the next notification",
      schedule: FaultSchedule(
        posts: [FaultSchedule.Post(item: 30, sentAt: 3, fates: [])],
        steps: [
          FaultSchedule.Step(action: .prepareProjection(isInterrupted: false)),
          FaultSchedule.Step(action: .pass(hours: 17)),
          FaultSchedule.Step(
            action: .work,
            fault: FaultSchedule.Fault(kind: .diskIsFull(steps: 1), file: .projection, number: 0)),
        ])),
    RegressionSchedule(
      name: "a crash while a projection was created prevented every later build",
      schedule: FaultSchedule(
        posts: [],
        steps: [
          FaultSchedule.Step(action: .deleteProjection(listToo: true)),
          FaultSchedule.Step(
            action: .prepareProjection(isInterrupted: false),
            fault: FaultSchedule.Fault(kind: .crash, file: .projection, number: 5)),
        ])),
    RegressionSchedule(
      name: "a projection damaged twice in a row was not built again before its pause",
      schedule: FaultSchedule(
        posts: [
          FaultSchedule.Post(item: 12, sentAt: 12, fates: []),
          FaultSchedule.Post(item: 28, sentAt: 30, fates: []),
        ],
        steps: [
          FaultSchedule.Step(action: .pass(hours: 24)),
          FaultSchedule.Step(action: .work),
          FaultSchedule.Step(
            action: .build(isFromScratch: false, isInterrupted: false, meanwhile: true)),
          FaultSchedule.Step(
            action: .prepareProjection(isInterrupted: true),
            fault: FaultSchedule.Fault(kind: .syncFails, file: .projection, number: 1)),
          FaultSchedule.Step(action: .pass(hours: 24)),
          FaultSchedule.Step(
            action: .work,
            fault: FaultSchedule.Fault(kind: .writeFails, file: .projection, number: 0)),
        ])),
  ]
}
