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
import { Card } from "../../kit/card.tsx";
import type { Place } from "../../kit/router.ts";
import { useDialog } from "../../kit/use-dialog.ts";
import { StartDialog } from "./start-dialog.tsx";
import { useRolloutForm } from "./use-rollout-form.ts";
import { WaveFields } from "./wave-fields.tsx";

/** Starts a rollout: a function, on which peels, in which waves, and what stops it. `?target=` and `?function=` fill it in. */
export function NewRollout({ app, place }: { app: App; place: Place }) {
  const form = useRolloutForm(app, place);
  /** It was submitted: what is missing is shown until it is entered. */
  const requested = useSignal(false);
  const confirming = useDialog();
  const { call, check, target, timeout, checkTimeout, hasCheck, total } = form;
  const lacking = form.lacking();
  const submit = () => {
    call.tried.value = true;
    check.tried.value = true;
    requested.value = true;
    if (lacking === "" && form.isReady()) confirming.open(true);
  };
  return (
    <CallPage
      title="New rollout"
      list={{ words: "All rollouts", path: "/rollouts" }}
      submit={submit}
      dialog={
        confirming.about && (
          <StartDialog
            {...{ app, form }}
            act={() => startAndGo(app, "rollout", form.start)}
            close={confirming.close}
          />
        )
      }
    >
      <Card id="what-head" title="What" body="stack">
        <FunctionFields call={call} id="rollout" arg="arg" label="Function" />
        <TimeoutField id="rollout-timeout" value={timeout} />
      </Card>
      <Card id="who-head" title="Target" body="stack">
        <TargetFields app={app} id="rollout-target" target={target} onSubmit={submit} />
      </Card>
      <Card
        id="check-head"
        title="Check after each wave"
        beside={<span class="muted small">Optional</span>}
        wide
        body="stack"
      >
        <FunctionFields call={check} id="check" arg="check-arg" label="Function of the check" />
        {hasCheck && (
          <TextField
            id="check-timeout"
            label="Timeout of the check"
            value={checkTimeout}
            hint="A peel that does not pass in time has failed."
          />
        )}
      </Card>
      <Card id="waves-head" title="In which waves" wide body="stack">
        <WaveFields form={form} />
        <SubmitFields problem={requested.value ? lacking : ""} verb="Start" total={total} />
      </Card>
    </CallPage>
  );
}
