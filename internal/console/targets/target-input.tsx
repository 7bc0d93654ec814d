import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { App } from "../api/mod.ts";
import { useKeys } from "../kit/use-keys.ts";
import { OptionList } from "./option-list.tsx";
import { useCompletion } from "./use-completion.ts";

export interface TargetInputProps {
  app: App;
  id: string;
  label: string;
  value: string;
  placeholder?: string;
  /** Each change of the text. */
  onInput(text: string): void;
  /** What the parser of masters says of the text, a moment later; `undefined` when nothing is wrong. */
  onJudged?(text: string, problem: string | undefined): void;
  /** Enter, with no option chosen. */
  onSubmit?(): void;
  /** `/` leads here. */
  search?: true;
}

/** A field for a target expression: it offers what can follow, and shows what is wrong with its column. */
export function TargetInput(props: TargetInputProps) {
  const { app, id, label, value, placeholder, onInput, onJudged, onSubmit, search } = props;
  const input = useRef<HTMLInputElement>(null);
  const problem = useSignal<string | undefined>(undefined);
  const focus = () => {
    input.current?.focus();
    input.current?.select();
  };
  useKeys(app.keys, search ? { "/": { title: "Search", run: focus } } : {}, [search]);
  const onText = async (text: string) => {
    onInput(text);
    const { problemOf } = await import("./parser.ts");
    // It may have changed meanwhile.
    if (input.current === null || input.current.value !== text) return;
    problem.value = text.trim() === "" ? undefined : problemOf(text);
    onJudged?.(text, problem.value);
  };
  const completion = useCompletion({ app, input, value, onText });
  const { options, chosen, isShown, step, take, hide, moveCursor } = completion;
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const takes = (event.key === "Enter" || event.key === "Tab") && isShown && chosen >= 0;
    if (by !== undefined || takes) event.preventDefault();
    if (by !== undefined) return step(by);
    if (takes) return take(chosen);
    if (event.key === "Escape") return isShown ? hide() : input.current?.blur();
    if (event.key !== "Enter") return;
    hide();
    onSubmit?.();
  };

  return (
    <div class="target">
      <label class="visually-hidden" for={id}>
        {label}
      </label>
      <input
        ref={input}
        id={id}
        class="input mono"
        type="text"
        role="combobox"
        aria-expanded={isShown}
        aria-controls={`${id}-options`}
        aria-autocomplete="list"
        aria-describedby={`${id}-problem`}
        aria-invalid={problem.value !== undefined}
        aria-activedescendant={isShown && chosen >= 0 ? `${id}-${chosen}` : undefined}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder={placeholder ?? "web-* and G@os:Debian"}
        value={value}
        onFocus={completion.load}
        onBlur={hide}
        onInput={({ currentTarget }) => {
          moveCursor();
          completion.begin();
          onText(currentTarget.value);
        }}
        onKeyUp={moveCursor}
        onClick={moveCursor}
        onKeyDown={onKeyDown}
      />
      <OptionList {...{ id, options, chosen, isShown, take }} />
      <p id={`${id}-problem`} class="problem" aria-live="polite">
        {problem.value}
      </p>
    </div>
  );
}
