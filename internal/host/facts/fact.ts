import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Host } from "./host.ts";

/** What a peel tells of its host, by name. */
export type Facts = Readonly<Record<string, Plain>>;

/**
 * Facts and how each is found out. `undefined` means that this host has no such fact; what throws costs
 * that one fact. Nothing here changes while a host just runs: a fact that did would be published again
 * and again.
 */
export type FactTable = Readonly<Record<string, (host: Host) => FactValue | Promise<FactValue>>>;
type FactValue = Plain | undefined;

/** What people may not set, as others rely on it to tell hosts apart. */
const protectedFacts: ReadonlySet<string> = new Set(["id", "machine_id", "svc_version"]);

const nameForm = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
const maxDepth = 8;
const maxKeyLength = 255;
const maxValues = 20_000;

/**
 * Checks what somebody wants to be a fact.
 *
 * @param name at most 128 letters, digits, `_`, `-` and `.`
 * @param value plain data without binaries, nested at most 8 deep
 * @returns the value, as plain data
 * @throws SvcError `bad_request` that names the fact
 */
export function checkFact(name: string, value: unknown): Plain {
  const shown = JSON.stringify(name.slice(0, 80));
  if (!nameForm.test(name) || name === "__proto__") {
    throw new SvcError(
      "bad_request",
      `${shown} is no name of a fact: at most 128 letters, digits, "_", "-" and ".", a letter or "_" first`,
    );
  }
  if (protectedFacts.has(name)) throw new SvcError("bad_request", `the fact ${name} cannot be set`);
  let count = 0;
  const check = (at: unknown, depth: number): Plain => {
    if (depth > maxDepth) throw refused(name, `is nested more than ${maxDepth} deep`);
    count += 1;
    if (count > maxValues) throw refused(name, `holds more than ${maxValues} values`);
    if (at === null || typeof at === "boolean" || typeof at === "string") return at;
    if (typeof at === "number") {
      if (!Number.isFinite(at)) throw refused(name, "holds a number that is not finite");
      return at;
    }
    if (Array.isArray(at)) return at.map((item) => check(item, depth + 1));
    if (typeof at !== "object" || Object.getPrototypeOf(at) !== Object.prototype) {
      throw refused(name, "holds something else than text, numbers, booleans, lists and maps");
    }
    return Object.fromEntries(
      Object.entries(at).map(([key, item]) => {
        if (key === "" || key === "__proto__" || key.length > maxKeyLength) {
          throw refused(name, `has a key that is empty, longer than ${maxKeyLength}, or __proto__`);
        }
        return [key, check(item, depth + 1)];
      }),
    );
  };
  return check(value, 0);
}

function refused(name: string, reason: string): SvcError {
  return new SvcError("bad_request", `the fact ${name} ${reason}`);
}
