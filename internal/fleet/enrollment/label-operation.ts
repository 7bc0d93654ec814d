import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { described } from "../../base/schema.ts";
import { operation, operatorOf } from "../operation/mod.ts";
import { announce } from "./announce.ts";
import { enrollmentSchema, isSameSet, labelsField, toStored } from "./record/mod.ts";
import { type ApplyDeps, applyEvent } from "./store/mod.ts";

export const labelEnrollment = operation({
  name: "enrollments.label",
  kind: "decide",
  summary: "Set the labels of a peel",
  description: "The whole set: labels that are not named are removed.",
  input: v.strictObject({
    id: described(v.string(), "Id of the enrollment: `enr-` and a KSUID"),
    labels: labelsField,
    expected: v.optional(described(labelsField, "Refuse to replace other labels than these")),
  }),
  output: v.object({ enrollment: enrollmentSchema }),
  touches: (input) => ({ enrollment: input.id }),
  async run(deps: ApplyDeps, { id, labels, expected }, call) {
    const operator = operatorOf(call);
    const record = await applyEvent(deps, id, { type: "label", labels }, async (_, before) => {
      if (expected !== undefined && !isSameSet(expected, before.labels)) {
        throw new SvcError(
          "conflict",
          `the labels of the enrollment ${id} are not what was expected: look again`,
        );
      }
      await call.judgeLabels?.(before.labels ?? {});
    });
    announce(call, "label", record, operator, { labels: record.labels ?? {} });
    return { enrollment: toStored(record) };
  },
});
