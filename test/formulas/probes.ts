import { known } from "./known.ts";
import type { Machine } from "./machine.ts";

/** A template with what Salt made of it: its text, or its error where the status is not 0. */
export interface Probe {
  name: string;
  template: string;
  status: number;
  salt: string;
}

export interface Compared {
  name: string;
  /** Nothing where both are equal byte for byte. */
  difference?: string;
  /** Why the difference is meant. */
  reason?: string;
}

export async function compareProbe(
  { name, template, status, salt }: Probe,
  machine: Machine,
): Promise<Compared> {
  const ours = await machine.render(template);
  const reason = known.get(name);
  const reported = reason === undefined ? {} : { reason };
  // Both refuse it: the words differ.
  const isEqual = status === 0 ? ours.code === 0 && ours.text === salt : ours.code !== 0;
  if (isEqual) return { name, ...reported };
  return { name, ...reported, difference: `Salt ${shown(status, salt)}, svc ${shown(ours.code, ours.text)}` };
}

function shown(status: number, text: string): string {
  const word = status === 0 ? "writes" : "fails with";
  return `${word} ${JSON.stringify(text.split("\n")[0]?.slice(0, 100))}`;
}
