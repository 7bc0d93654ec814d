import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { type App, type List, type ListedPeel, usePeels } from "../../api/mod.ts";
import { type AddressField, fieldValue, withFields } from "../../kit/address-field.ts";
import { FieldRadios } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { ListPage } from "../../kit/list-page.tsx";
import type { Place } from "../../kit/router.ts";
import { ChooseAll, choiceColumn, useChoice } from "../../kit/table/choice.tsx";
import type { Column } from "../../kit/table/column.ts";
import { TargetSearch } from "../../targets/mod.ts";
import { ColumnChoice } from "./column-choice.tsx";
import { peelColumns, usualColumns } from "./columns.tsx";
import { byOf, GroupChoice, PeelGroups } from "./peel-groups.tsx";
import { countsOf, isShown, type Show, showValues } from "./standing.ts";
import { useSelection } from "./use-selection.tsx";

const shows: AddressField<Show> = { name: "show", values: showValues, usual: "all" };

/** Peels by a target expression. The address has the expression and the columns, so that it can be sent to others. */
export function PeelList({ app, place }: { app: App; place: Place }) {
  const target = place.query.get("target") ?? "";
  const show = fieldValue(shows, place);
  const chosenColumns = place.query.get("columns")?.split(",") ?? usualColumns;
  const inSight = useRef<readonly ListedPeel[]>([]);
  const { value, problem, reload } = useLastPeels(app, target, inSight);
  const rows = useMemo(() => value?.items.filter((peel) => isShown(peel, show)), [value, show]);
  const choice = useChoice();
  const picked = useMemo(
    () => rows?.filter(({ peel_id: id }) => choice.has(id)) ?? [],
    [rows, choice.chosen.value],
  );
  const selection = useSelection({ app, picked, choice, reload });
  const columns = useMemo(() => peelColumns(app), [app]);
  // Only other columns are other objects: the table draws its rows again then.
  const shown = useMemo(
    () => [
      ...(selection.isOffered
        ? [choiceColumn(choice, { idOf: ({ peel_id: id }: ListedPeel) => id, nameOf: ({ id }) => id })]
        : []),
      ...columns.filter(({ id }) => id === "id" || chosenColumns.includes(id)),
    ],
    [columns, chosenColumns.join(), selection.isOffered],
  );
  const by = byOf(place);
  const grouped = rows !== undefined && by !== undefined;
  return (
    <ListPage
      {...{ app, problem, rows, more: value?.more, inSight }}
      {...(grouped && { instead: <PeelGroups {...{ place, peels: rows, by, target }} /> })}
      title="Peels"
      label="Peels"
      word={picked.length > 0 ? `shown, ${picked.length.toLocaleString("en")} chosen` : "shown"}
      actions={selection.actions}
      rowKey={({ peel_id }) => peel_id}
      columns={shown}
      to={({ id }) => `/peels/${id}`}
      {...(selection.isOffered && { selected: ({ peel_id: id }: ListedPeel) => choice.has(id) })}
      tools={
        <PeelTools {...{ app, place, target, columns }} chosen={chosenColumns} peels={value?.items}>
          {!grouped && selection.isOffered && (
            <ChooseAll
              ids={rows?.map(({ peel_id: id }) => id) ?? []}
              picked={picked.length}
              choice={choice}
            />
          )}
        </PeelTools>
      }
      empty={target === "" && show === "all" ? <NoPeels /> : <NoPeel />}
    >
      {selection.dialog}
    </ListPage>
  );
}

/** What limits the list, and which columns it has. */
function PeelTools(props: {
  app: App;
  place: Place;
  target: string;
  columns: readonly Column<ListedPeel>[];
  chosen: readonly string[];
  peels: readonly ListedPeel[] | undefined;
  children: ComponentChildren;
}) {
  const { app, place, target, columns, chosen, peels, children } = props;
  const counts = useMemo(() => peels && countsOf(peels), [peels]);
  const change = (name: string, text: string) =>
    app.router.go(withFields(place, { [name]: text }), { replace: true });
  return (
    <div class="tools">
      <TargetSearch
        app={app}
        id="peels-target"
        label="Search peels by a target expression"
        placeholder="Search: web-* and G@os:Debian"
        target={target}
        onTarget={(text) => change("target", text)}
      />
      <FieldRadios label="Show" place={place} field={shows} router={app.router} counts={counts} />
      <GroupChoice place={place} peels={peels} router={app.router} />
      <ColumnChoice
        columns={columns.slice(1)}
        chosen={chosen}
        onChange={(ids) => change("columns", ids.join() === usualColumns.join() ? "" : ids.join())}
      />
      {children}
    </div>
  );
}

/** The peels of a target; while another target is read, those of the last one stay. */
function useLastPeels(app: App, target: string, inSight: { readonly current: readonly ListedPeel[] }) {
  const last = useRef<List<ListedPeel> | undefined>(undefined);
  const { value, problem, reload } = usePeels(app, target, { inSight });
  if (value !== undefined) last.current = value;
  return { value: value ?? last.current, problem, reload };
}

const NoPeels = () => (
  <Empty title="No peels yet" command="svc enroll token create --peel 'web-*' --uses 10">
    Create a token, and give it to svc-peel on each host. Hosts that ask without one wait under Enrollments.
  </Empty>
);

const NoPeel = () => (
  <Empty title="No peel matches">Peels that have joined are searched, also those that are silent.</Empty>
);
