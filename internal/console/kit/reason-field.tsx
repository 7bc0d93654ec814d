import type { Signal } from "@preact/signals";

/** A field for the reason of a decision. */
export function ReasonField({ id, label, reason }: { id: string; label: string; reason: Signal<string> }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        autocomplete="off"
        value={reason.value}
        onInput={({ currentTarget }) => {
          reason.value = currentTarget.value;
        }}
      />
    </div>
  );
}
