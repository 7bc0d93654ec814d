import type { ComponentChildren } from "preact";
import type { App, List } from "../../api/mod.ts";
import type { AddressField } from "../../kit/address-field.ts";
import { FieldChoices } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { ListPage } from "../../kit/list-page.tsx";
import type { Place } from "../../kit/router.ts";
import { type Choice, ChooseAll } from "../../kit/table/choice.tsx";
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
  choice: Choice;
  begin(action: Action): void;
  children: ComponentChildren;
}) {
  const { app, place, field, state, list, problem, choice, begin, children } = props;
  const rows = list?.items ?? [];
  const picked = rows.filter(({ id }) => choice.has(id));
  const selectable = rows.filter((row) => offered(app.session, row).length > 0);
  const isPending = state === "pending";
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
          <ChooseAll ids={selectable.map(({ id }) => id)} picked={picked.length} choice={choice} />
        </div>
      }
      rowKey={({ id }) => id}
      columns={columnsOf({
        app,
        pending: isPending,
        ...(selectable.length > 0 && { selection: choice }),
      })}
      to={({ id }) => `/enrollments/${id}${isPending ? "" : `?state=${state}`}`}
      selected={({ id }) => choice.has(id)}
      empty={<NoEnrollment state={state} />}
    >
      {children}
    </ListPage>
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
