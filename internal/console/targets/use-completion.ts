import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import type { App } from "../api/mod.ts";
import { type Completion, complete, type Known } from "./complete.ts";
import { readKnown } from "./known.ts";

const nothing = (): Known => ({ ids: [], facts: new Map(), labels: new Map(), mayUseSettings: false });

/**
 * Completes the word at the cursor of a field.
 *
 * @param options.value the text of the field
 * @param options.onText gets the text after an option was taken
 */
export function useCompletion(options: {
  app: App;
  input: RefObject<HTMLInputElement | null>;
  value: string;
  onText(text: string): void;
}) {
  const { app, input, value, onText } = options;
  const known = useSignal<Known | undefined>(undefined);
  const open = useSignal(false);
  const chosen = useSignal(-1);
  const cursor = useSignal(value.length);
  const requested = useRef(false);
  const completion = complete(value, cursor.value, known.value ?? nothing());
  const count = completion.options.length;
  return {
    options: completion.options,
    chosen: chosen.value,
    isShown: open.value && count > 0,
    /** Reads what is offered, once. */
    load() {
      if (requested.current) return;
      requested.current = true;
      readKnown(app).then((found) => {
        known.value = found;
      });
    },
    /** The cursor may have moved. */
    moveCursor() {
      cursor.value = input.current?.selectionStart ?? 0;
    },
    hide() {
      open.value = false;
    },
    /** Something was typed. */
    begin() {
      open.value = true;
      chosen.value = -1;
    },
    step(by: number) {
      open.value = true;
      chosen.value = Math.max(-1, Math.min(count - 1, chosen.value + by));
    },
    take(index: number) {
      const taken = takeOption(completion, index, value);
      if (taken === undefined || input.current === null) return;
      input.current.value = taken.text;
      input.current.setSelectionRange(taken.cursor, taken.cursor);
      cursor.value = taken.cursor;
      chosen.value = -1;
      input.current.focus();
      onText(taken.text);
    },
  };
}

/** A text with an option in it, and where the cursor is then: behind the option. */
function takeOption(
  { from, to, options }: Completion,
  index: number,
  text: string,
): { text: string; cursor: number } | undefined {
  const option = options[index];
  if (option === undefined) return undefined;
  const added = option.text + (option.whole ? " " : "");
  return { text: text.slice(0, from) + added + text.slice(to), cursor: from + added.length };
}
