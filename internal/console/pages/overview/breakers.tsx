import { Fragment } from "preact";
import type { App, routes } from "../../api/mod.ts";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";

type Breaker = NonNullable<(typeof routes.showReactor)["types"]>["answer"]["breakers"][number];

/** The rules of the reactor that do nothing now, because they fired too often. */
export function Breakers({ app, breakers }: { app: App; breakers: readonly Breaker[] }) {
  return (
    <section class="card" aria-labelledby="breakers-head">
      <header>
        <h2 id="breakers-head">Open breakers</h2>
        <a class="small" href={hrefOf("/reactor")}>
          The reactor
        </a>
      </header>
      <dl class="body facts">
        {breakers.map(({ rule, opened_at, open_until }) => (
          <Fragment key={rule}>
            <dt>
              <Status word="open" outcome="failed" />
            </dt>
            <dd>
              <a class="mono" href={hrefOf("/reactor")}>
                {rule}
              </a>{" "}
              <span class="muted">
                since <Time at={opened_at} now={app.now} />, until <Time at={open_until} now={app.now} />
              </span>
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}
