import { Button } from "./button.tsx";

const kept = 6;

/** The ends of a key, by which people tell keys apart, and a button that copies all of it. */
export function ShortKey(props: { value: string; of: string; say(text: string): void }) {
  const { value, of, say } = props;
  const text = value.length > 3 * kept ? `${value.slice(0, kept)}…${value.slice(-kept)}` : value;
  const copy = () =>
    navigator.clipboard.writeText(value).then(
      () => say(`The key of ${of} is copied`),
      () => say("The browser does not let pages copy: mark the key on the page of its owner"),
    );
  return (
    <>
      <span class="mono" title={value}>
        {text}
      </span>{" "}
      <Button kind="in-row" aria-label={`Copy the key of ${of}`} onClick={copy}>
        Copy
      </Button>
    </>
  );
}
