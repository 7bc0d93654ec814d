import type { App, List, Query } from "../../api/mod.ts";
import { type AddressField, fieldValue, withValue } from "../../kit/address-field.ts";
import { Count } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { DriftTable } from "./drift-table.tsx";
import type { DriftedPeel } from "./use-drift.ts";

type Status = DriftedPeel["status"];

const titles: Readonly<Record<Status | "differ", string>> = {
  differ: "Not as described",
  failed: "Failed",
  drifted: "Drifted",
  stale: "Last run too long ago",
  never: "Never reported a run",
  described: "As described",
};
const shows: AddressField<Status | "differ"> = {
  name: "show",
  values: ["differ", "failed", "drifted", "stale", "never", "described"],
  usual: "differ",
};

/** The status of the peels that are listed; absent for those that are not as described. */
export function statusOf(place: Place): Status | undefined {
  const value = fieldValue(shows, place);
  return value === "differ" ? undefined : value;
}

/** The peels that are not as described, or those with a status. */
export function Drift(props: { app: App; place: Place; drift: Query<List<DriftedPeel>> }) {
  const { app, place, drift } = props;
  const { value: list, problem } = drift;
  return (
    <section class="stack" aria-labelledby="drift-head">
      <div class="page-head">
        <h2 id="drift-head">Peels</h2>
        <label class="visually-hidden" for="states-show">
          Which peels
        </label>
        <select
          id="states-show"
          class="select choice-width"
          value={fieldValue(shows, place)}
          onChange={({ currentTarget }) => {
            const value = shows.values.find((one) => one === currentTarget.value) ?? shows.usual;
            app.router.go(withValue(place, shows, value), { replace: true });
          }}
        >
          {shows.values.map((one) => (
            <option key={one} value={one}>
              {titles[one]}
            </option>
          ))}
        </select>
        <Count count={list?.items.length} more={list?.more} word="listed" />
      </div>
      <Problem problem={problem} />
      {list !== undefined && <DriftTable app={app} peels={list.items} />}
    </section>
  );
}
