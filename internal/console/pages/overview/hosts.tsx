import { useMemo } from "preact/hooks";
import type { ListedPeel } from "../../api/mod.ts";
import { countValues, Distribution, HostGrid } from "../../charts/mod.ts";
import { Card } from "../../kit/card.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { cellsOf, countCells } from "./cells.ts";

/** Every host at a glance, those that need a look first. */
export function Hosts({ peels }: { peels: readonly ListedPeel[] }) {
  const cells = useMemo(() => cellsOf(peels), [peels]);
  const list = (
    <a class="small" href={hrefOf("/peels")}>
      As a list
    </a>
  );
  return (
    <Card id="hosts-head" title="All peels" beside={list} body="stack">
      <HostGrid label="Peels" cells={cells} />
      <ul class="legend">
        {countCells(cells).map(({ word, outcome, count }) => (
          <li key={word}>
            <Status {...{ word, outcome }} /> <span class="number">{count.toLocaleString("en")}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** What runs on the hosts. */
export function Kinds({ peels }: { peels: readonly ListedPeel[] }) {
  const versions = useMemo(
    () =>
      countValues(peels.map(({ version }) => version ?? "not known")).map((group) => ({
        ...group,
        to: targetOf("svc_version", group.value),
      })),
    [peels],
  );
  const systems = useMemo(() => countValues(peels.map(({ os }) => os ?? "not known")), [peels]);
  return (
    <div class="grid">
      <Card id="versions-head" title="Versions of svc-peel" body="plain">
        <Distribution label="Peels by version" groups={versions} />
      </Card>
      <Card id="systems-head" title="Operating systems" body="plain">
        <Distribution label="Peels by operating system" groups={systems} />
      </Card>
    </div>
  );
}

/** A host chooses its facts itself: only what is a plain value in a target becomes a link. */
const targetOf = (fact: string, value: string): string | undefined =>
  /^[\w.+-]{1,64}$/.test(value) ? `/peels?target=${encodeURIComponent(`G@${fact}:${value}`)}` : undefined;
