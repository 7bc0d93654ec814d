import { ArgField } from "./arg-field.tsx";
import type { DocumentedArg } from "./documented.ts";
import type { TypedCall } from "./use-call.ts";

/** As many are shown at once, whether they are required or not. */
const maxAtOnce = 3;

/** Those that a call needs, and the others, where there are many. */
function folded(args: readonly DocumentedArg[]) {
  // The first argument is what a call is about, also where another one can stand for it.
  const first = args.length <= maxAtOnce ? args : args.filter(({ required }, at) => required || at === 0);
  return { first, others: args.filter((one) => !first.includes(one)) };
}

/**
 * The field of a function, with its description, and a field for each of its arguments.
 *
 * @param id begins the ids of the fields: `job` gives `job-function`
 * @param arg begins those of the arguments: `arg` gives `arg-name`
 */
export function FunctionFields(props: { call: TypedCall; id: string; arg: string; label: string }) {
  const { call, id, arg, label } = props;
  const { name, typed, known, functions, problems, tried } = call;
  const { first, others } = folded(known?.args ?? []);
  const isNeeded = (spec: DocumentedArg) =>
    (typed.value[spec.name] ?? "") !== "" || (tried.value && problems[spec.name] !== undefined);
  const field = (spec: DocumentedArg) => (
    <ArgField
      key={`${known?.name} ${spec.name}`}
      id={`${arg}-${spec.name}`}
      spec={spec}
      value={typed.value[spec.name] ?? ""}
      problem={tried.value ? problems[spec.name] : undefined}
      onInput={(text) => {
        typed.value = { ...typed.value, [spec.name]: text };
      }}
    />
  );
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
      {first.map(field)}
      {others.length > 0 && (
        <details class="more" open={others.some(isNeeded)}>
          <summary class="button">
            {others.length} more {others.length === 1 ? "argument" : "arguments"}, none of them required
          </summary>
          <div class="stack">{others.map(field)}</div>
        </details>
      )}
    </>
  );
}
