import { routes, useAnswer } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { flatten, type Leaf } from "./flatten.ts";
import { factText } from "./host-facts.ts";
import { LeafTable } from "./leaf-table.tsx";
import type { ViewProps } from "./shown.ts";

/** What a peel reports of its host. */
export function PeelFacts({ app, peel: { id } }: ViewProps) {
  const { value, problem } = useAnswer(app, routes.getFacts, { id });
  if (problem?.status === 404) {
    return <Empty title="No facts yet">A peel stores its facts when it starts, and when they change.</Empty>;
  }
  return (
    <>
      <Problem problem={problem} />
      {value !== undefined && <LeafTable label="Facts" name="Fact" leaves={flatten(value).map(readable)} />}
    </>
  );
}

const readable = ({ path, text }: Leaf): Leaf => ({ path, text: factText(path, text) });
