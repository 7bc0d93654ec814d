import { displayPeelId } from "../../base/names/peel-id.ts";
import { type MasterKeys, unconfirmedOf } from "./fleet-keys.ts";

/** How many peels a sentence names. */
const maxNamed = 10;

/** Why the change of the command key cannot be finished yet; `undefined` when it can. */
export function commandObstacle(next: string, masters: readonly MasterKeys[]): string | undefined {
  const lacking = namesOf(masters.filter(({ command_keys }) => !command_keys.includes(next)));
  if (lacking !== undefined)
    return `${lacking} does not have the next command key: copy command-next.seed there`;
  const { named, count } = unconfirmedOf(masters);
  if (count > 0) {
    const more = count > maxNamed ? ` and ${count - maxNamed} more` : "";
    const some = named.slice(0, maxNamed).map(displayPeelId).join(", ");
    return `${count} alive ${count === 1 ? "peel has" : "peels have"} not confirmed the next command key: ${some}${more}`;
  }
  const waiting = namesOf(masters.filter(({ signs_with }) => signs_with !== next));
  return waiting === undefined
    ? undefined
    : `${waiting} does not sign with the next command key yet: try again soon`;
}

/** Why the next key of settings cannot be used yet; `undefined` when every master has it. */
export function settingsObstacle(next: string, masters: readonly MasterKeys[]): string | undefined {
  const lacking = namesOf(masters.filter(({ settings_keys = [] }) => !settings_keys.includes(next)));
  return lacking === undefined
    ? undefined
    : `${lacking} does not have the next key of settings: copy settings-next.seed there`;
}

/** Why the change of the account's signing key cannot be finished yet; `undefined` when it can. */
export function accountObstacle(
  next: string,
  masters: readonly MasterKeys[],
  dependents: readonly string[],
): string | undefined {
  const lacking = namesOf(masters.filter(({ account_keys }) => !account_keys.includes(next)));
  if (lacking !== undefined) {
    return `${lacking} does not have the next signing key of the account: copy account-signing-next.seed there`;
  }
  const waiting = namesOf(
    masters.filter(({ issues_with, issues_since }) => issues_with !== next || issues_since === undefined),
  );
  if (waiting !== undefined)
    return `${waiting} does not issue credentials with the next key yet: try again soon`;
  if (dependents.length === 0) return undefined;
  const more = dependents.length > maxNamed ? ` and ${dependents.length - maxNamed} more` : "";
  const some = dependents.slice(0, maxNamed).map(displayPeelId).join(", ");
  return `${dependents.length} unexpired ${dependents.length === 1 ? "record depends" : "records depend"} on the key before: ${some}${more}; svc run with identity.renew renews one at once`;
}

function namesOf(masters: readonly MasterKeys[]): string | undefined {
  return masters.length === 0 ? undefined : `master ${masters.map(({ name }) => name).join(", ")}`;
}
