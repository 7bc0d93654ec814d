import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Table } from "../../kit/table.tsx";
import { columnsOf } from "./columns.tsx";
import { DecideDialog } from "./decide-dialog.tsx";
import { type Action, actions, type Listed, offered } from "./listed.ts";
import { OneEnrollment } from "./one-enrollment.tsx";
import { useEnrollments } from "./use-enrollments.ts";

const states = ["pending", "active", "rejected", "revoked", "all"] as const;
const verbs = { approve: "Approve", reject: "Reject", revoke: "Revoke" } as const;
const actionKeys = { approve: "a", reject: "r", revoke: "v" } as const;

/** Those who wait to be admitted, those who were, and one of them: `/enrollments/<id>?state=…`. */
export function Enrollments({ app, place }: { app: App; place: Place }) {
  const [, , id] = place.path.split("/");
  const state = states.find((one) => one === place.query.get("state")) ?? "pending";
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const deciding = useSignal<{ action: Action; chosen: readonly Listed[] } | undefined>(undefined);
  const { value, problem, reload } = useEnrollments(app, state);
  const rows = value?.items ?? [];
  const one = id === undefined ? undefined : rows.find((row) => row.id === id);
  const inHand = () => {
    if (one !== undefined) return [one];
    const picked = rows.filter((row) => chosen.value.has(row.id));
    if (picked.length > 0) return picked;
    const focused = focusedId();
    return rows.filter((row) => row.id === focused);
  };
  const begin = (action: Action) => {
    const meant = inHand().filter((row) => offered(app.session, row).includes(action));
    if (meant.length > 0) deciding.value = { action, chosen: meant };
  };
  const toggle = (which: string | undefined) => {
    if (which === undefined) return;
    const next = new Set(chosen.value);
    if (!next.delete(which)) next.add(which);
    chosen.value = next;
  };
  const shown = actions.filter((action) => rows.some((row) => offered(app.session, row).includes(action)));

  useLayoutEffect(() => {
    const each = shown.map((action) => [
      actionKeys[action],
      { title: `${verbs[action]} the row, or those that are chosen`, run: () => begin(action) },
    ]);
    return app.keys.bind({
      ...Object.fromEntries(each),
      ...(shown.length === 0 || id !== undefined
        ? {}
        : { x: { title: "Choose the row", run: () => toggle(focusedId()) } }),
    });
  }, [value, id, app.session.view.value]);

  const dialog = deciding.value !== undefined && (
    <DecideDialog
      app={app}
      {...deciding.value}
      close={(decided) => {
        deciding.value = undefined;
        const ids = new Set(decided.map((row) => row.id));
        chosen.value = new Set([...chosen.value].filter((which) => !ids.has(which)));
        if (ids.size === 0) return;
        if (id !== undefined) app.router.go(`/enrollments?state=${state}`, { replace: true });
        reload();
      }}
    />
  );
  if (id !== undefined) {
    return (
      <div class="page">
        <header class="page-head">
          <h1>{one?.peel ?? "Enrollment"}</h1>
          {one !== undefined && <Status word={one.state} />}
          <div class="actions">
            <a class="button" href={hrefOf(`/enrollments?state=${state}`)}>
              All {state === "all" ? "enrollments" : state}
            </a>
            {one !== undefined && <Actions of={offered(app.session, one)} count={1} begin={begin} />}
          </div>
        </header>
        <Problem problem={problem} />
        {one !== undefined && <OneEnrollment app={app} one={one} />}
        {value !== undefined && one === undefined && (
          <Empty title={`No enrollment ${id} is ${state === "all" ? "known" : state}`}>
            Somebody may have decided about it.{" "}
            <a href={hrefOf(`/enrollments/${id}?state=all`)}>Look among all</a>
          </Empty>
        )}
        {dialog}
      </div>
    );
  }
  const picked = rows.filter((row) => chosen.value.has(row.id));
  const selectable = rows.filter((row) => offered(app.session, row).length > 0);
  return (
    <div class="page tall">
      <header class="page-head">
        <h1>Enrollments</h1>
        <span class="muted number" role="status">
          {value === undefined
            ? "Reading …"
            : `${rows.length.toLocaleString("en")}${value.more ? "+" : ""} ${state === "all" ? "in all" : state}${picked.length > 0 ? `, ${picked.length} chosen` : ""}`}
        </span>
        <div class="actions">
          <Actions
            of={actions.filter((action) => picked.some((row) => offered(app.session, row).includes(action)))}
            count={picked.length}
            begin={begin}
          />
        </div>
      </header>
      <div class="tools">
        <nav class="choices" aria-label="State">
          {states.map((each) => (
            <a
              key={each}
              class="button"
              href={hrefOf(each === "pending" ? "/enrollments" : `/enrollments?state=${each}`)}
              {...(each === state ? { "aria-current": "page" } : {})}
            >
              {each[0]?.toUpperCase() + each.slice(1)}
            </a>
          ))}
        </nav>
        {selectable.length > 0 && (
          <button
            type="button"
            class="button"
            onClick={() => {
              chosen.value =
                picked.length === selectable.length ? new Set() : new Set(selectable.map((row) => row.id));
            }}
          >
            {picked.length === selectable.length ? "Choose none" : `Choose all ${selectable.length}`}
          </button>
        )}
      </div>
      <Problem problem={problem} />
      {value !== undefined && (
        <Table
          label="Enrollments"
          rows={rows}
          rowKey={(row) => row.id}
          columns={columnsOf({
            app,
            pending: state === "pending",
            ...(selectable.length === 0
              ? {}
              : { selection: { has: (which) => chosen.value.has(which), toggle } }),
          })}
          to={(row) => `/enrollments/${row.id}${state === "pending" ? "" : `?state=${state}`}`}
          go={app.router.go}
          keys={app.keys}
          selected={(row) => chosen.value.has(row.id)}
          empty={
            state === "pending" ? (
              <Empty title="No host waits" command="svc enroll token create --peel 'web-*' --uses 10">
                Start svc-peel on a host: it asks to join, and waits here until someone compares its
                fingerprint and approves it. With a join token, hosts join without waiting.
              </Empty>
            ) : (
              <Empty title={`No enrollment${state === "all" ? "s yet" : ` is ${state}`}`} />
            )
          }
        />
      )}
      {dialog}
    </div>
  );
}

function Actions({
  of,
  count,
  begin,
}: {
  of: readonly Action[];
  count: number;
  begin(action: Action): void;
}) {
  return (
    <>
      {of.map((action) => (
        <button
          key={action}
          type="button"
          class={action === "approve" ? "button primary" : "button danger"}
          onClick={() => begin(action)}
        >
          {verbs[action]}
          {count > 1 && ` ${count}`}
        </button>
      ))}
    </>
  );
}

/** The enrollment of the row that has the focus. */
const focusedId = (): string | undefined =>
  document.activeElement?.closest("tr")?.querySelector<HTMLElement>("[data-id]")?.dataset.id;
