import type { Plain } from "../../base/msgpack.ts";

/** What the running peel remembers of the audit of its fleet. */
export interface AuditWitness {
  /** The newest entries that masters named to it, oldest first, each as masters signed it. */
  remembered(): { [name: string]: Plain }[];
}
