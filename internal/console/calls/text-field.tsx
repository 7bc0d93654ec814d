import type { Signal } from "@preact/signals";

/** A short text with what it means, such as a duration. */
export function TextField(props: {
  id: string;
  label: string;
  value: Signal<string>;
  hint: string;
  problem?: string | undefined;
}) {
  const { id, label, value, hint, problem } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input mono"
        autocomplete="off"
        spellcheck={false}
        aria-describedby={`${id}-hint ${id}-problem`}
        aria-invalid={problem !== undefined}
        value={value.value}
        onInput={({ currentTarget }) => {
          value.value = currentTarget.value;
        }}
      />
      <p id={`${id}-hint`} class="muted small">
        {hint}
      </p>
      {problem !== undefined && (
        <p id={`${id}-problem`} class="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
