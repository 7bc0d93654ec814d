import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { diskFacts } from "./disks.ts";
import type { Facts, FactTable } from "./fact.ts";
import { firmwareFacts } from "./firmware.ts";
import { hardwareFacts } from "./hardware.ts";
import type { Host } from "./host.ts";
import { networkFacts } from "./network.ts";
import { osFacts } from "./os.ts";
import { systemFacts } from "./system.ts";
import { virtualFacts } from "./virtual.ts";

const limitMs = 5_000;

/** All built-in facts. */
export const builtinFacts: FactTable = {
  ...osFacts,
  ...hardwareFacts,
  ...diskFacts,
  ...networkFacts,
  ...firmwareFacts,
  ...virtualFacts,
  ...systemFacts,
};

/** Why a source of facts failed. */
export interface FactProblem {
  /** The name of a fact, or a file. */
  source: string;
  reason: string;
}

/**
 * Collects the facts of a table. A fact that fails or takes longer than 5 s is left out; the others are not
 * affected. A file that several facts use is read once.
 */
export async function collectFacts(
  table: FactTable,
  host: Host,
  clock: Clock,
): Promise<{ facts: Facts; problems: FactProblem[] }> {
  const problems: FactProblem[] = [];
  const seen = readingOnce(host);
  const found = await Promise.all(
    Object.entries(table).map(async ([name, find]): Promise<[string, Plain][]> => {
      try {
        const value = await within(clock, async () => find(seen));
        return value === undefined ? [] : [[name, value]];
      } catch (thrown) {
        problems.push({ source: name, reason: describeError(thrown) });
        return [];
      }
    }),
  );
  return { facts: Object.fromEntries(found.flat()), problems };
}

/** A view of the host in which files do not change during collection. */
function readingOnce(host: Host): Host {
  const texts = new Map<string, () => string | undefined>();
  return {
    ...host,
    read(path) {
      const known = texts.get(path);
      if (known !== undefined) return known();
      let outcome: () => string | undefined;
      try {
        const text = host.read(path);
        outcome = () => text;
      } catch (thrown) {
        outcome = () => {
          throw thrown;
        };
      }
      texts.set(path, outcome);
      return outcome();
    },
  };
}

function within<Value>(clock: Clock, work: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new Error(`no answer within ${limitMs / 1000} s`)));
    work()
      .then(resolve, reject)
      .finally(() => timer.cancel());
  });
}
