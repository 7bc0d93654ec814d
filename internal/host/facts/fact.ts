import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Host } from "./host.ts";

/** The facts of a host, by name. */
export type Facts = Readonly<Record<string, Plain>>;

/**
 * Collectors of facts, by name. `undefined` means that the host does not have the fact; an error only affects
 * that fact. Facts must not change during normal operation, because every change is published.
 */
export type FactTable = Readonly<Record<string, (host: Host) => FactValue | Promise<FactValue>>>;
type FactValue = Plain | undefined;

/** Facts that cannot be set, because they identify hosts. */
const protectedFacts: ReadonlySet<string> = new Set([
  "id",
  "machine_id",
  "svc_version",
  "svc_watchdog",
  "trust_roots",
  "bus_ca_file",
  "refused_statements",
]);

const nameForm = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
const maxDepth = 8;
const maxKeyLength = 255;
const maxValues = 20_000;

/**
 * Validates a custom fact.
 *
 * @param name at most 128 letters, digits, `_`, `-` and `.`
 * @param value plain data without binaries, nested at most 8 deep
 * @returns the value, as plain data
 * @throws SvcError `bad_request` that names the fact
 */
export function checkFact(name: string, value: unknown): Plain {
  const shown = quote(name);
  if (!nameForm.test(name) || name === "__proto__") {
    throw new SvcError(
      "bad_request",
      `${shown} is not a valid fact name: use at most 128 letters, digits, "_", "-" and ".", starting with a letter or "_"`,
    );
  }
  if (protectedFacts.has(name)) throw new SvcError("bad_request", `the fact ${name} cannot be set`);
  let count = 0;
  const check = (at: unknown, depth: number): Plain => {
    if (depth > maxDepth) throw refused(name, `is nested more than ${maxDepth} levels deep`);
    count += 1;
    if (count > maxValues) throw refused(name, `contains more than ${maxValues} values`);
    if (at === null || typeof at === "boolean" || typeof at === "string") return at;
    if (typeof at === "number") {
      if (!Number.isFinite(at)) throw refused(name, "contains a number that is not finite");
      return at;
    }
    if (Array.isArray(at)) return at.map((item) => check(item, depth + 1));
    if (typeof at !== "object" || Object.getPrototypeOf(at) !== Object.prototype) {
      throw refused(name, "contains a value that is not a string, number, boolean, list or map");
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
