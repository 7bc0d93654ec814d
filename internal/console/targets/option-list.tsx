import type { Option } from "./complete.ts";

/** How a text can continue; a click takes an option. */
export function OptionList(props: {
  /** Of the field; the list and its options have it at the beginning of theirs. */
  id: string;
  options: readonly Option[];
  chosen: number;
  isShown: boolean;
  take(index: number): void;
}) {
  const { id, options, chosen, isShown, take } = props;
  return (
    <div id={`${id}-options`} class="options" role="listbox" aria-label="Completion" hidden={!isShown}>
      {isShown &&
        options.map(({ text, about }, index) => (
          <div
            key={text}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
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
  );
}
