import type { DocumentedArg } from "./documented.ts";

const hints: Readonly<Record<string, string>> = {
  strings: "One in each line",
  map: '{"name": "value"}',
  any: "Text or JSON",
  duration: "90s",
  path: "/etc/motd",
  mode: "0644",
};

/** A field for one argument of a function, with its description. */
export function ArgField(props: {
  id: string;
  spec: DocumentedArg;
  value: string;
  problem: string | undefined;
  onInput(text: string): void;
}) {
  const { id, spec, value, problem, onInput } = props;
  const { name, type, required, doc, values, long } = spec;
  const common = {
    id,
    "aria-describedby": `${id}-doc ${id}-problem`,
    "aria-invalid": problem !== undefined,
    "aria-required": required,
  };
  const choices = values.length > 0 ? values : type === "boolean" ? ["true", "false"] : [];
  const manyLines = long || ["strings", "map", "any"].includes(type);
  return (
    <div class="field">
      <label for={id}>
        <span class="mono">{name}</span> {required ? "(required)" : `(${type})`}
      </label>
      {choices.length > 0 ? (
        <select
          {...common}
          class="select"
          value={value}
          onChange={({ currentTarget }) => onInput(currentTarget.value)}
        >
          <option value="">{required ? "Choose" : "as it is by default"}</option>
          {choices.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      ) : manyLines ? (
        <textarea
          {...common}
          class="input mono"
          rows={type === "any" ? 1 : 3}
          spellcheck={false}
          placeholder={hints[type] ?? ""}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      ) : (
        <input
          {...common}
          class="input mono"
          type="text"
          inputMode={type === "integer" ? "numeric" : type === "number" ? "decimal" : "text"}
          autocomplete="off"
          spellcheck={false}
          placeholder={hints[type] ?? ""}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
      <p id={`${id}-doc`} class="muted small">
        {doc}
      </p>
      <p id={`${id}-problem`} class="problem" role="alert">
        {problem !== undefined && `${name} ${problem}`}
      </p>
    </div>
  );
}
