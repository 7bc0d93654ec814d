import { defined } from "../../base/defined.ts";
import type { Content } from "../../wire/content.ts";
import type { Releases } from "./view.ts";

/** Whether what is in force of an environment is what was released last, and who signed that. */
export interface ReleaseStanding {
  environment: string;
  isReleased: boolean;
  /** Of the newest release. */
  version?: number;
  operator?: string;
  /** When the record of its signer ends, milliseconds since the Unix epoch. */
  endsAt?: number;
}

export interface StandingDeps {
  releases: Pick<Releases, "environments" | "newest">;
  /** What is published. @throws SvcError `unavailable` before the first publication */
  list(): Promise<readonly { content?: Content }[]>;
  /** When the record of an operator with this key ends; absent where it does not, and where there is none. */
  endOf(operator: string, key: string): number | undefined;
}

/** How each environment stands that is published or released, sorted. */
export async function releaseStandings({
  releases,
  list,
  endOf,
}: StandingDeps): Promise<readonly ReleaseStanding[]> {
  // A fleet without state files has nothing that anybody would wait for.
  const published = await list().catch(() => []);
  const files = published.flatMap(({ content }) => content ?? []);
  const inForce = new Map(files.map(({ environment, snapshot }) => [environment, snapshot]));
  const names = new Set([...inForce.keys(), ...releases.environments()]);
  return [...names].sort().map((environment) => {
    const newest = releases.newest(environment)?.release;
    const snapshot = inForce.get(environment);
    const { version, operator } = newest ?? {};
    const endsAt = newest && endOf(newest.operator, newest.key);
    return {
      environment,
      isReleased: snapshot === undefined || snapshot === newest?.snapshot,
      ...defined({ version, operator, endsAt }),
    };
  });
}
