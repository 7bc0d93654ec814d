import type { Signal } from "@preact/signals";
import { TextField } from "./text-field.tsx";

/** How long a peel may take. */
export function TimeoutField({ id, value }: { id: string; value: Signal<string> }) {
  const hint = "How long a peel may take: 90s or 1h30m, at most 24h.";
  return <TextField id={id} label="Timeout" value={value} hint={hint} />;
}
