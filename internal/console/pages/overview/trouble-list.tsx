import { Card } from "../../kit/card.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import type { Trouble } from "./trouble.ts";

/** What is wrong now and what waits, each in a sentence with what to do. */
export function TroubleList({ troubles }: { troubles: readonly Trouble[] }) {
  return (
    <Card id="trouble-head" title="What needs a look now" body="plain">
      {troubles.length === 0 ? (
        <p>
          <Status word="nothing" outcome="ok" />{" "}
          <span class="muted">Nothing failed, drifted or fell silent, and nothing waits for you.</span>
        </p>
      ) : (
        <ul class="troubles">
          {troubles.map(({ outcome, word, said, to, next }) => (
            <li key={to + said}>
              <Status {...{ outcome, word }} />
              <div>
                <a href={hrefOf(to)}>{said}</a>
                {next !== undefined && <div class="muted small">{next}</div>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
