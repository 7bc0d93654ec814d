import type { ComponentChildren } from "preact";
import { type AddressField, fieldValue, withValue } from "./address-field.ts";
import { hrefOf, type Place, type Router } from "./router.ts";

/** One of several views, each at an address of its own. */
export interface Choice {
  to: string;
  words: ComponentChildren;
  /** It is the one that is shown. */
  isHere: boolean;
}

/** Links to the views of a page. */
export function Choices(props: { label: string; choices: readonly Choice[]; as?: "choices" | "tabs" }) {
  const { label, choices, as = "choices" } = props;
  return (
    <nav class={as} aria-label={label}>
      {choices.map(({ to, words, isHere }) => (
        <a
          key={to}
          class={as === "choices" ? "button" : undefined}
          href={hrefOf(to)}
          aria-current={isHere ? "page" : undefined}
        >
          {words}
        </a>
      ))}
    </nav>
  );
}

interface FieldProps<Value extends string> {
  label: string;
  place: Place;
  field: AddressField<Value>;
}

/** Links that limit a list by a field of its address. */
export function FieldChoices<Value extends string>({ label, place, field }: FieldProps<Value>) {
  const value = fieldValue(field, place);
  const choices = field.values.map((one) => ({
    to: withValue(place, field, one),
    words: capitalized(one),
    isHere: one === value,
  }));
  return <Choices label={label} choices={choices} />;
}

/** The same as radio buttons: the step before is not kept in the history. */
export function FieldRadios<Value extends string>(
  props: FieldProps<Value> & {
    router: Pick<Router, "go">;
    /** How many there are of each, where that is known. */
    counts?: Readonly<Partial<Record<Value, number>>> | undefined;
  },
) {
  const { label, place, field, router, counts = {} as Partial<Record<Value, number>> } = props;
  const value = fieldValue(field, place);
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{label}</legend>
      {field.values.map((one) => (
        <label key={one}>
          <input
            type="radio"
            name={field.name}
            checked={value === one}
            onChange={() => router.go(withValue(place, field, one), { replace: true })}
          />
          <span>
            {capitalized(one)}
            {counts[one] !== undefined && <span class="number"> {counts[one].toLocaleString("en")}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

const capitalized = (word: string): string => `${word[0]?.toUpperCase()}${word.slice(1)}`;
