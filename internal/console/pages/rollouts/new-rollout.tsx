import { useSignal } from "@preact/signals";
import type { App } from "../../api/mod.ts";
import {
  CallPage,
  FunctionFields,
  SubmitFields,
  startAndGo,
  TargetFields,
  TextField,
  TimeoutField,
} from "../../calls/mod.ts";
import type { Place } from "../../kit/router.ts";
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
    <CallPage
      title="New rollout"
      list={{ words: "All rollouts", path: "/rollouts" }}
      submit={submit}
      dialog={
        confirming.value && (
          <StartDialog
            {...{ app, form }}
            act={() => startAndGo(app, "rollout", form.start)}
            close={() => {
              confirming.value = false;
            }}
          />
        )
      }
    >
      <div class="stack">
        <section class="card" aria-labelledby="what-head">
          <header>
            <h2 id="what-head">What</h2>
          </header>
          <div class="body stack">
            <FunctionFields call={call} id="rollout" arg="arg" label="Function" />
            <TimeoutField id="rollout-timeout" value={timeout} />
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
            <SubmitFields problem={asked.value ? lacking : ""} verb="Start" total={total} />
          </div>
        </section>
      </div>
    </CallPage>
  );
}
