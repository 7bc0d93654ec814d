import type { Signal } from "@preact/signals";
import { Field } from "./field.tsx";

/** A field for the reason of a decision. */
export function ReasonField({ id, label, reason }: { id: string; label: string; reason: Signal<string> }) {
  const onText = (text: string) => {
    reason.value = text;
  };
  return <Field {...{ id, label, onText, value: reason.value, spellcheck: true }} />;
}
