import type { Ref } from "preact";
import { useState } from "preact/hooks";
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
        <SearchText
          key={name}
          {...{ id: `audit-${name}`, label: title, placeholder }}
          field={name === "by" ? first : undefined}
          value={query.get(name) ?? ""}
          onEnter={(text) => onChange(name, text)}
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

/** A text that counts when its field is left. What is typed stays until then, whenever the page is drawn again. */
function SearchText(props: {
  id: string;
  label: string;
  placeholder: string;
  field: Ref<HTMLInputElement> | undefined;
  value: string;
  onEnter(text: string): void;
}) {
  const { value, onEnter, ...field } = props;
  const [typed, setTyped] = useState<string>();
  return (
    <Field
      {...field}
      search
      value={typed ?? value}
      onText={setTyped}
      onChange={({ currentTarget }) => {
        setTyped(undefined);
        onEnter(currentTarget.value.trim());
      }}
    />
  );
}
