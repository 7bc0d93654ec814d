import { useSignal } from "@preact/signals";
import { type App, routes } from "../../api/mod.ts";
import {
  CallPage,
  FunctionFields,
  SubmitFields,
  startAndGo,
  TargetFields,
  TimeoutField,
  useCall,
  useTarget,
} from "../../calls/mod.ts";
import { Card } from "../../kit/card.tsx";
import type { Place } from "../../kit/router.ts";
import { useDialog } from "../../kit/use-dialog.ts";
import { RunDialog } from "./run-dialog.tsx";

/** Runs a function: which, with which arguments, on which peels. `?target=` and `?function=` fill it in. */
export function NewJob({ app, place }: { app: App; place: Place }) {
  const call = useCall(place.query.get("function") ?? "");
  const target = useTarget(app, place.query.get("target") ?? "");
  const timeout = useSignal("1m");
  /** It was submitted: what is missing is shown until it is entered. */
  const requested = useSignal(false);
  const refused = useSignal("");
  const confirming = useDialog();
  const { known, args } = call;
  const { preview, wanted } = target;
  const total = preview?.total ?? 0;
  const name = call.name.value.trim();
  const lacking = call.lacking() || target.lacking();
  const problem = (requested.value && lacking) || refused.value;

  const run = () =>
    startAndGo(app, "job", async () => {
      const request = { target: wanted, function: name, args, timeout: timeout.value.trim() };
      const { jid } = await app.client.call(routes.createJob, request);
      return `/jobs/${jid}`;
    });
  const submit = async () => {
    call.tried.value = true;
    requested.value = true;
    refused.value = "";
    if (lacking !== "" || !call.isReady()) return;
    if (known?.readOnly !== true) {
      confirming.open(true);
      return;
    }
    await run().catch((thrown: Error) => {
      refused.value = thrown.message;
    });
  };

  return (
    <CallPage
      title="New job"
      list={{ words: "All jobs", path: "/jobs" }}
      submit={submit}
      dialog={
        confirming.about && (
          <RunDialog {...{ app, name, args, total, target: wanted, act: run }} close={confirming.close} />
        )
      }
    >
      <Card
        id="what-head"
        title="What"
        beside={
          known !== undefined && <span class="tag">{known.readOnly ? "only reads" : "can change hosts"}</span>
        }
        body="stack"
      >
        <FunctionFields call={call} id="job" arg="arg" label="Function" />
        <TimeoutField id="job-timeout" value={timeout} />
      </Card>
      <Card id="who-head" title="Target" body="stack">
        <TargetFields app={app} id="job-target" target={target} onSubmit={submit} />
        <SubmitFields problem={problem} verb="Run" total={total} />
      </Card>
    </CallPage>
  );
}
