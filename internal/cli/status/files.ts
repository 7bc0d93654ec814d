import { atColumn } from "../../base/place.ts";
import type { Columns } from "../../program/command-line/mod.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import type { StateFiles } from "../fleet-reads.ts";

type Report = NonNullable<StateFiles["report"]>;
type Refused = Report["refused"][number];

/** The tables of the state files in force, of what is refused, and of what a person should look at. */
export function filesTables({ publisher = "-", environments, report }: StateFiles): [Columns, string[][]][] {
  const { refused = [], hints = [] } = report ?? {};
  return [
    [
      { ENVIRONMENT: "name", COMMIT: "text", FILES: "spare word", SINCE: "ago", "PUBLISHED BY": "text" },
      environments.map(({ content: { environment, commit, snapshot }, since = "-" }) => [
        ...[environment, shortSnapshot(commit), shortSnapshot(snapshot), since, publisher],
      ]),
    ],
    [{ "REFUSED FILES": "text", AT: "text", REASON: "prose" }, refused.flatMap(refusedRows)],
    [
      { "HINTS ON FILES": "text", AT: "text", HINT: "prose" },
      hints.flatMap(({ environment, hints: found }) =>
        found.map(({ reason, ...place }) => [environment, atColumn(place.file, place), reason]),
      ),
    ],
  ];
}

/** A row for each problem in the files, or one for all of them. */
export function refusedRows({ environment, remote, ref, reason, problems = [] }: Refused): string[][] {
  const of = environment ?? remote ?? "-";
  if (problems.length === 0) return [[of, ref ?? "-", reason]];
  return problems.map((one) => [of, atColumn(one.file, one), one.reason]);
}

/** How many environments there are, and how much is refused. */
export function filesTotal({ publisher, environments, report }: StateFiles): string {
  const count = `${environments.length} ${environments.length === 1 ? "environment" : "environments"}`;
  if (publisher === undefined) return `${count}, and no master publishes`;
  if (report === undefined) return `${count}, and the master that publishes does not say what is refused`;
  const { refused, refused_left_out: more = 0 } = report;
  return `${count}, ${refused.length + more} refused`;
}
