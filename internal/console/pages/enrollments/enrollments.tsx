import type { App, ConsolePage } from "../../api/mod.ts";
import { type AddressField, fieldValue } from "../../kit/address-field.ts";
import type { Place } from "../../kit/router.ts";
import { focusedId, useChoice } from "../../kit/table/choice.tsx";
import { useDialog } from "../../kit/use-dialog.ts";
import { useKeys } from "../../kit/use-keys.ts";
import { DecideDialog } from "./decide-dialog.tsx";
import { EnrollmentList } from "./enrollment-list.tsx";
import { EnrollmentPage } from "./enrollment-page.tsx";
import { type Action, actions, inHandOf, type Listed, offered, verbs } from "./listed.ts";
import { useEnrollments } from "./use-enrollments.ts";

export const enrollmentsPage: ConsolePage = {
  name: "Enrollments",
  path: "/enrollments",
  key: "e",
  may: (session) => session.may("enrollments", "list"),
  View: Enrollments,
};

type State = Listed["state"] | "all";
const states: AddressField<State> = {
  name: "state",
  values: ["pending", "active", "rejected", "revoked", "all"],
  usual: "pending",
};
const actionKeys = { approve: "a", reject: "r", revoke: "v" } as const;

/** Those who wait to be admitted, those who were, and one of them: `/enrollments/<id>?state=…`. */
function Enrollments({ app, place }: { app: App; place: Place }) {
  const [, , id] = place.path.split("/");
  const state = fieldValue(states, place);
  const choice = useChoice();
  const deciding = useDialog<{ action: Action; chosen: readonly Listed[] }>();
  const { value, problem, reload } = useEnrollments(app, state);
  const rows = value?.items ?? [];
  const one = id === undefined ? undefined : rows.find((row) => row.id === id);
  const begin = (action: Action) => {
    const inHand = one === undefined ? inHandOf(rows, choice.chosen.value, focusedId()) : [one];
    const meant = inHand.filter((row) => offered(app.session, row).includes(action));
    if (meant.length > 0) deciding.open({ action, chosen: meant });
  };
  const close = (decided: readonly Listed[]) => {
    deciding.close();
    choice.drop(decided.map((row) => row.id));
    if (decided.length === 0) return;
    if (id !== undefined) app.router.go(`/enrollments?state=${state}`, { replace: true });
    reload();
  };

  const shown = actions.filter((action) => rows.some((row) => offered(app.session, row).includes(action)));
  const bindings = shown.map((action) => [
    actionKeys[action],
    { title: `${verbs[action]} the row, or those that are chosen`, run: () => begin(action) },
  ]);
  const isChoosing = shown.length > 0 && id === undefined;
  useKeys(
    app.keys,
    {
      ...Object.fromEntries(bindings),
      ...(isChoosing && { x: { title: "Choose the row", run: () => choice.toggle(focusedId()) } }),
    },
    [value, id, app.session.view.value],
  );

  const view = { app, state, problem, begin };
  const dialog = deciding.about !== undefined && <DecideDialog app={app} {...deciding.about} close={close} />;
  if (id === undefined) {
    return (
      <EnrollmentList {...view} {...{ place, list: value, choice }} field={states}>
        {dialog}
      </EnrollmentList>
    );
  }
  return (
    <EnrollmentPage {...view} {...{ id, one }} isRead={value !== undefined}>
      {dialog}
    </EnrollmentPage>
  );
}
