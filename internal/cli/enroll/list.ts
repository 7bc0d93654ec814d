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
      const contested = found.filter((one) => one.contested === true);
      if (contested.length > 0) cli.say(compareThem(contested));
      if (distrusted === undefined) {
        cli.say("no master was asked: which records are TAMPERED is not known here");
      } else if (distrusted > 0) {
        cli.say(
          `${distrusted === 1 ? "1 record is" : `${distrusted} records are`} ignored, because no master vouches for ` +
            `${distrusted === 1 ? "it" : "them"}: find what is TAMPERED with svc enroll list --state all, and put it back with svc enroll restore ID`,
        );
      }
    }),
});

/** Says which peel ids several hosts wait under. */
export function compareThem(contested: readonly EnrollmentSummary[]): string {
  const names = [...new Set(contested.map(({ peel_id }) => displayPeelId(peel_id)))];
  const some = names.slice(0, 3).join(", ") + (names.length > 3 ? ", …" : "");
  return `several hosts wait under one peel id (${some}): compare them, and approve the right one by its id; the others are rejected`;
}

/** Enrollments as a table. The fingerprint of a key is never cut: people compare it with the host. */
export function formatEnrollments(found: readonly EnrollmentSummary[], style: TableStyle): string {
  // A fleet without evidence needs no column for it.
  const proves = found.some((one) => proofOf(one) !== undefined);
  const columns: Columns = {
    ID: "id",
    "PEEL ID": "text",
    HOSTNAME: "spare text",
    STATE: "spare state",
    TRUST: "state",
    ...(proves && { EVIDENCE: "text" }),
    FINGERPRINT: "word",
    CREATED: "spare ago",
  };
  const rows = found.map((one) => [
    ...[one.id, displayPeelId(one.peel_id), one.hostname, one.state, one.trust],
    ...(proves ? [proofOf(one) ?? "-"] : []),
    ...[one.fingerprint, one.created_at],
  ]);
  return formatTable(columns, rows, style);
}

/** What a host proved in addition to its key: the type of its evidence, or `token`. */
export const proofOf = ({ evidence, proved_by: by }: EnrollmentSummary): string | undefined =>
  evidence ?? by?.replace(/:.*/, "");
