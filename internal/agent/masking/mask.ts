import { isUtf8 } from "node:buffer";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { pieceBeforePadding, pieceBehind, piecesAtCuts } from "./cut.ts";
import { encodingsOf } from "./encodings.ts";
import { createSearch, type Span } from "./search.ts";
import { acrossLines, contextLength } from "./wrapped.ts";

/** What takes the place of a secret value, as where settings are shown. */
export const masked = "********";

/** The texts that are masked. */
export interface Masked {
  /** Each occurrence in each form. */
  readonly strong: readonly string[];
  /** Where they are the whole text. */
  readonly weak: readonly string[];
}

/** Takes secret values out of what leaves this host. */
export interface Mask {
  text(text: string): string;
  /** A part of a longer text: where that continues, it may hold half of a secret. */
  part(text: string, goesOn: GoesOn): string;
  /** Texts, numbers, bytes, and the names in maps, at every depth. */
  plain(value: Plain): Plain;
  /** Whether anything of a value is masked. */
  isIn(value: Plain): boolean;
  /** The same, but without the texts that the caller sent itself: masking them would say which guesses are right. */
  except(sent: Plain): Mask;
  /** Masks a text that comes in parts. */
  stream(): MaskedStream;
}

export interface GoesOn {
  readonly before: boolean;
  readonly behind: boolean;
}

export interface MaskedStream {
  /** @returns what can be shown already */
  add(part: string): string;
  /** The rest. */
  end(): string;
}

export const noMask: Mask = {
  text: (text) => text,
  part: (text) => text,
  plain: (value) => value,
  isIn: () => false,
  except: () => noMask,
  stream: () => ({ add: (part) => part, end: () => "" }),
};

export function createMask({ strong, weak }: Masked): Mask {
  if (strong.length === 0 && weak.length === 0) return noMask;
  const search = acrossLines(createSearch([...new Set(strong.flatMap(encodingsOf))]));
  const weakTexts = new Set(weak);
  const maskFor = (sent: readonly string[]): Mask => {
    /** The forms of secrets in what was sent. */
    const known = new Set(
      sent.flatMap((text) => search.find(text).map(({ from, to }) => text.slice(from, to))),
    );
    const isSent = (text: string) => sent.some((each) => each.includes(text));
    const spansIn = (text: string) => {
      const spans = search.find(text);
      return known.size === 0 ? spans : spans.filter(({ from, to }) => !known.has(text.slice(from, to)));
    };
    const withPieces = (text: string, pieces: readonly Span[]) => {
      const unknown = pieces.filter(({ from, to }) => !isSent(text.slice(from, to)));
      const spans = spansIn(text);
      return replaceSpans(text, unknown.length === 0 ? spans : inOrder([...spans, ...unknown]));
    };
    const parts = (text: string) => withPieces(text, piecesAtCuts(text, search));
    const part = (text: string, { before, behind }: GoesOn) =>
      withPieces(text, [
        ...piecesAtCuts(text, search),
        ...(before ? pieceBehind(text, 0, search) : []),
        ...(behind ? pieceBeforePadding(text, search) : []),
      ]);
    const text = (one: string): string => {
      const whole = weakTexts.size === 0 ? "" : one.trim();
      return weakTexts.has(whole) && !isSent(whole) ? masked : parts(one);
    };
    const plain = (value: Plain): Plain => {
      if (typeof value === "string") return text(value);
      if (typeof value === "number" || typeof value === "bigint") {
        return text(String(value)) === String(value) ? value : masked;
      }
      if (value instanceof Uint8Array) return bytes(value);
      if (Array.isArray(value)) return value.map(plain);
      return isMap(value) ? mapWith(value as Record<string, Plain>, parts, plain) : value;
    };
    const bytes = (value: Uint8Array): Uint8Array => {
      const encoding = isUtf8(value) ? "utf8" : "latin1";
      const decoded = Buffer.from(value).toString(encoding);
      const shown = text(decoded);
      return shown === decoded ? value : Uint8Array.from(Buffer.from(shown, encoding));
    };
    return {
      text,
      part,
      plain,
      isIn: (value) => !Bun.deepEquals(plain(value), value),
      except: (more) => {
        const texts = textsIn(more);
        return texts.length === 0 ? maskFor(sent) : maskFor([...sent, ...texts]);
      },
      stream: () => streamOf({ spansIn, openFrom: search.openFrom }),
    };
  };
  return maskFor([]);
}

/** Masks a text in parts: what could be the beginning of an occurrence waits for the rest of it. */
function streamOf(search: { spansIn(text: string): Span[]; openFrom(text: string): number }): MaskedStream {
  /** What was shown last, unmasked, and behind it what waits. */
  let last = "";
  let shownTo = 0;
  const show = (all: string, isEnd: boolean) => {
    const spans = search.spansIn(all).flatMap(({ from, to }) => (to <= shownTo ? [] : [{ from, to }]));
    const open = isEnd ? all.length : search.openFrom(all);
    // What overlaps an open occurrence waits with it.
    const end = spans.reduce((min, { from, to }) => (to > open ? Math.min(min, from) : min), open);
    const shown = replaceSpans(
      all.slice(shownTo, end),
      spans.flatMap(({ from, to }) =>
        to <= end ? [{ from: Math.max(0, from - shownTo), to: to - shownTo }] : [],
      ),
    );
    const kept = Math.max(0, end - contextLength);
    last = all.slice(kept);
    shownTo = end - kept;
    return shown;
  };
  return {
    add: (part) => show(last + part, false),
    end: () => show(last, true),
  };
}

const inOrder = (spans: Span[]) => spans.sort((one, other) => one.from - other.from);

/** @param spans in the order of the text */
function replaceSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  const shown: string[] = [];
  let at = 0;
  let end = -1;
  for (const { from, to } of spans) {
    if (from >= end) {
      shown.push(text.slice(at, from), masked);
      end = to;
    } else if (to > end) end = to;
    at = end;
  }
  shown.push(text.slice(at));
  return shown.join("");
}

/** A map of masked names and values; names that become the same get a number. */
function mapWith(
  map: Record<string, Plain>,
  name: (name: string) => string,
  value: (value: Plain) => Plain,
): Plain {
  const shown = new Map<string, Plain>();
  for (const [key, inner] of Object.entries(map)) {
    const own = name(key);
    let free = own;
    for (let number = 2; shown.has(free); number++) free = `${own} (${number})`;
    shown.set(free, value(inner));
  }
  return Object.fromEntries(shown);
}

function textsIn(value: Plain): string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  if (typeof value === "number" || typeof value === "bigint") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (!isMap(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...textsIn(inner as Plain)]);
}
