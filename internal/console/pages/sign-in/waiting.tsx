import { useLayoutEffect } from "preact/hooks";
import type { App } from "../../api/mod.ts";
import { Mark } from "../../kit/mark.tsx";

/** What stands there until a master said whether someone is signed in: at once, and what is wrong when none can. */
export function Waiting({ app: { session } }: { app: App }) {
  const outage = session.outage.value;
  const isBus = outage?.status !== 0;
  // In the same moment in which the page says it.
  useLayoutEffect(() => {
    document.title = outage === undefined ? "svc" : "No answer \u00b7 svc";
  }, [outage]);
  if (outage === undefined) {
    return (
      <main class="sign-in waiting">
        <p class="card" role="status">
          Waiting for a master: the console asked {location.host} whether you are signed in, and the answer
          takes longer than usual.
        </p>
      </main>
    );
  }
  return (
    <main class="sign-in">
      <div class="card stack">
        <div class="brand">
          <Mark />
          <h1>{isBus ? "The bus of the fleet does not answer" : "No master answers"}</h1>
        </div>
        <p role="alert">
          {isBus
            ? `A master answers at ${location.host}, but the bus behind it does not. Hosts continue what they run; nothing can be shown or started until the bus is back.`
            : `No svc-master answers at ${location.host}: it does not run there, or the network does not reach it.`}
        </p>
        <div class="field">
          <span>On the host of a master:</span>
          <code class="command">{isBus ? "svc doctor" : "systemctl status svc-master"}</code>
          {isBus && <p class="muted small">It says what is wrong, and what to do next.</p>}
        </div>
        <p class="muted small">This page tries again by itself, and opens as soon as there is an answer.</p>
      </div>
    </main>
  );
}
