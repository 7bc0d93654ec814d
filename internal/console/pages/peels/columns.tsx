import type { App, ListedPeel } from "../../api/mod.ts";
import { Status } from "../../kit/status.tsx";
import type { Column } from "../../kit/table.tsx";
import { Since, Time } from "../../kit/time.tsx";

/** Columns that are shown until somebody chooses others. */
export const usualColumns: readonly string[] = ["id", "alive", "os", "labels", "version", "states", "job"];

/** Every column of the list of peels. */
export function peelColumns({ now }: Pick<App, "now">): readonly Column<ListedPeel>[] {
  return [
    { id: "id", title: "Peel", show: ({ id }) => id, by: ({ id }) => id },
    {
      id: "alive",
      title: "Alive",
      show: (peel) => (
        <>
          <Status word={peel.alive ? "alive" : "silent"} />{" "}
          <span class="muted number">
            {peel.alive_since !== undefined && <Since at={peel.alive_since} now={now} />}
            {peel.silent_since !== undefined && <Since at={peel.silent_since} now={now} />}
          </span>
        </>
      ),
      by: (peel) => `${peel.alive} ${peel.alive_since ?? peel.silent_since ?? ""}`,
    },
    { id: "state", title: "State", show: ({ state }) => <Status word={state} />, by: ({ state }) => state },
    { id: "os", title: "System", wide: true, show: ({ os }) => os ?? "", by: ({ os }) => os ?? "" },
    {
      id: "labels",
      title: "Labels",
      wide: true,
      show: ({ labels }) => <span class="mono">{labelText(labels)}</span>,
      by: ({ labels }) => labelText(labels),
    },
    {
      id: "version",
      title: "Version",
      wide: true,
      show: ({ version }) => <span class="mono">{version}</span>,
      by: ({ version }) => version ?? "",
    },
    {
      id: "states",
      title: "States",
      wide: true,
      show: ({ last_run: run }) => <Status word={run?.status ?? "never"} />,
      by: ({ last_run: run }) => run?.status ?? "never",
    },
    {
      id: "commit",
      title: "Commit",
      wide: true,
      show: ({ environment, commit }) => (
        <span class="mono">{[environment, commit?.slice(0, 10)].filter(Boolean).join(" ")}</span>
      ),
      by: ({ environment, commit }) => `${environment} ${commit}`,
    },
    {
      id: "job",
      title: "Last job",
      wide: true,
      show: ({ last_job: job }) =>
        job === undefined ? (
          ""
        ) : (
          <>
            <Status word={job.outcome ?? "pending"} /> <span class="mono">{job.function}</span>
          </>
        ),
      by: ({ last_job: job }) => job?.at ?? "",
    },
    {
      id: "settings",
      title: "Settings",
      align: "end",
      wide: true,
      show: ({ settings_version: version }) => version ?? "",
      by: ({ settings_version: version }) => version ?? 0,
    },
    {
      id: "address",
      title: "Address",
      wide: true,
      show: ({ address }) => <span class="mono">{address}</span>,
      by: ({ address }) => address ?? "",
    },
    {
      id: "creds",
      title: "Credentials end",
      wide: true,
      show: ({ creds_expires_at: at }) => (at === undefined ? "" : <Time at={at} now={now} />),
      by: ({ creds_expires_at: at }) => at ?? "",
    },
  ];
}

/** `env=prod tier=web` */
const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
