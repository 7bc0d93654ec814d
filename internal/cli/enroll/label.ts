import { SvcError } from "../../base/errors.ts";
import { displayPeelId, namesOf } from "../../base/names/peel-id.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import type { Labels } from "../../fleet/enrollment/record/mod.ts";
import { command, word } from "../../program/command-line/mod.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { idArg } from "./connect.ts";
import { type Change, formatLabels, readChange } from "./label-change.ts";

/** How often it begins again when another operator changes the labels at the same time. */
const attempts = 5;

export const labelCommand = command({
  name: "label",
  description:
    "Set and remove labels of a peel. Targets use them as T@name:glob, and templates as labels.name.",
  examples: ["svc enroll label enr-3MRx env=prod rack=7 old-"],
  args: {
    id: idArg,
    changes: word("What changes: env=prod sets a label, env- removes it; without any the labels are shown", {
      rest: true,
    }),
  },
  async run(args, cli) {
    const changes = args.changes.words.map(readChange);
    await withBus(cli, async (bus) => {
      const id = await enrollmentId(args.id, bus, cli);
      for (let left = attempts; ; left--) {
        const { enrollment } = await request(bus, enrollmentOperations.showEnrollment, { id });
        const { labels: expected = {}, peel_id: peelId } = enrollment;
        const labels = apply(expected, changes);
        try {
          if (changes.length > 0)
            await request(bus, enrollmentOperations.labelEnrollment, { id, labels, expected });
        } catch (thrown) {
          // Another operator changed them after they were read.
          if (thrown instanceof SvcError && thrown.kind === "conflict" && left > 1) continue;
          throw thrown;
        }
        const shown = { id, ...namesOf(peelId), labels };
        return cli.print(shown, () => `${displayPeelId(peelId)}: ${formatLabels(labels)}`);
      }
    });
  },
});

function apply(labels: Labels, changes: readonly Change[]): Labels {
  const next = new Map(Object.entries(labels));
  for (const { name, value } of changes) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return Object.fromEntries([...next].sort(([one], [other]) => (one < other ? -1 : 1)));
}
