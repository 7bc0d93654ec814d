import type { Plain } from "../../base/msgpack.ts";

/** The settings of one peel. */
export interface SettingsStore {
  /** Whether settings were ever resolved; until then the current ones are empty, and states must not run. */
  readonly resolved: boolean;
  /** Why there are none, in one sentence; absent when they are resolved. */
  readonly reason: string | undefined;
  current(): { readonly [name: string]: Plain };
  /** The same without the values of secrets, for targets: whether one of them matches would tell a part of it. */
  shown?(): { readonly [name: string]: Plain };
  /** What the fleet says of the peel, by name. */
  labels(): Readonly<Record<string, string>>;
  /** The setting at a path such as `web:port`, or the fallback. */
  get(path: string, fallback?: Plain): Plain | undefined;
  /**
   * Asks the masters for what is in force now.
   *
   * @returns whether the settings changed
   * @throws SvcError `unavailable` when they cannot be asked
   */
  refresh(): Promise<boolean>;
}
