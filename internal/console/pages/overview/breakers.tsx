import type { App, routes } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Fact } from "../../kit/fact.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";

type Breaker = NonNullable<(typeof routes.showReactor)["types"]>["answer"]["breakers"][number];

/** The rules of the reactor that do nothing now, because they fired too often. */
export function Breakers({ app, breakers }: { app: App; breakers: readonly Breaker[] }) {
  const reactor = (
    <a class="small" href={hrefOf("/reactor")}>
      The reactor
    </a>
  );
  return (
    <Card id="breakers-head" title="Open breakers" beside={reactor} body="facts">
      {breakers.map(({ rule, opened_at, open_until }) => (
        <Fact key={rule} name={<Status word="open" outcome="failed" />}>
          <a class="mono" href={hrefOf("/reactor")}>
            {rule}
          </a>{" "}
          <span class="muted">
            since <Time at={opened_at} now={app.now} />, until <Time at={open_until} now={app.now} />
          </span>
        </Fact>
      ))}
    </Card>
  );
}
