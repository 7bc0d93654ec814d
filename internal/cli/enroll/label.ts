import { SvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import { isLabelName, type Labels, loadEnrollment } from "../../fleet/enrollment/mod.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { command } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";
import { idArg, openEnrollments } from "./ask.ts";

/** How often it begins again when another operator changes the labels at the same time. */
const attempts = 5;

export const labelCommand = command({
  name: "label",
  description:
    "Set and remove labels of a peel. Targets use them as T@name:glob, and templates as labels.name.",
  args: {
    id: idArg,
    changes: {
      type: "positional",
      rest: true,
      description: "What changes: env=prod sets a label, env- removes it; without any the labels are shown",
    },
  },
  async run(args, cli) {
    const changes = args.changes.words.map(readChange);
    await withBus(cli, async (bus) => {
      const enrollments = await openEnrollments(bus);
      for (let left = attempts; ; left--) {
        const { record } = await loadEnrollment(enrollments, args.id);
        const { labels: expected = {}, peelId } = record;
        const labels = apply(expected, changes);
        try {
          if (changes.length > 0)
            await ask(bus, enrollmentsOverBus.label, { id: record.id, labels, expected });
        } catch (thrown) {
          // Another operator changed them after they were read.
          if (thrown instanceof SvcError && thrown.kind === "conflict" && left > 1) continue;
          throw thrown;
        }
        const shown = { id: record.id, peel_id: peelId, labels };
        return cli.print(shown, () => `${displayPeelId(peelId)}: ${formatLabels(labels)}`);
      }
    });
  },
});

interface Change {
  name: string;
  /** Absent to remove it. */
  value?: string;
}

/** @throws SvcError `usage` */
function readChange(word: string): Change {
  const [, set, value, removed] = /^([^=]*)=([\s\S]*)$|^([\s\S]*)-$/.exec(word) ?? [];
  const name = set ?? removed ?? word;
  if (!isLabelName(name) || (set === undefined && removed === undefined)) {
    throw new SvcError(
      "usage",
      `${JSON.stringify(word.slice(0, 60))} is not a change of a label: write name=value or name-, where the name has a-z, 0-9, _, . and -, and begins with a letter`,
    );
  }
  return value === undefined ? { name } : { name, value };
}

function apply(labels: Labels, changes: readonly Change[]): Labels {
  const next = new Map(Object.entries(labels));
  for (const { name, value } of changes) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return Object.fromEntries([...next].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function formatLabels(labels: Labels): string {
  const shown = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return shown.length === 0 ? "no labels" : shown.join(" ");
}
