import { useSignal } from "@preact/signals";
import { type App, routes } from "../../api/mod.ts";
import {
  ArgumentList,
  FunctionFields,
  startAndGo,
  TargetFields,
  TextField,
  useCall,
  useTarget,
} from "../../calls/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";

/** Runs a function: which, with which arguments, on whom. `?target=` and `?function=` fill it in. */
export function NewJob({ app, place }: { app: App; place: Place }) {
  const call = useCall(place.query.get("function") ?? "");
  const target = useTarget(app, place.query.get("target") ?? "");
  const timeout = useSignal("1m");
  /** It was submitted: what is missing is told until it is there. */
  const asked = useSignal(false);
  const refused = useSignal("");
  const confirming = useSignal(false);
  const { known, args } = call;
  const { preview, wanted } = target;
  const total = preview?.total ?? 0;
  const name = call.name.value.trim();
  const lacking = call.lacking() || target.lacking();
  const problem = (asked.value && lacking) || refused.value;

  const run = () =>
    startAndGo(app, "job", async () => {
      const request = { target: wanted, function: name, args, timeout: timeout.value.trim() };
      const { jid } = await app.client.call(routes.createJob, request);
      return `/jobs/${jid}`;
    });
  const submit = async () => {
    call.tried.value = true;
    asked.value = true;
    refused.value = "";
    if (lacking !== "" || !call.isReady()) return;
    if (known?.readOnly !== true) {
      confirming.value = true;
      return;
    }
    await run().catch((thrown: Error) => {
      refused.value = thrown.message;
    });
  };

  return (
    <div class="page">
      <header class="page-head">
        <h1>New job</h1>
        <div class="actions">
          <a class="button" href={hrefOf("/jobs")}>
            All jobs
          </a>
        </div>
      </header>
      <form
        class="grid"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <section class="card" aria-labelledby="what-head">
          <header>
            <h2 id="what-head">What</h2>
            {known !== undefined && (
              <span class="tag">{known.readOnly ? "only reads" : "can change hosts"}</span>
            )}
          </header>
          <div class="body stack">
            <FunctionFields call={call} id="job" arg="arg" label="Function" />
            <TextField
              id="job-timeout"
              label="Timeout"
              value={timeout}
              hint="How long a peel may take: 90s or 1h30m, at most 24h."
            />
          </div>
        </section>
        <section class="card" aria-labelledby="who-head">
          <header>
            <h2 id="who-head">On whom</h2>
          </header>
          <div class="body stack">
            <TargetFields app={app} id="job-target" target={target} onSubmit={submit} />
            {problem !== "" && (
              <p class="problem" role="alert">
                {problem}
              </p>
            )}
            <div class="tools">
              <button type="submit" class="button primary">
                {total === 0
                  ? "Run"
                  : `Run on ${total.toLocaleString("en")} ${total === 1 ? "peel" : "peels"}`}
              </button>
            </div>
          </div>
        </section>
      </form>
      {confirming.value && (
        <Confirm
          title={`Run ${name} on ${total === 1 ? "1 host" : `${total} hosts`}?`}
          verb="Run"
          count={total}
          danger
          act={run}
          close={() => {
            confirming.value = false;
          }}
        >
          <p>
            {name} can change hosts. It runs at once on those that <code>{wanted}</code> means, and on silent
            ones if they return in time.
          </p>
          <ArgumentList args={args} />
        </Confirm>
      )}
    </div>
  );
}
