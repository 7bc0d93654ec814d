import { displayPeelId } from "../../base/names/peel-id.ts";
import { inspectCertificate, placeOf } from "../../bus/servers/mod.ts";
import { enrollmentStates } from "../../fleet/enrollment/record/mod.ts";
import {
  type Cli,
  type Columns,
  Exit,
  formatFields,
  formatTable,
  type TableStyle,
} from "../../program/command-line/mod.ts";
import { differenceWords } from "../clock-difference.ts";
import type { DirectWords } from "../direct-args.ts";
import { directOf } from "../direct-credentials.ts";
import { readDirectly } from "../direct-reads.ts";
import { filesCells, withFiles } from "../files-column.ts";
import { readFleet } from "../fleet-reads.ts";
import { inTime } from "../in-time.ts";
import { operatorBus, operatorSpan } from "../operator.ts";
import { candidateText } from "../states/releases.ts";
import { filesTables, filesTotal } from "./files.ts";
import { type FleetStatus, readStatus, type StatusPart } from "./read.ts";

/** Maximum number of listed items per kind. `--output json` lists all. */
const maxNamed = 10;

/**
 * Reads the status through the masters, or directly, and prints it.
 *
 * @throws Exit 1 when something did not answer, or a master is not ready
 */
export async function showStatus(cli: Cli, words: DirectWords): Promise<void> {
  await inTime(cli, async ({ late, connect }) => {
    const direct = directOf(cli, words);
    const options = operatorBus(cli, direct);
    const { urls, ca, clientCertificate: client } = options;
    const bus = await connect({ ...options, span: await operatorSpan(cli) });
    // The server that was reached, when there are several.
    const place = placeOf(urls.length === 1 ? (urls[0] ?? "") : `tls://${bus.nats.getServer()}`);
    const certificate = await inspectCertificate(place, { ca, client, clock: cli.clock }).catch(
      () => undefined,
    );
    const reads = direct === undefined ? readFleet(bus) : readDirectly(bus, cli);
    const now = cli.clock.now();
    const { status, failed } = await readStatus(reads, { certificateEnds: certificate?.notAfter, late, now });
    await cli.print(status, () => formatStatus(status, cli));
    if (failed) throw new Exit(1);
  });
}

/** Formats the status for people: totals, then a table for each kind that is not empty. */
export function formatStatus(status: FleetStatus, style: TableStyle): string {
  const { notes } = status;
  const tables = tablesOf(status).flatMap(([columns, rows]) => {
    if (rows.length === 0) return [];
    const over = rows.length > maxNamed ? [`... and ${rows.length - maxNamed} more`] : [];
    return [[formatTable(columns, rows.slice(0, maxNamed), style), ...over].join("\n")];
  });
  return [
    formatFields(totalsOf(status)),
    ...tables,
    ...(notes.length === 0 ? [] : [notes.map((note) => `note: ${note}`).join("\n")]),
  ].join("\n\n");
}

function totalsOf(status: FleetStatus): Parameters<typeof formatFields>[0] {
  const { peels, pending, clones, credentials, strays, jobs, rollouts, masters, files } = status;
  // A zero would look like a count.
  const of = (part: StatusPart, text: string) => (status.not_shown.includes(part) ? "not shown" : text);
  const states = enrollmentStates.flatMap((state) =>
    peels.states[state] === undefined ? [] : [`${peels.states[state]} ${state}`],
  );
  const versions = Object.entries(peels.versions).map(([version, count]) => `${count} of ${version}`);
  const paused = rollouts.filter(({ status: one }) => one === "paused").length;
  return [
    ["enrollments", of("peels", states.join(", ") || "none")],
    ["peels", of("peels", `${peels.alive} alive, ${peels.silent_count} silent`)],
    ...(versions.length === 0 ? [] : [["versions", versions.join(", ")] as const]),
    ["pending", of("pending enrollments", `${pending.length}`)],
    ...(strays.length === 0 ? [] : [["strays", `${strays.length}`] as const]),
    ...(clones.length === 0 ? [] : [["clones suspected", `${clones.length}`] as const]),
    [
      "credentials",
      of(
        "peels",
        `${credentials.within_7_days} end within 7 days, ${credentials.within_30_days} within 30 days, ${credentials.ended} have ended`,
      ),
    ],
    ["running jobs", of("jobs", `${jobs.length}`)],
    ["rollouts", of("rollouts", `${rollouts.length - paused} running, ${paused} paused`)],
    ["masters", of("masters", `${masters.length} alive`)],
    ...(files.publisher === undefined &&
    files.environments.length === 0 &&
    !status.not_shown.includes("state files")
      ? []
      : [["state files", of("state files", filesTotal(files))] as const]),
  ];
}

/** The tables with their rows, of which some may have none. */
function tablesOf(status: FleetStatus): [Columns, string[][]][] {
  const { peels, pending, suspended, clones, copied, strays, jobs, rollouts, masters, leases, ending } =
    status;
  const { candidates } = status;
  return [
    [
      { MASTER: "text", VERSION: "text", SINCE: "ago", READY: "state" },
      masters.map((one) => [one.name, one.version, one.started_at, one.readiness]),
    ],
    [{ "BUS RESTARTED": "text", TIMES: "word", LAST: "ago" }, masters.flatMap(restartCells)],
    [
      { LEASE: "word", HOLDER: "text", SINCE: "ago" },
      leases.map(({ name, holder, since }) => [name, holder, since ?? "-"]),
    ],
    ...filesTables(status.files),
    [
      { PENDING: "id", "PEEL ID": "text", TRUST: "state", CREATED: "ago" },
      pending.map((one) => [one.id, displayPeelId(one.peel_id), one.trust, one.created_at]),
    ],
    [
      { SUSPENDED: "id", "PEEL ID": "text", SINCE: "ago", REASON: "prose" },
      suspended.map((one) => [one.id, displayPeelId(one.peel_id), one.at, one.reason]),
    ],
    [
      { "CLONE SUSPECTED": "id", "PEEL ID": "text", SEEN: "ago" },
      clones.map((one) => [one.id, displayPeelId(one.peel_id), one.seen_at]),
    ],
    [
      { COPIED: "id", "PEEL ID": "text", SEEN: "ago" },
      copied.map((one) => [one.id, displayPeelId(one.peel_id), one.copied_at]),
    ],
    [
      { STRAY: "text", KEY: "text", REFUSED: "ago" },
      strays.map((one) => [displayPeelId(one.peel_id), one.bus_public_key, one.refused_at]),
    ],
    [
      withFiles(
        { RUNNING: "id", FUNCTION: "name", PEELS: "spare word", FILES: "spare text", DEADLINE: "until" },
        jobs,
      ),
      jobs.map((job) => [
        ...[job.jid, job.function, `${job.targets}`],
        ...filesCells(job, jobs),
        job.deadline ?? "-",
      ]),
    ],
    [
      withFiles(
        {
          ...{ ROLLOUT: "id", FUNCTION: "name", PEELS: "spare word", STATUS: "state" },
          ...{ WAVE: "spare word", FAILED: "spare word", FILES: "spare text", "WAITS FOR": "prose" },
        },
        rollouts,
      ),
      rollouts.map((one) => [
        ...[one.id, one.function, `${one.targets}`, one.status],
        ...[`${one.wave}/${one.waves}`, `${one.failures}`],
        ...filesCells(one, rollouts),
        one.waits_for ?? "-",
      ]),
    ],
    [
      { "WAITS FOR A RELEASE": "name", SINCE: "ago", FILES: "prose" },
      candidates.map((one) => [one.environment, one.since, candidateText(one)]),
    ],
    [{ SILENT: "text" }, peels.silent.map((peel) => [displayPeelId(peel)])],
    [
      { "WRONG CLOCK": "text", DIFFERENCE: "word" },
      peels.wrong_clocks.map((one) => [displayPeelId(one.peel_id), differenceWords(one.ahead_ms)]),
    ],
    [
      { "REFUSED COMMANDS": "text", COUNT: "prose" },
      peels.refusing.map((one) => [displayPeelId(one.peel_id), countsOf(one.commands_refused)]),
    ],
    [{ "DISK FULL": "text" }, (peels.full_disks ?? []).map((peel) => [displayPeelId(peel)])],
    [{ "HEALTH OFF": "text" }, peels.without_health.map((peel) => [displayPeelId(peel)])],
    [{ "EXPIRES WITHIN 30 DAYS": "text", AT: "until" }, ending.map(({ what, ends_at }) => [what, ends_at])],
  ];
}

function restartCells({
  name,
  bus_restarts: times,
  bus_restarted_at: at = "-",
}: FleetStatus["masters"][number]) {
  return times === undefined ? [] : [[name, `${times}`, at]];
}

/** `3 expired, 1 unknown_key` */
function countsOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ");
}
