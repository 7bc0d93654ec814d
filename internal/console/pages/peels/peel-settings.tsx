import { routes, useAnswer } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { flatten } from "./flatten.ts";
import { LeafTable } from "./leaf-table.tsx";
import type { ViewProps } from "./shown.ts";

/** The settings of a peel by name; what is secret arrives masked. */
export function PeelSettings({ app, peel: { id } }: ViewProps) {
  const { value, problem } = useAnswer(app, routes.showSettings, { id });
  const leaves = value === undefined ? [] : flatten(value).filter(({ path }) => path !== "");
  return (
    <>
      <Problem problem={problem} />
      {value !== undefined && leaves.length === 0 && (
        <Empty title="No settings" command={`svc settings explain ${id}`}>
          No file of the settings directory gives this peel any.
        </Empty>
      )}
      {leaves.length > 0 && <LeafTable label="Settings" name="Setting" leaves={leaves} />}
    </>
  );
}
