import { adminQueue, type Bus, type SettingsAction, settingsSubject } from "../../bus/mod.ts";
import {
  explainSettings,
  revealExplained,
  revealSettings,
  type SettingsDeps,
  showSettings,
} from "../settings/mod.ts";
import { answerBytes } from "./answer-bytes.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: SettingsAction) => ({ subject: settingsSubject(action), queue: adminQueue });

export const settingsOverBus = {
  show: overBus({ operation: showSettings, ...at("show") }),
  explain: overBus({ operation: explainSettings, ...at("explain") }),
  reveal: overBus({ operation: revealSettings, ...at("reveal") }),
  revealExplained: overBus({ operation: revealExplained, ...at("reveal-explained") }),
};

/** Serves the settings of peels to operators; secrets are masked where they do not ask for them by name. */
export function serveSettings(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  deps: Omit<SettingsDeps, "answerBytes">,
): void {
  const limited = { ...deps, answerBytes: () => answerBytes(door.bus) };
  serve(door, settingsOverBus.show, limited);
  serve(door, settingsOverBus.explain, limited);
  serve(door, settingsOverBus.reveal, limited);
  serve(door, settingsOverBus.revealExplained, limited);
}
