import { useSignal } from "@preact/signals";
import type { App } from "../../api/mod.ts";
import { FunctionFields, startAndGo, TargetFields, TextField } from "../../calls/mod.ts";
import { hrefOf, type Place } from "../../kit/router.ts";
import { StartDialog } from "./start-dialog.tsx";
import { useRolloutForm } from "./use-rollout-form.ts";
import { WaveFields } from "./wave-fields.tsx";

/** Starts a rollout: a function, on whom, in which waves, and what stops it. `?target=` and `?function=` fill it in. */
export function NewRollout({ app, place }: { app: App; place: Place }) {
  const form = useRolloutForm(app, place);
  /** It was submitted: what is missing is told until it is there. */
  const asked = useSignal(false);
  const confirming = useSignal(false);
  const { call, check, target, timeout, checkTimeout, hasCheck, total } = form;
  const lacking = form.lacking();
  const submit = () => {
    call.tried.value = true;
    check.tried.value = true;
    asked.value = true;
    confirming.value = lacking === "" && form.isReady();
  };
  return (
    <div class="page">
      <header class="page-head">
        <h1>New rollout</h1>
        <div class="actions">
          <a class="button" href={hrefOf("/rollouts")}>
            All rollouts
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
        <div class="stack">
          <section class="card" aria-labelledby="what-head">
            <header>
              <h2 id="what-head">What</h2>
            </header>
            <div class="body stack">
              <FunctionFields call={call} id="rollout" arg="arg" label="Function" />
              <TextField
                id="rollout-timeout"
                label="Timeout"
                value={timeout}
                hint="How long a peel may take: 90s or 1h30m, at most 24h."
              />
            </div>
          </section>
          <section class="card" aria-labelledby="check-head">
            <header>
              <h2 id="check-head">Check after each wave</h2>
              <span class="muted small">Optional</span>
            </header>
            <div class="body stack">
              <FunctionFields call={check} id="check" arg="check-arg" label="Function of the check" />
              {hasCheck && (
                <TextField
                  id="check-timeout"
                  label="Timeout of the check"
                  value={checkTimeout}
                  hint="A peel that does not pass in time has failed."
                />
              )}
            </div>
          </section>
        </div>
        <div class="stack">
          <section class="card" aria-labelledby="who-head">
            <header>
              <h2 id="who-head">On whom</h2>
            </header>
            <div class="body stack">
              <TargetFields app={app} id="rollout-target" target={target} onSubmit={submit} />
            </div>
          </section>
          <section class="card" aria-labelledby="waves-head">
            <header>
              <h2 id="waves-head">In which waves</h2>
            </header>
            <div class="body stack">
              <WaveFields form={form} />
              {asked.value && lacking !== "" && (
                <p class="problem" role="alert">
                  {lacking}
                </p>
              )}
              <div class="tools">
                <button type="submit" class="button primary">
                  {total === 0
                    ? "Start"
                    : `Start on ${total.toLocaleString("en")} ${total === 1 ? "peel" : "peels"}`}
                </button>
              </div>
            </div>
          </section>
        </div>
      </form>
      {confirming.value && (
        <StartDialog
          form={form}
          act={() => startAndGo(app, "rollout", form.start)}
          close={() => {
            confirming.value = false;
          }}
        />
      )}
    </div>
  );
}
