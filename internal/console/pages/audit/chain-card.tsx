import type { App } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Fact } from "../../kit/fact.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { chainWords } from "./chain-words.ts";
import { useChain } from "./use-chain.ts";

/** Whether the whole chain is whole, as a master verifies it, and where it breaks. */
export function ChainCard({ app }: { app: App }) {
  const { state, problem, again } = useChain(app);
  const words = state === undefined ? undefined : chainWords(state);
  return (
    <section class={words?.outcome === "failed" ? "card notice failed" : "card"} aria-label="Chain">
      <div class="body stack">
        <Problem problem={problem} />
        <div class="tools">
          {state === undefined || words === undefined ? (
            <span class="muted">Verifying the chain …</span>
          ) : (
            <span role="status">
              <Status word={words.word} outcome={words.outcome} />{" "}
              <span class="muted">
                {words.text} The verification began <Time at={state.began_at} now={app.now} />.
              </span>
            </span>
          )}
          <Button onClick={again} disabled={state?.done !== true}>
            Verify again
          </Button>
        </div>
        {state !== undefined && state.found > state.problems.length && (
          <p class="muted">The first {state.problems.length} are:</p>
        )}
        {state !== undefined && state.found > 0 && (
          <dl class="facts">
            {state.problems.map(({ seq, problem }) => (
              <Fact key={`${seq} ${problem}`} name={<a href={hrefOf(`/audit/${seq}`)}>Entry {seq}</a>}>
                {problem}
              </Fact>
            ))}
          </dl>
        )}
        <p class="muted small">
          A browser trusts the master that answers it. To check the whole chain with your own key, and compare
          it with peels:
        </p>
        <code class="command">svc audit verify --witness '*'</code>
      </div>
    </section>
  );
}
