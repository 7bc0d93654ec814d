import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A request for each route about peels, their facts and their settings.
 *
 * @param peel a member with the fact `os` and the setting `app`
 * @returns the operation in the description, the path, and the body of a POST
 */
export function peelRequests(peel: string): [operation: string, path: string, body?: object][] {
  const one = `/api/v1/peels/${peel}`;
  return [
    ["listPeels", "/api/v1/peels?limit=1"],
    ["showPeel", one],
    ["getFacts", `${one}/facts`],
    ["getFactsHistory", `${one}/facts/history`],
    ["findFacts", "/api/v1/facts?show=os"],
    ["countFacts", "/api/v1/facts/count?by=os"],
    ["listPrometheusTargets", "/api/v1/prometheus/targets?fact=os"],
    ["resolveTarget", "/api/v1/targets?target=*"],
    ["showStates", `${one}/states`],
    ["countStates", "/api/v1/states/status"],
    ["listDrift", "/api/v1/states/drift?status=never"],
    ["showSettings", `${one}/settings`],
    ["explainSettings", `${one}/settings/explain?name=app`],
    ["listKinds", "/api/v1/settings/kinds"],
    ["revealSettings", `${one}/settings/reveal`, {}],
    ["revealExplained", `${one}/settings/explain/reveal`, { name: "app" }],
  ];
}

/** Settings files with the setting `app`, in a new directory below this one. @returns the flags of a master */
export function settingsFlags(directory: string): string[] {
  const settings = join(directory, "settings");
  mkdirSync(settings);
  writeFileSync(join(settings, "top.sls"), "base: {'*': [app]}\n");
  writeFileSync(join(settings, "app.sls"), "app: {port: 80}\n");
  return ["--settings-dir", settings];
}
