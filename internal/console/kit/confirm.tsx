import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

/** More hosts than these are typed before something dangerous happens to them. */
const maxUntyped = 10;

export interface ConfirmProps {
  /** What will happen, as a question: `Revoke 12 enrollments?` */
  title: string;
  /** The verb of the button: `Revoke` */
  verb: string;
  /** To how many hosts. */
  count: number;
  /** What it means for them. */
  children: ComponentChildren;
  /** Done when it resolves; what it rejects with is shown, and the dialog stays. */
  act(): Promise<void>;
  close(): void;
  /** It cannot be taken back. */
  danger?: boolean;
  /** Something in it must be answered first. */
  blocked?: boolean;
  /** What the button says that leaves it as it is. */
  leave?: string;
}

/** Asks before something happens to hosts. For more than 10 hosts, their number is typed first. */
export function Confirm(props: ConfirmProps) {
  const { title, verb, count, children, act, close, danger, blocked, leave = "Cancel" } = props;
  const typed = useSignal("");
  const problem = useSignal("");
  const busy = useSignal(false);
  const mustType = count > maxUntyped;
  const ready = !busy.value && blocked !== true && (!mustType || typed.value.trim() === String(count));
  return (
    <Dialog label={title} onClose={close}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          if (!ready) return;
          busy.value = true;
          problem.value = "";
          try {
            await act();
            close();
          } catch (thrown) {
            problem.value = thrown instanceof Error ? thrown.message : String(thrown);
            busy.value = false;
          }
        }}
      >
        <h2>{title}</h2>
        <div class="stack">{children}</div>
        {mustType && (
          <div class="field">
            <label for="confirm-count">
              Type {count} to confirm that it concerns {count} hosts
            </label>
            <input
              id="confirm-count"
              class="input number"
              inputMode="numeric"
              autocomplete="off"
              value={typed.value}
              onInput={({ currentTarget }) => {
                typed.value = currentTarget.value;
              }}
            />
          </div>
        )}
        {problem.value !== "" && (
          <p class="problem" role="alert">
            {problem.value}
          </p>
        )}
        <div class="actions">
          <Button onClick={close}>{leave}</Button>
          <button type="submit" class={danger ? "button danger" : "button primary"} disabled={!ready}>
            {busy.value ? `${verb} …` : verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
