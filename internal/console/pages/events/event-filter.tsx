import { useSignal } from "@preact/signals";
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
        <div class="field grow" key={name}>
          <label for={`events-${name}`}>{label}</label>
          <input
            id={`events-${name}`}
            {...(name === "tag" ? { ref: first } : {})}
            class="input mono"
            autocomplete="off"
            spellcheck={false}
            placeholder={placeholder}
            value={typed.value[name]}
            onInput={({ currentTarget }) => {
              typed.value = { ...typed.value, [name]: currentTarget.value.trim() };
            }}
          />
        </div>
      ))}
      <button type="submit" class="button below-label">
        Filter
      </button>
    </form>
  );
}
