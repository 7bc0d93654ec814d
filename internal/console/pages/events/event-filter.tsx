import { useSignal } from "@preact/signals";
import { Field } from "../../kit/field.tsx";
import type { Keys } from "../../kit/keys.ts";
import { useSearchField } from "../../kit/use-keys.ts";
import type { Filter } from "./follow.ts";

const fields = [
  { name: "tag", label: "Tag, a glob", placeholder: "svc/job/**" },
  { name: "source", label: "Source, a peel ID or a glob", placeholder: "web*" },
  { name: "since", label: "Since, a time or a duration ago", placeholder: "10m" },
] as const;

/** The fields that say which events are wanted; they count when the form is sent. */
export function EventFilter(props: { keys: Keys; filter: Filter; onFilter(filter: Filter): void }) {
  const { keys, filter, onFilter } = props;
  const typed = useSignal(filter);
  const first = useSearchField(keys, "Filter");
  return (
    <form
      class="tools"
      aria-label="Filter"
      onSubmit={(event) => {
        event.preventDefault();
        onFilter(typed.value);
      }}
    >
      {fields.map(({ name, label, placeholder }) => (
        <Field
          key={name}
          {...{ id: `events-${name}`, label, placeholder, class: "input mono", grow: true }}
          field={name === "tag" ? first : undefined}
          value={typed.value[name]}
          onText={(text) => {
            typed.value = { ...typed.value, [name]: text.trim() };
          }}
        />
      ))}
      <button type="submit" class="button below-label">
        Filter
      </button>
    </form>
  );
}
