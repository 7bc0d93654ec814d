import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../api/mod.ts";
import { complete, type Known } from "./complete.ts";
import { readKnown } from "./known.ts";

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

const nothing = (): Known => ({ ids: [], facts: new Map(), labels: new Map() });

/** A field for a target expression: what can follow is offered, and what is wrong is said with its column. */
export function TargetInput(props: TargetInputProps) {
  const { app, id, label, value, placeholder, onInput, onJudged, onSubmit, search } = props;
  const input = useRef<HTMLInputElement>(null);
  const known = useSignal<Known | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const open = useSignal(false);
  const chosen = useSignal(-1);
  const cursor = useSignal(value.length);
  const asked = useRef(false);

  useLayoutEffect(() => {
    if (!search) return;
    return app.keys.bind({
      "/": {
        title: "Search",
        run: () => {
          input.current?.focus();
          input.current?.select();
        },
      },
    });
  }, [search]);

  const judge = async (text: string) => {
    const { problemOf } = await import("./parser.ts");
    // It may have changed meanwhile.
    if (input.current === null || input.current.value !== text) return;
    problem.value = text.trim() === "" ? undefined : problemOf(text);
    onJudged?.(text, problem.value);
  };
  const onFocus = () => {
    if (asked.current) return;
    asked.current = true;
    readKnown(app).then((found) => {
      known.value = found;
    });
  };
  const look = () => {
    cursor.value = input.current?.selectionStart ?? 0;
  };
  const { from, to, options } = complete(value, cursor.value, known.value ?? nothing());
  const shown = open.value && options.length > 0;
  const take = (index: number) => {
    const option = options[index];
    if (option === undefined || input.current === null) return;
    const added = option.text + (option.whole ? " " : "");
    const text = value.slice(0, from) + added + value.slice(to);
    input.current.value = text;
    input.current.setSelectionRange(from + added.length, from + added.length);
    cursor.value = from + added.length;
    chosen.value = -1;
    input.current.focus();
    onInput(text);
    judge(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      open.value = true;
      chosen.value = Math.max(-1, Math.min(options.length - 1, chosen.value + step));
    } else if (event.key === "Escape") {
      if (shown) open.value = false;
      else input.current?.blur();
    } else if ((event.key === "Enter" || event.key === "Tab") && shown && chosen.value >= 0) {
      event.preventDefault();
      take(chosen.value);
    } else if (event.key === "Enter") {
      open.value = false;
      onSubmit?.();
    }
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
        aria-expanded={shown}
        aria-controls={`${id}-options`}
        aria-autocomplete="list"
        aria-describedby={`${id}-problem`}
        aria-invalid={problem.value !== undefined}
        {...(shown && chosen.value >= 0 ? { "aria-activedescendant": `${id}-${chosen.value}` } : {})}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder={placeholder ?? "web-* and G@os:Debian"}
        value={value}
        onFocus={onFocus}
        onBlur={() => {
          open.value = false;
        }}
        onInput={({ currentTarget }) => {
          look();
          open.value = true;
          chosen.value = -1;
          onInput(currentTarget.value);
          judge(currentTarget.value);
        }}
        onKeyUp={look}
        onClick={look}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-options`} class="options" role="listbox" aria-label="Completion" hidden={!shown}>
        {shown &&
          options.map(({ text, about }, index) => (
            <div
              key={text}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen.value}
              // Before the field loses the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                take(index);
              }}
            >
              <span class="mono">{text}</span>
              <span class="muted small">{about}</span>
            </div>
          ))}
      </div>
      <p id={`${id}-problem`} class="problem" aria-live="polite">
        {problem.value}
      </p>
    </div>
  );
}
