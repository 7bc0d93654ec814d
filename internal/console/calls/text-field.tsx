import type { Signal } from "@preact/signals";
import { Field } from "../kit/field.tsx";

/** A short text with what it means, such as a duration. */
export function TextField(props: {
  id: string;
  label: string;
  value: Signal<string>;
  hint: string;
  problem?: string | undefined;
}) {
  const { id, label, value, hint, problem } = props;
  const onText = (text: string) => {
    value.value = text;
  };
  return (
    <Field
      {...{ id, label, onText, value: value.value, class: "input mono" }}
      aria-describedby={`${id}-hint ${id}-problem`}
      aria-invalid={problem !== undefined}
    >
      <p id={`${id}-hint`} class="muted small">
        {hint}
      </p>
      {problem !== undefined && (
        <p id={`${id}-problem`} class="problem" role="alert">
          {problem}
        </p>
      )}
    </Field>
  );
}
