import type { JSX, Ref } from "preact";

type Passed =
  | "class"
  | "placeholder"
  | "required"
  | "spellcheck"
  | "onChange"
  | "aria-describedby"
  | "aria-invalid";

type FieldProps = Pick<JSX.IntrinsicElements["input"], Passed | "children"> & {
  search?: true;
  id: string;
  label: string;
  value: string;
  onText?(text: string): void;
  /** It takes the space that others leave. */
  grow?: true;
  field?: Ref<HTMLInputElement> | undefined;
};

/** A field for a short text, with its label. */
export function Field({ id, label, onText, grow, field, search, children, ...input }: FieldProps) {
  const type = search ? ({ type: "search" } as const) : ({ type: "text" } as const);
  return (
    <div class={grow ? "field grow" : "field"}>
      <label for={id}>{label}</label>
      <input
        id={id}
        ref={field ?? null}
        {...type}
        class="input"
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => onText?.(currentTarget.value)}
        {...input}
      />
      {children}
    </div>
  );
}
