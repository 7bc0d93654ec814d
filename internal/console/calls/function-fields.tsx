import { ArgField } from "./arg-field.tsx";
import type { TypedCall } from "./use-call.ts";

/**
 * The field of a function, with its description, and a field for each of its arguments.
 *
 * @param id begins the ids of the fields: `job` gives `job-function`
 * @param arg begins those of the arguments: `arg` gives `arg-name`
 */
export function FunctionFields(props: { call: TypedCall; id: string; arg: string; label: string }) {
  const { call, id, arg, label } = props;
  const { name, typed, known, functions, problems, tried } = call;
  return (
    <>
      <div class="field">
        <label for={`${id}-function`}>{label}</label>
        <input
          id={`${id}-function`}
          class="input mono"
          list={`${id}-functions`}
          autocomplete="off"
          spellcheck={false}
          placeholder="test.ping"
          value={name.value}
          onInput={({ currentTarget }) => {
            name.value = currentTarget.value;
            tried.value = false;
          }}
        />
        <datalist id={`${id}-functions`}>
          {functions.map((one) => (
            <option key={one.name} value={one.name} />
          ))}
        </datalist>
        <p class="muted small">{known?.doc ?? `Type to choose one of ${functions.length}.`}</p>
      </div>
      {known?.args.map((spec) => (
        <ArgField
          key={`${known.name} ${spec.name}`}
          id={`${arg}-${spec.name}`}
          spec={spec}
          value={typed.value[spec.name] ?? ""}
          problem={tried.value ? problems[spec.name] : undefined}
          onInput={(text) => {
            typed.value = { ...typed.value, [spec.name]: text };
          }}
        />
      ))}
    </>
  );
}
