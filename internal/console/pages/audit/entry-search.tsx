import { Field } from "../../kit/field.tsx";
import type { Keys } from "../../kit/keys.ts";
import { useSearchField } from "../../kit/use-keys.ts";
import { entryOutcomes } from "./entry.ts";
import { spans } from "./search.ts";

/** The fields by which entries are searched; each counts when it is left, or Enter is pressed. */
export function EntrySearch(props: {
  keys: Keys;
  query: URLSearchParams;
  onChange(name: string, text: string): void;
}) {
  const { keys, query, onChange } = props;
  const first = useSearchField(keys, "Search");
  const fields = [
    { name: "by", title: "Operator", placeholder: "ann" },
    { name: "action", title: "Operation", placeholder: "jobs.*" },
    { name: "peel", title: "Peel", placeholder: "web-1.example.com" },
  ];
  const choices = [
    { name: "outcome", title: "Outcome", all: "Any outcome", values: entryOutcomes },
    { name: "since", title: "Time", all: "All of the time", values: Object.keys(spans) },
  ];
  return (
    <search class="audit-search">
      {fields.map(({ name, title, placeholder }) => (
        <Field
          key={name}
          {...{ id: `audit-${name}`, label: title, placeholder, search: true }}
          field={name === "by" ? first : undefined}
          value={query.get(name) ?? ""}
          onChange={({ currentTarget }) => onChange(name, currentTarget.value.trim())}
        />
      ))}
      {choices.map(({ name, title, all, values }) => (
        <div class="field" key={name}>
          <label for={`audit-${name}`}>{title}</label>
          <select
            id={`audit-${name}`}
            class="select"
            value={query.get(name) ?? ""}
            onChange={({ currentTarget }) => onChange(name, currentTarget.value)}
          >
            <option value="">{all}</option>
            {values.map((value) => (
              <option key={value} value={value}>
                {name === "since" ? `Last ${value}` : value}
              </option>
            ))}
          </select>
        </div>
      ))}
    </search>
  );
}
