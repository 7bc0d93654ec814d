import { displayPeelId } from "../../base/names/peel-id.ts";
import { type EnrollmentSummary, enrollmentStates } from "../../fleet/enrollment/record/mod.ts";
import {
  type Columns,
  choice,
  command,
  formatTable,
  type TableStyle,
} from "../../program/command-line/mod.ts";
import { credsArg, directReadArg, withBusFor } from "./connect.ts";
import { readList } from "./read-list.ts";

export const listCommand = command({
  name: "list",
  description: "List enrollments, newest first.",
  examples: ["svc enroll list", "svc enroll list --state active --output json"],
  args: {
    state: choice([...enrollmentStates, "all"], "Only enrollments in this state", { default: "pending" }),
    "direct-kv": directReadArg,
    creds: credsArg,
  },
  run: (args, cli) =>
    withBusFor(cli, args, async (bus) => {
      const { state } = args;
      const { found, distrusted } = await readList(bus, state, args["direct-kv"] === true);
      await cli.print(found, () => formatEnrollments(found, cli));
      if (found.length === 0)
        cli.say(state === "all" ? "no enrollments" : `no enrollments in state ${state}`);
      if (distrusted === undefined) {
        cli.say("no master was asked: which records are TAMPERED is not known here");
      } else if (distrusted > 0) {
        cli.say(
          `${distrusted} of all records are ignored, because no master vouches for them: ` +
            "find those that are TAMPERED with svc enroll list --state all, and restore them with svc enroll restore ID",
        );
      }
    }),
});

/** Enrollments as a table. The fingerprint of a key is never cut: people compare it with the host. */
export function formatEnrollments(found: readonly EnrollmentSummary[], style: TableStyle): string {
  // A fleet without evidence needs no column for it.
  const proves = found.some(({ evidence }) => evidence !== undefined);
  const columns: Columns = {
    ID: "id",
    "PEEL ID": "text",
    HOSTNAME: "wide",
    STATE: "spare state",
    TRUST: "state",
    ...(proves && { EVIDENCE: "text" }),
    FINGERPRINT: "word",
    CREATED: "spare ago",
  };
  const rows = found.map((one) => [
    ...[one.id, displayPeelId(one.peel_id), one.hostname, one.state, one.trust],
    ...(proves ? [one.evidence ?? "-"] : []),
    ...[one.fingerprint, one.created_at],
  ]);
  return formatTable(columns, rows, style);
}
