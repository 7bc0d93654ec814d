import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { checkGenerated } from "./generated.ts";
import { alertRules, catalogs, metricsReference } from "./metrics.ts";

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const alerts = readFileSync(at("release/monitoring/alerts.yaml"), "utf8");
const dashboard = JSON.parse(readFileSync(at("release/monitoring/dashboard.json"), "utf8")) as {
  panels: { id: number; title: string; type: string; gridPos: Box; targets?: { expr: string }[] }[];
};
interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

test("docs/metrics.md is what the registries and the rules say", () => {
  checkGenerated("docs/metrics.md", metricsReference(alerts));
});

test("every metric has a meaning, a unit in its name, and labels that say what they hold", () => {
  for (const { name, type, help } of [...catalogs.master, ...catalogs.peel]) {
    if (!name.startsWith("svc_")) continue;
    expect([name, help.length > 10, !help.endsWith(".")]).toEqual([name, true, true]);
    if (type === "counter") expect(name).toEndWith("_total");
    else expect(name).not.toEndWith("_total");
    if (type === "histogram" && name !== "svc_credentials_days_left") expect(name).toEndWith("_seconds");
  }
});

/** Every name and label a metric can be asked for with. */
const known = new Map<string, Set<string>>([["up", new Set(["job", "instance"])]]);
for (const { name, type, labels } of [...catalogs.master, ...catalogs.peel]) {
  const names = type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
  for (const series of names) known.set(series, new Set([...labels, "job", "instance", "le"]));
}
const words = new Set(
  "sum max min count by increase rate histogram_quantile topk time and or unless on ignoring".split(" "),
);

/** What an expression asks for that nobody has, and brackets that do not match. */
function faults(expression: string): string[] {
  const found: string[] = [];
  const labelsRequested = new Set<string>();
  const rest = expression
    .replace(/([a-z_]+)\{([^}]*)\}/g, (_, name: string, matchers: string) => {
      for (const [, label = ""] of matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"[^"]*"/g)) {
        if (known.get(name)?.has(label) === false) found.push(`${name} has no label ${label}`);
      }
      if (matchers.replace(/(\w+)(?:=~|!~|!=|=)"[^"]*"/g, "").replace(/[,\s]/g, "") !== "")
        found.push(matchers);
      return name;
    })
    .replace(/\bby \(([^)]*)\)/g, (_, labels: string) => {
      for (const label of labels.split(",")) labelsRequested.add(label.trim());
      return "";
    })
    .replace(/\[(?:\d+[smhd]|\$__rate_interval)\]/g, "");
  const names = (rest.match(/[a-zA-Z_:][\w:]*/g) ?? []).filter((name) => !words.has(name));
  for (const name of names) if (!known.has(name)) found.push(`there is no metric ${name}`);
  for (const label of labelsRequested) {
    if (!names.some((name) => known.get(name)?.has(label))) found.push(`nothing here has the label ${label}`);
  }
  const depth = [...rest].reduce((open, sign) => open + (sign === "(" ? 1 : sign === ")" ? -1 : 0), 0);
  if (depth !== 0 || /[[\]{}]/.test(rest)) found.push("brackets do not match");
  if (names.length === 0) found.push("it asks for no metric");
  return found;
}

test("every alert asks for metrics there are, and says what to do", () => {
  const rules = alertRules(alerts).flatMap((group) => group.rules);
  for (const { alert, expr, labels, annotations, for: held = "0s" } of rules) {
    expect([alert, faults(expr)]).toEqual([alert, []]);
    expect(alert).toMatch(/^Svc[A-Za-z]+$/);
    expect(["critical", "warning", "info"]).toContain(labels.severity);
    expect(held).toMatch(/^\d+[smh]$/);
    expect(annotations.summary.length).toBeGreaterThan(20);
    expect(annotations.description.length).toBeGreaterThan(20);
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
});

test("every panel of the dashboard asks for metrics there are, and none covers another", () => {
  for (const { title, type, targets = [] } of dashboard.panels) {
    expect([title, type === "row" || targets.length > 0]).toEqual([title, true]);
    expect([title, targets.flatMap(({ expr }) => faults(expr))]).toEqual([title, []]);
  }
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  const boxes = dashboard.panels.map(({ gridPos }) => gridPos);
  for (const [at, a] of boxes.entries()) {
    expect(a.x + a.w).toBeLessThanOrEqual(24);
    const covers = (b: Box) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
    expect(boxes.slice(at + 1).filter(covers)).toEqual([]);
  }
});

test("each metric that only an operator can act on has an alert or a panel", () => {
  const requested = [
    ...alertRules(alerts).flatMap(({ rules }) => rules.map(({ expr }) => expr)),
    ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ].join("\n");
  // Those are for the curious.
  const unwatched = ["svc_build_info", "svc_enroll_streams"];
  const missing = catalogs.master
    .map(({ name }) => name)
    .filter((name) => name.startsWith("svc_") && !unwatched.includes(name) && !requested.includes(name));
  expect(missing).toEqual([]);
});

test("an expression with an unknown metric, an unknown label or an open bracket is found", () => {
  expect(faults('sum by (state) (svc_enrollments{state="pending"}) > 0')).toEqual([]);
  expect(faults("svc_enrolments > 0")).toEqual(["there is no metric svc_enrolments"]);
  expect(faults('svc_enrollments{status="pending"} > 0')).toEqual(["svc_enrollments has no label status"]);
  expect(faults("sum by (leases) (svc_lease_held)")).toEqual(["nothing here has the label leases"]);
  expect(faults("sum(svc_lease_held > 1")).toEqual(["brackets do not match"]);
  expect(faults("1 > 0")).toEqual(["it asks for no metric"]);
});
