import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { defined } from "../../../base/defined.ts";
import { type App, useJobs } from "../../api/mod.ts";
import { type AddressField, fieldValue, withFields } from "../../kit/address-field.ts";
import { LinkButton } from "../../kit/button.tsx";
import { FieldChoices } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { ListPage } from "../../kit/list-page.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import { useKeys, useSearchField } from "../../kit/use-keys.ts";
import { jobColumns } from "./job-columns.tsx";

const maxJobs = 2_000;
const statuses: AddressField<"all" | "running" | "failed" | "completed" | "cancelled"> = {
  name: "status",
  values: ["all", "running", "failed", "completed", "cancelled"],
  usual: "all",
};

/** Jobs, newest first. The address has the filters, so that it can be sent to others. */
export function JobList({ app, place }: { app: App; place: Place }) {
  const value = fieldValue(statuses, place);
  const status = value === "all" ? undefined : value;
  const name = place.query.get("function") || undefined;
  const { value: jobs, problem } = useJobs(app, defined({ status, function: name }), { max: maxJobs });
  // The same objects each time: the table draws only the rows that changed.
  const columns = useMemo(() => jobColumns(app), [app]);
  const mayRun = app.session.may("jobs", "run");
  useKeys(app.keys, mayRun ? { n: { title: "New job", run: () => app.router.go("/jobs/new") } } : {}, [
    mayRun,
  ]);
  return (
    <ListPage
      {...{ app, problem, columns, rows: jobs?.items, more: jobs?.more }}
      title="Jobs"
      label="Jobs"
      rowKey={({ jid }) => jid}
      to={({ jid }) => `/jobs/${jid}`}
      actions={mayRun ? <NewJobButton /> : undefined}
      tools={
        <div class="tools">
          <FieldChoices label="Status" place={place} field={statuses} />
          <FunctionSearch app={app} place={place} />
        </div>
      }
      empty={status === undefined && name === undefined ? <NoJobs mayRun={mayRun} /> : <NoJob />}
    />
  );
}

const NewJobButton = () => (
  <LinkButton kind="primary" to="/jobs/new">
    New job
  </LinkButton>
);

function FunctionSearch({ app, place }: { app: App; place: Place }) {
  const field = useSearchField(app.keys, "Filter by function");
  const typed = useSignal(place.query.get("function") ?? "");
  return (
    <form
      class="target"
      onSubmit={(event) => {
        event.preventDefault();
        app.router.go(withFields(place, { function: typed.value.trim() }), { replace: true });
      }}
    >
      <label class="visually-hidden" for="jobs-function">
        Filter by function, then Enter
      </label>
      <input
        id="jobs-function"
        ref={field}
        class="input mono"
        type="search"
        placeholder="Function: state.*"
        value={typed.value}
        onInput={({ currentTarget }) => {
          typed.value = currentTarget.value;
        }}
      />
    </form>
  );
}

function NoJobs({ mayRun }: { mayRun: boolean }) {
  return (
    <Empty title="No jobs yet" command="svc run '*' test.ping">
      {mayRun ? (
        <>
          <a href={hrefOf("/jobs/new")}>Run a function</a>, here or with svc.
        </>
      ) : (
        "Your roles do not include running jobs. What others run appears here."
      )}
    </Empty>
  );
}

const NoJob = () => (
  <Empty title="No job matches">
    <a href={hrefOf("/jobs")}>Show all jobs</a>
  </Empty>
);
