import { displayPeelId } from "../../base/peel-id.ts";
import type { Bus } from "../../bus/mod.ts";
import {
  type EnrollmentState,
  type EnrollmentSummary,
  enrollmentStates,
  readEnrollments,
  summarize,
} from "../../fleet/enrollment/mod.ts";
import { enrollmentsOverBus } from "../../fleet/over-bus/mod.ts";
import { command, formatTable } from "../../program/command-line/mod.ts";
import { ask, NoMaster } from "../ask.ts";
import { withBus } from "../operator.ts";
import { directReadArg, openEnrollments } from "./ask.ts";

export const listCommand = command({
  name: "list",
  description: "List enrollments, newest first.",
  args: {
    state: {
      type: "enum",
      options: [...enrollmentStates, "all"],
      default: "pending",
      description: "Only enrollments in this state",
    },
    "direct-kv": directReadArg,
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const state = args.state as EnrollmentState | "all";
      const { found, distrusted } = await listOver(bus, state);
      await cli.print(found, () =>
        formatTable(
          ["ID", "PEEL ID", "HOSTNAME", "STATE", "TRUST", "FINGERPRINT", "CREATED"],
          found.map((one) => [
            one.id,
            displayPeelId(one.peel_id),
            one.hostname,
            one.state,
            one.trust,
            one.fingerprint,
            one.created_at,
          ]),
          cli,
        ),
      );
      if (found.length === 0)
        cli.say(state === "all" ? "no enrollments" : `no enrollments in state ${state}`);
      if (distrusted === undefined) {
        cli.say("no master is answering: which records are TAMPERED is not known here");
      } else if (distrusted > 0) {
        cli.say(
          `${distrusted} of all records count for nothing, as no master vouches for them: ` +
            "find those that are TAMPERED with svc enroll list --state all, and restore them with svc enroll restore ID",
        );
      }
    }),
});

interface Listed {
  found: EnrollmentSummary[];
  /** How many records count for nothing; `undefined` when no master said. */
  distrusted: number | undefined;
}

/** Asks a master, which can judge records; without one, reads what is stored. */
async function listOver(bus: Bus, state: EnrollmentState | "all"): Promise<Listed> {
  const found: EnrollmentSummary[] = [];
  let cursor: string | undefined;
  try {
    for (;;) {
      const after = cursor === undefined ? {} : { cursor };
      const page = await ask(
        bus,
        enrollmentsOverBus.list,
        { state, limit: 1_000, ...after },
        { isHasty: true },
      );
      found.push(...page.enrollments);
      if (page.next === undefined) return { found, distrusted: page.distrusted };
      cursor = page.next;
    }
  } catch (thrown) {
    if (!(thrown instanceof NoMaster)) throw thrown;
    const stored = (await readEnrollments(await openEnrollments(bus)))
      .filter((record) => state === "all" || record.state === state)
      .reverse();
    return { found: stored.map(summarize), distrusted: undefined };
  }
}
