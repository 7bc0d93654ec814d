import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { LazyMap, type OnRead, type Taint, textOf } from "../jinja/mod.ts";
import { fromPlain, type Value, type ValueMap } from "../jinja/values/mod.ts";
import { likeSalt } from "./like-salt.ts";
import type { Scope, WatchedTable } from "./scope.ts";

type Values = Readonly<Record<string, Plain>>;

/** Facts, settings and labels of one rendering. What is read of them taints, and a watch notices it. */
export interface Tables {
  facts(): ValueMap;
  settings(): ValueMap;
  shownSettings(): ValueMap;
  labels(): Value;
  /** Notices that the id of the peel is read. */
  readId(): void;
  /** A variable of a template of settings: these have the id and the labels of the peel. */
  variable(name: string, value: Plain | undefined): Value;
}

/** @param once makes a value when it is needed first */
export function tablesOf(
  { facts, settings, shownSettings = settings, labels = {}, isOfSettings, watch }: Scope,
  taint: Taint,
  once: <T extends Value>(name: string, make: () => T) => T,
): Tables {
  const watched = watch === undefined ? undefined : [];
  const noticed = (name: WatchedTable): OnRead | undefined =>
    watch &&
    ((path, kind) => {
      if (watch.read(name, path.map(textOf), kind)) taint.addSecret();
    });
  const readFact = noticed("facts");
  const onFact: OnRead = (path, kind) => {
    // The id is the one that the bus enforces.
    if (path[0] !== "id") taint.add();
    readFact?.(path, kind);
  };
  const labelsOf = (values: Values): Value =>
    watch === undefined ? fromPlain({ ...values }) : new LazyMap([values], noticed("labels"), watched);
  const readId = () => void watch?.read("facts", ["id"], "value");
  return {
    facts: () => once("facts", () => new LazyMap([facts, likeSalt], onFact, watched)),
    settings: () => once("settings", () => new LazyMap([settings], noticed("settings"), watched)),
    shownSettings: () => once("shown", () => new LazyMap([shownSettings])),
    labels: () => once("labels", () => labelsOf(labels)),
    readId,
    variable: (name, value) =>
      once(`own ${name}`, () => {
        if (isOfSettings !== true || watch === undefined) return fromPlain(value);
        if (name === "id") readId();
        return name === "labels" && isMap(value) ? labelsOf(value as Values) : fromPlain(value);
      }),
  };
}
