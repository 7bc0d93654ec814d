import { contentCell } from "../../../wire/content-words.ts";
import type { App, ListedPeel } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table/column.ts";
import { monoColumn, statusColumn, textColumn, timeColumn } from "../../kit/table/columns.tsx";
import { Since, Time } from "../../kit/time.tsx";
import { statesOf } from "./standing.ts";

/** Columns that are shown until a person chooses others. */
export const usualColumns: readonly string[] = ["id", "alive", "os", "labels", "version", "states", "job"];

const wide = { wide: true } as const;

/** Every column of the list of peels. */
export function peelColumns({ now }: Pick<App, "now">): readonly Column<ListedPeel>[] {
  return [
    textColumn("id", "Peel", ({ id }) => id),
    aliveColumn(now),
    statusColumn("state", "State", ({ state }) => state),
    textColumn("os", "System", ({ os }) => os, wide),
    monoColumn("labels", "Labels", ({ labels }) => labelText(labels), wide),
    monoColumn("version", "Version", ({ version }) => version, wide),
    {
      id: "states",
      title: "States",
      show: (peel) => <Status {...statesOf(peel)} />,
      by: (peel) => statesOf(peel).word,
    },
    {
      id: "commit",
      title: "Files",
      wide: true,
      show: (peel) => <span class="mono">{peel.environment === undefined ? "" : contentCell(peel)}</span>,
      by: ({ environment, commit }) => `${environment} ${commit}`,
    },
    {
      id: "job",
      title: "Last job",
      wide: true,
      show: ({ last_job: job }) => (job === undefined ? "" : lastJobOf(job)),
      by: ({ last_job: job }) => job?.at ?? "",
    },
    {
      id: "settings",
      title: "Settings",
      align: "end",
      wide: true,
      show: ({ settings_version: version }) => (version === undefined ? "" : <Time at={version} now={now} />),
      by: ({ settings_version: version }) => version ?? 0,
    },
    monoColumn("address", "Address", ({ address }) => address, wide),
    timeColumn(now, "creds", "Credentials end", (peel) => peel.creds_expires_at, wide),
  ];
}

const aliveColumn = (now: App["now"]): Column<ListedPeel> => ({
  id: "alive",
  title: "Alive",
  show: (peel) => (
    <>
      <Status word={peel.alive ? "alive" : "silent"} /> {/* On a phone, how its states are is worth more. */}
      <span class="muted number wide">
        {peel.alive_since !== undefined && <Since at={peel.alive_since} now={now} />}
        {peel.silent_since !== undefined && <Since at={peel.silent_since} now={now} />}
      </span>
    </>
  ),
  by: (peel) => `${peel.alive} ${peel.alive_since ?? peel.silent_since ?? ""}`,
});

/** Elements and no component: the text of a component does not count for the width of its column. */
const lastJobOf = (job: NonNullable<ListedPeel["last_job"]>) => (
  <>
    <Status word={job.outcome ?? "pending"} /> <span class="mono">{job.function}</span>
  </>
);

/** `env=prod tier=web` */
const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
