/// Courses that once broke a promise, as they were shrunk.
struct RegressionSchedules: Sendable, CustomStringConvertible {
  let name: String
  let course: FaultSchedule

  var description: String { name }

  static let all = [
    RegressionSchedules(
      name: "a start that failed took the -wal with it",
      course: FaultSchedule(
        posts: [],
        steps: [
          FaultSchedule.Step(action: .crash([])),
          FaultSchedule.Step(
            action: .crash([
              FaultSchedule.Fault(kind: .crash, room: .journal, number: 7),
              FaultSchedule.Fault(kind: .syncFails, room: .journal, number: 0),
              FaultSchedule.Fault(kind: .writeFails, room: .rows, number: 1),
              FaultSchedule.Fault(kind: .syncFails, room: .journal, number: 1),
            ])),
        ])),
    RegressionSchedules(
      name: "rows that could not be written waited for the next notification",
      course: FaultSchedule(
        posts: [FaultSchedule.Post(item: 30, born: 3, fates: [])],
        steps: [
          FaultSchedule.Step(action: .prepareProjection(isCutOff: false)),
          FaultSchedule.Step(action: .pass(hours: 17)),
          FaultSchedule.Step(
            action: .work,
            fault: FaultSchedule.Fault(kind: .diskIsFull(steps: 1), room: .rows, number: 0)),
        ])),
    RegressionSchedules(
      name: "a crash while rows were begun kept them from ever being built",
      course: FaultSchedule(
        posts: [],
        steps: [
          FaultSchedule.Step(action: .loseRows(listToo: true)),
          FaultSchedule.Step(
            action: .prepareProjection(isCutOff: false),
            fault: FaultSchedule.Fault(kind: .crash, room: .rows, number: 5)),
        ])),
    RegressionSchedules(
      name: "rows that were gone back to did not come back when they were deleted",
      course: FaultSchedule(
        posts: [],
        steps: [
          FaultSchedule.Step(action: .prepareProjection(isCutOff: false)),
          FaultSchedule.Step(
            action: .build(isFromScratch: true, isCutOff: false, meanwhile: false)),
          FaultSchedule.Step(action: .adopt), FaultSchedule.Step(action: .rollBack),
          FaultSchedule.Step(action: .work),
          FaultSchedule.Step(action: .loseRows(listToo: false)),
        ])),
  ]
}
