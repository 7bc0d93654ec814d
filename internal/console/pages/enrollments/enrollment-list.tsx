import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { App, List } from "../../api/mod.ts";
import type { AddressField } from "../../kit/address-field.ts";
import { Button } from "../../kit/button.tsx";
import { FieldChoices } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { ListPage } from "../../kit/list-page.tsx";
import type { Place } from "../../kit/router.ts";
import { Actions } from "./actions.tsx";
import { columnsOf } from "./columns.tsx";
import { type Action, actions, type Listed, offered } from "./listed.ts";

type State = Listed["state"] | "all";

/** The enrollments in a state; many can be chosen, and decided together. */
export function EnrollmentList(props: {
  app: App;
  place: Place;
  field: AddressField<State>;
  state: State;
  /** Absent while it is read. */
  list: List<Listed> | undefined;
  problem: Error | undefined;
  chosen: Signal<ReadonlySet<string>>;
  toggle(id: string): void;
  begin(action: Action): void;
  children: ComponentChildren;
}) {
  const { app, place, field, state, list, problem, chosen, toggle, begin, children } = props;
  const rows = list?.items ?? [];
  const picked = rows.filter((row) => chosen.value.has(row.id));
  const selectable = rows.filter((row) => offered(app.session, row).length > 0);
  const isPending = state === "pending";
  const has = (id: string) => chosen.value.has(id);
  return (
    <ListPage
      {...{ app, problem, rows: list?.items, more: list?.more }}
      title="Enrollments"
      label="Enrollments"
      word={`${state === "all" ? "in all" : state}${picked.length > 0 ? `, ${picked.length} chosen` : ""}`}
      actions={
        <Actions
          of={actions.filter((action) => picked.some((row) => offered(app.session, row).includes(action)))}
          count={picked.length}
          begin={begin}
        />
      }
      tools={
        <div class="tools">
          <FieldChoices label="State" place={place} field={field} />
          <ChooseAll {...{ picked, selectable, chosen }} />
        </div>
      }
      rowKey={({ id }) => id}
      columns={columnsOf({
        app,
        pending: isPending,
        ...(selectable.length > 0 && { selection: { has, toggle } }),
      })}
      to={({ id }) => `/enrollments/${id}${isPending ? "" : `?state=${state}`}`}
      selected={({ id }) => has(id)}
      empty={<NoEnrollment state={state} />}
    >
      {children}
    </ListPage>
  );
}

function ChooseAll(props: {
  picked: readonly Listed[];
  selectable: readonly Listed[];
  chosen: Signal<ReadonlySet<string>>;
}) {
  const { picked, selectable, chosen } = props;
  if (selectable.length === 0) return null;
  const isAll = picked.length === selectable.length;
  return (
    <Button
      onClick={() => {
        chosen.value = new Set(isAll ? [] : selectable.map(({ id }) => id));
      }}
    >
      {isAll ? "Choose none" : `Choose all ${selectable.length}`}
    </Button>
  );
}

function NoEnrollment({ state }: { state: State }) {
  if (state !== "pending")
    return <Empty title={`No enrollment${state === "all" ? "s yet" : ` is ${state}`}`} />;
  return (
    <Empty title="No host waits" command="svc enroll token create --peel 'web-*' --uses 10">
      Start svc-peel on a host: it asks to join, and waits here until someone compares its fingerprint and
      approves it. With a join token, hosts join without waiting.
    </Empty>
  );
}
