import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { fromPlain, type Value, ValueMap } from "./values/mod.ts";

type Values = Readonly<Record<string, Plain>>;

/** What is read of a map: one value, whether there is one, the names in it, or all its values. */
export type ReadKind = "value" | "presence" | "names" | "entries";

/**
 * Called with the keys that lead to what is read. What is read of a map inside of it is noticed only where maps inside
 * are lazy too.
 */
export type OnRead = (path: readonly Value[], kind: ReadKind) => void;

/**
 * A map of data that is copied as far as it is used: most templates look at few of the facts of a peel. The first of
 * the sources that has a key gives its value.
 */
export class LazyMap extends ValueMap {
  private sources: readonly Values[];
  private readonly made = new Map<string, Value>();
  private readonly onRead: OnRead | undefined;
  /** The keys that lead to this map, where the maps inside are lazy as well. */
  private readonly path: readonly Value[] | undefined;

  constructor(sources: readonly Values[], onRead?: OnRead, path?: readonly Value[]) {
    super();
    this.sources = sources;
    this.onRead = onRead;
    this.path = path;
  }

  override get size(): number {
    this.notice("names");
    return this.whole().realSize;
  }

  override get isWhole(): boolean {
    return this.sources.length === 0;
  }

  private get realSize(): number {
    return super.size;
  }

  override get(key: Value): Value | undefined {
    this.onRead?.([...(this.path ?? []), key], "value");
    if (this.sources.length === 0 || typeof key !== "string") return this.whole().superGet(key);
    const known = this.made.get(key);
    if (known !== undefined) return known;
    const source = this.sources.find((each) => Object.hasOwn(each, key));
    if (source === undefined) return undefined;
    const value = this.lazyOf(key, source);
    this.made.set(key, value);
    return value;
  }

  override has(key: Value): boolean {
    this.onRead?.([...(this.path ?? []), key], "presence");
    if (this.sources.length === 0 || typeof key !== "string") return this.whole().superHas(key);
    return this.sources.some((each) => Object.hasOwn(each, key));
  }

  override set(key: Value, value: Value): void {
    // The constructor of the map calls this before there is anything here.
    if (this.sources !== undefined) this.whole();
    super.set(key, value);
  }

  override delete(key: Value): boolean {
    this.whole();
    return super.delete(key);
  }

  override clear(): void {
    this.whole();
    super.clear();
  }

  override keys(): Value[] {
    this.notice("names");
    this.whole();
    return super.keys();
  }

  override values(): Value[] {
    this.notice("entries");
    this.whole();
    return super.values();
  }

  override entries(): [Value, Value][] {
    this.notice("entries");
    this.whole();
    return super.entries();
  }

  private superGet(key: Value): Value | undefined {
    return super.get(key);
  }

  private superHas(key: Value): boolean {
    return super.has(key);
  }

  /** None is a value, so `??` would copy it again. */
  private copyOf(key: string, source: Values): Value {
    const made = this.made.get(key);
    return made === undefined ? this.lazyOf(key, source) : made;
  }

  private lazyOf(key: string, source: Values): Value {
    const value = source[key];
    const { path, onRead } = this;
    if (path === undefined || !isMap(value)) return fromPlain(value);
    return new LazyMap([value as Values], onRead, [...path, key]);
  }

  private notice(kind: ReadKind): void {
    this.onRead?.(this.path ?? [], kind);
  }

  /** Copies everything: from now on this is a map like any other. */
  private whole(): this {
    const { sources } = this;
    if (sources.length === 0) return this;
    this.sources = [];
    for (const source of sources) {
      for (const key of Object.keys(source)) {
        if (!super.has(key)) super.set(key, this.copyOf(key, source));
      }
    }
    return this;
  }
}
