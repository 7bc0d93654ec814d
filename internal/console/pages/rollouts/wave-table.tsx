import { displayPeelId } from "../../../base/names/peel-id.ts";
import type { App } from "../../api/mod.ts";
import { outcomeOf } from "../../kit/outcome.ts";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table/table.tsx";
import { Time } from "../../kit/time.tsx";
import type { ShownRollout, ShownWave } from "./waves.ts";

/** The waves with their jobs and counts: the picture in words. */
export function WaveTable({ app, rollout }: { app: App; rollout: ShownRollout }) {
  const mayShow = app.session.may("jobs", "show");
  const job = (jid: string | undefined, text: string) =>
    jid === undefined || !mayShow ? text : <a href={hrefOf(`/jobs/${jid}`)}>{text}</a>;
  return (
    <Table
      label="Waves"
      short
      rows={rollout.waves.map((wave, index) => ({ ...wave, number: index + 1 }))}
      rowKey={({ number }) => String(number)}
      columns={[
        { id: "wave", title: "Wave", show: (wave) => job(wave.jid, `Wave ${wave.number}`) },
        { id: "peels", title: "Peels", align: "end", show: ({ peels }) => peels.length.toLocaleString("en") },
        { id: "hosts", title: "Hosts", wide: true, show: ({ peels }) => <Names peels={peels} /> },
        { id: "counts", title: "Outcomes", show: ({ counts }) => <Counts counts={counts} /> },
        {
          id: "check",
          title: "Check",
          show: (wave) =>
            wave.check_jid === undefined ? (
              ""
            ) : (
              <>
                {job(wave.check_jid, "job")} <Counts counts={wave.check_counts} />
              </>
            ),
        },
        {
          id: "begun",
          title: "Began",
          wide: true,
          show: ({ begun_at: at }) => (at === undefined ? "" : <Time at={at} now={app.now} />),
        },
        {
          id: "ended",
          title: "Ended",
          wide: true,
          show: ({ ended_at: at }) => (at === undefined ? "" : <Time at={at} now={app.now} />),
        },
      ]}
    />
  );
}

const maxNamed = 3;
const maxInTitle = 100;

/** The first hosts of a wave; the pointer shows more of them. */
function Names({ peels }: Pick<ShownWave, "peels">) {
  const names = peels.slice(0, maxInTitle).map(displayPeelId);
  const more = peels.length > maxNamed ? ` and ${(peels.length - maxNamed).toLocaleString("en")} more` : "";
  return (
    <span title={names.join(", ")}>
      {names.slice(0, maxNamed).join(", ")}
      {more}
    </span>
  );
}

function Counts({ counts }: { counts: ShownWave["counts"] }) {
  const known = Object.entries(counts ?? {}).filter(([, count]) => count > 0);
  return (
    <>
      {known.map(([word, count]) => (
        <span key={word}>
          <Status word={word} outcome={outcomeOf(word)} /> <span class="number">{count}</span>{" "}
        </span>
      ))}
    </>
  );
}
