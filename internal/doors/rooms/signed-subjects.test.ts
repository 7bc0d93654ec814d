import { expect, test } from "bun:test";
import { signedSubjects } from "../../wire/signed-subjects.ts";
import { rooms } from "./rooms.ts";

interface Line {
  bus?: { subject: string };
}
type Signed = Readonly<Record<string, string | ((token: string) => string)>>;

const tables = new Map(Object.values(rooms).flatMap((room) => Object.entries(room as Record<string, Line>)));

/** What peels judge as signed for a subject that the tables do not have. */
function differences(signed: Signed, lines: ReadonlyMap<string, Line>): string[] {
  return Object.entries(signed).flatMap(([id, subject]) => {
    const judged = typeof subject === "string" ? subject : subject("*");
    const served = lines.get(id)?.bus?.subject;
    return judged === served ? [] : [`${id}: peels judge ${judged}, masters serve ${served}`];
  });
}

test("peels judge requests as signed for the subjects at which masters serve them", () => {
  expect(differences(signedSubjects, tables)).toEqual([]);
});

test("another subject in either of the two is found", () => {
  expect(differences({ ...signedSubjects, createJob: "svc.job.ask" }, tables)).toEqual([
    "createJob: peels judge svc.job.ask, masters serve svc.job.request",
  ]);
  const cancel = (jid: string) => `svc.job.${jid}.stop`;
  expect(differences({ ...signedSubjects, cancelJob: cancel }, tables)).toHaveLength(1);
  const moved = new Map([
    ...tables,
    ["startRollout", { bus: { subject: "svc.admin.rollout.start" } }] as const,
  ]);
  expect(differences(signedSubjects, moved)).toEqual([
    "startRollout: peels judge svc.rollout.start, masters serve svc.admin.rollout.start",
  ]);
  const { approveRequest: _, ...others } = Object.fromEntries(tables);
  expect(differences(signedSubjects, new Map(Object.entries(others)))).toHaveLength(1);
});
